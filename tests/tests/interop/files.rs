//! Session files rewritten for one side, where values cannot be the same on both.

use std::borrow::Cow;

use compaction_core::json::Json;

use super::rules::{Rule, Seen};

/// Below this JavaScript holds all integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A rule that changes the file for one side.
type Rewrite = (Rule, fn(Json<'static>) -> Json<'static>);

const FOR_US: [Rewrite; 2] =
    [(Rule::IntegersKeepTheirDigits, with_rounded_integers), (Rule::KeysStayInStoredOrder, with_integer_keys_first)];
const FOR_THE_PEER: [Rewrite; 2] =
    [(Rule::HalfSurrogatesAreOneUnit, |line| line), (Rule::NullContentIsEmpty, with_present_content)];

/// A file and the rules that changed it.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    pub(crate) rules: Seen,
}

/// The file that we read: what JavaScript makes of its numbers and keys.
pub(crate) fn for_us(text: &str) -> Rewritten {
    rewrite(text, &FOR_US)
}

/// The file that the peer reads.
pub(crate) fn for_the_peer(text: &str) -> Rewritten {
    let mut rewritten = rewrite(text, &FOR_THE_PEER);
    let lines: Vec<&str> = rewritten.text.split('\n').collect();
    // A broken line at the end is a write that failed; the leaf is before it, for both sides.
    let end = lines.iter().rposition(|line| Json::parse(line).is_ok()).unwrap_or(0);
    let (inner, last) = lines.split_at(end);
    let inner = inner.iter().map(|line| with_whole_body(line));
    let lines: Vec<Cow<'_, str>> = inner.chain(last.iter().map(|line| Cow::Borrowed(*line))).collect();
    if lines.iter().any(|line| matches!(line, Cow::Owned(_))) {
        rewritten.rules.insert(Rule::BrokenBodiesKeepTheirPlace);
    }
    rewritten.text = lines.join("\n");
    rewritten
}

/// An entry of no known type in place of one whose body breaks off after its header.
fn with_whole_body(line: &str) -> Cow<'_, str> {
    if Json::parse(line).is_ok() {
        return Cow::Borrowed(line);
    }
    let ends = line.match_indices(',').map(|(comma, _)| comma).rev();
    let prefixes = [line.len()].into_iter().chain(ends).map(|end| format!("{}}}", &line[..end]));
    let header = prefixes.into_iter().find_map(|prefix| header_line(&prefix));
    header.map_or(Cow::Borrowed(line), Cow::Owned)
}

/// Whether the id stands in no line that can be read.
pub(crate) fn is_broken(text: &str, id: &str) -> bool {
    let is_named = |line: &str| Json::parse(line).is_ok_and(|json| json.get("id").and_then(Json::as_str) == Some(id));
    !text.lines().any(is_named)
}

fn header_line(prefix: &str) -> Option<String> {
    let json = Json::parse(prefix).ok()?;
    json.get("type")?.as_str()?;
    let (id, parent) = (json.get("id")?.as_str()?, json.get("parentId")?.to_compact());
    Some(format!(r#"{{"type":"broken","id":"{id}","parentId":{parent},"timestamp":""}}"#))
}

fn rewrite(text: &str, rewrites: &[Rewrite]) -> Rewritten {
    let mut rules = Seen::new();
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(|line| rewrite_line(line, rewrites, &mut rules)).collect();
    Rewritten { text: lines.join("\n"), rules }
}

/// The line, as it was unless a rule changes it.
fn rewrite_line<'a>(line: &'a str, rewrites: &[Rewrite], rules: &mut Seen) -> Cow<'a, str> {
    let Ok(json) = Json::parse(line) else {
        return Cow::Borrowed(line);
    };
    let mut json = json.into_owned();
    let mut is_changed = false;
    for (rule, change) in rewrites {
        let before = json.clone();
        json = change(json);
        // Half surrogates are already replaced when a line has been read.
        let is_half_surrogate = *rule == Rule::HalfSurrogatesAreOneUnit && has_half_surrogate(line);
        if json != before || is_half_surrogate {
            is_changed = true;
            rules.insert(*rule);
        }
    }
    if is_changed { Cow::Owned(json.to_compact()) } else { Cow::Borrowed(line) }
}

fn has_half_surrogate(line: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(line).is_err()
}

fn map(json: Json<'static>, change: &impl Fn(Json<'static>) -> Json<'static>) -> Json<'static> {
    change(match json {
        Json::Array(items) => Json::Array(items.into_iter().map(|item| map(item, change)).collect()),
        Json::Object(members) => {
            Json::Object(members.into_iter().map(|(key, value)| (key, map(value, change))).collect())
        }
        other => other,
    })
}

fn with_rounded_integers(json: Json<'static>) -> Json<'static> {
    map(json, &|json| match json.as_f64() {
        Some(number) if number.abs() >= EXACT => serde_json::Number::from_f64(number).map_or(Json::Null, Json::Number),
        _ => json,
    })
}

fn with_integer_keys_first(json: Json<'static>) -> Json<'static> {
    map(json, &|json| match json {
        Json::Object(mut members) => {
            members.sort_by_key(|(key, _)| array_index(key).map_or((true, 0), |index| (false, index)));
            Json::Object(members)
        }
        other => other,
    })
}

/// The number that JavaScript takes a key for: canonical digits below 2^32 - 1.
fn array_index(key: &str) -> Option<u32> {
    key.parse().ok().filter(|index: &u32| *index != u32::MAX && index.to_string() == key)
}

fn with_present_content(json: Json<'static>) -> Json<'static> {
    map(json, &|json| match json {
        Json::Object(mut members) => {
            let role = members.iter().find_map(|(key, value)| (key == "role").then(|| value.as_str())?);
            let is_system = role == Some("system");
            if matches!(role, Some("custom" | "hookMessage" | "system")) {
                for (_, value) in members.iter_mut().filter(|(key, value)| key == "content" && *value == Json::Null) {
                    *value = if is_system { Json::String(Cow::Borrowed("")) } else { Json::Array(Vec::new()) };
                }
            }
            Json::Object(members)
        }
        other => other,
    })
}
