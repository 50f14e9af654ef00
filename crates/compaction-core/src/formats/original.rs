//! Stores what conversion cannot express, and restores the original from it.
//!
//! If the converted messages alone give the original back byte for byte, only the mark is stored. Otherwise the
//! first message stores it: as `original`, unchanged, or as `linked`. There, links replace long strings that
//! the converted messages contain too, so that no image and no output is stored twice.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::{Node, Reading, object, string, without_spaces};
use super::parts::Ids;
use super::parts::{CommonMessage, mark_of, split_data_url, unmarked};
use super::{Calls, Format, Mark};
use crate::json::{self, Json, RawObject};
use crate::message::Message;

/// Minimum bytes of a string that is linked. A link takes about as many.
const MIN_LINKED_BYTES: usize = 64;
/// Member that makes an object a link to a string of the converted messages.
const TEXT: &str = "$text";
/// The same for a string that is the JSON text of a value in the converted messages.
const JSON: &str = "$json";
/// Maximum bytes of a member name in a link.
const MAX_STEP_BYTES: usize = 128;
/// Maximum members of an object in the path of a link.
const MAX_LINKED_MEMBERS: usize = 256;
/// Member for the text before the linked string.
const BEFORE: &str = "before";

/// Messages that are converted together, because they make up one answer, or a single message.
pub(super) struct Unit<'a> {
    pub(super) format: Format,
    pub(super) originals: &'a [Json<'static>],
    pub(super) texts: &'a [&'a str],
}

impl Unit<'_> {
    /// The converted messages, with the marks from which the originals are restored.
    pub(super) fn stored(
        &self,
        common: &[CommonMessage],
        timestamp: Option<i64>,
    ) -> Result<Vec<Message>, serde_json::Error> {
        let bodies: Vec<Json<'static>> = common.iter().map(CommonMessage::to_message).collect();
        let residue = self.residue(&bodies);
        let mut messages = Vec::with_capacity(bodies.len());
        for (part, body) in bodies.iter().enumerate() {
            let mark = self.mark(part, bodies.len(), residue.as_ref().filter(|_| part == 0));
            let body = body.to_compact();
            let mut text = body.strip_suffix('}').unwrap_or(&body).to_owned();
            text.push_str(&format!(",\"compactd\":{{{mark}}}"));
            if let Some(time) = timestamp {
                text.push_str(&format!(",\"timestamp\":{time}"));
            }
            text.push('}');
            messages.push(Message::from_raw(json::raw_value(text)?));
        }
        Ok(messages)
    }

    fn mark(&self, part: usize, parts: usize, residue: Option<&(&str, String)>) -> String {
        let mut mark = format!("\"format\":{}", json::encode_string(self.format.name()));
        if parts > 1 {
            mark.push_str(&format!(",\"parts\":{parts},\"part\":{part}"));
        }
        if let Some((member, json)) = residue {
            mark.push_str(&format!(",{}:{json}", json::encode_string(member)));
        }
        mark
    }

    /// Name and JSON of what has to be stored; `None` if the converted messages alone give the originals back.
    fn residue(&self, bodies: &[Json<'static>]) -> Option<(&'static str, String)> {
        let originals: Vec<String> = self.texts.iter().map(|text| without_spaces(text)).collect();
        // Content that is lost when a stored message is read has to be stored.
        let read_back = |body: &Json<'_>| CommonMessage::of_message(&Message::from_json(&body.to_compact()).ok()?);
        let back: Vec<CommonMessage> = bodies.iter().filter_map(read_back).collect();
        let as_stored = with_origin(&back, self.format);
        let written = self.format.write_all(&as_stored, &Ids::of(&as_stored));
        if written.iter().map(Json::to_compact).eq(originals.iter().cloned()) {
            return None;
        }
        let is_plain = |(json, text): (&Json<'_>, &String)| json.to_compact() == *text && !has_links(json);
        if self.originals.iter().zip(&originals).all(is_plain) {
            let links = Links::to(bodies);
            let linked = Json::Array(self.originals.iter().map(|original| links.replace(original)).collect());
            let linked = linked.to_compact();
            // Below the maximum depth values stay text, so links there are not found.
            let found = Json::parse(&linked).ok().map(Json::into_owned);
            let found = found.and_then(|linked| resolved(&linked, bodies, &mut max_resolved_bytes(bodies)));
            if found.is_some_and(|found| found == Json::Array(self.originals.to_vec())) {
                return Some(("linked", linked));
            }
        }
        Some(("original", format!("[{}]", originals.join(","))))
    }
}

/// The content as it will be read from the converted messages.
fn with_origin(common: &[CommonMessage], format: Format) -> Vec<CommonMessage> {
    let mut common = common.to_vec();
    for common in &mut common {
        if let CommonMessage::Assistant(answer) = common {
            answer.origin = Some(format);
        }
    }
    common
}

/// Whether a value contains an object that looks like a link.
fn has_links(json: &Json<'_>) -> bool {
    match json {
        Json::Array(items) => items.iter().any(has_links),
        Json::Object(members) => members.iter().any(|(key, value)| key == TEXT || key == JSON || has_links(value)),
        _ => false,
    }
}

/// Paths of the long strings of the converted messages, and of arguments by their JSON text.
struct Links {
    strings: HashMap<String, String>,
    texts: HashMap<String, String>,
}

impl Links {
    fn to(messages: &[Json<'static>]) -> Self {
        let mut links = Self { strings: HashMap::new(), texts: HashMap::new() };
        for (at, message) in messages.iter().enumerate() {
            links.collect(message, &at.to_string());
        }
        links
    }

    fn collect(&mut self, json: &Json<'_>, place: &str) {
        match json {
            Json::String(text) if text.len() >= MIN_LINKED_BYTES => {
                self.strings.entry(text.clone().into_owned()).or_insert_with(|| place.to_owned());
            }
            Json::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.collect(item, &format!("{place}/{at}"));
                }
            }
            Json::Object(members) => {
                // A long key is repeated in every path below it, and each link searches a wide object again.
                let can_lead = |key: &str| !key.contains('/') && key.len() <= MAX_STEP_BYTES;
                for (key, value) in
                    members.iter().filter(|(key, _)| can_lead(key) && members.len() <= MAX_LINKED_MEMBERS)
                {
                    let place = format!("{place}/{key}");
                    if key == "arguments" {
                        self.texts.entry(value.to_compact()).or_insert_with(|| place.clone());
                    }
                    self.collect(value, &place);
                }
            }
            _ => {}
        }
    }

    fn replace(&self, json: &Json<'static>) -> Json<'static> {
        match json {
            Json::String(text) if text.len() >= MIN_LINKED_BYTES => self.link(text).unwrap_or_else(|| json.clone()),
            Json::Array(items) => Json::Array(items.iter().map(|item| self.replace(item)).collect()),
            Json::Object(members) => {
                Json::Object(members.iter().map(|(key, value)| (key.clone(), self.replace(value))).collect())
            }
            other => other.clone(),
        }
    }

    fn link(&self, text: &str) -> Option<Json<'static>> {
        let to = |member: &'static str, place: &String| object([(member, string(place.as_str()))]);
        if let Some(place) = self.strings.get(text) {
            return Some(to(TEXT, place));
        }
        if let Some(place) = self.texts.get(text) {
            return Some(to(JSON, place));
        }
        let (_, data) = split_data_url(text)?;
        let (place, before) = (self.strings.get(data)?, &text[..text.len() - data.len()]);
        Some(object([(TEXT, string(place.as_str())), (BEFORE, string(before))]))
    }
}

/// Maximum size of resolved links, in sizes of the converted messages. An original may repeat a string.
const MAX_COPIES: usize = 16;

/// Maximum bytes of the resolved links of an original. A forged file may have a thousand links to one long string.
fn max_resolved_bytes(messages: &[Json<'static>]) -> usize {
    messages.iter().map(|message| message.to_compact().len()).sum::<usize>().saturating_mul(MAX_COPIES)
}

/// The value with its links replaced by strings. `None` if a link leads nowhere, or if the strings have more than
/// `left` bytes.
fn resolved(json: &Json<'static>, messages: &[Json<'static>], left: &mut usize) -> Option<Json<'static>> {
    match json {
        Json::Array(items) => {
            Some(Json::Array(items.iter().map(|item| resolved(item, messages, left)).collect::<Option<_>>()?))
        }
        Json::Object(members) => {
            if let Some(place) = json.get(TEXT).and_then(Json::as_str) {
                let before = json.get(BEFORE).and_then(Json::as_str).unwrap_or_default();
                let text = value_at(messages, place)?.as_str()?;
                *left = left.checked_sub(before.len() + text.len())?;
                return Some(string(format!("{before}{text}")));
            }
            if let Some(place) = json.get(JSON).and_then(Json::as_str) {
                let text = value_at(messages, place)?.to_compact();
                *left = left.checked_sub(text.len())?;
                return Some(string(text));
            }
            let mut member = |(key, value): &(_, _)| Some((Clone::clone(key), resolved(value, messages, left)?));
            Some(Json::Object(members.iter().map(&mut member).collect::<Option<_>>()?))
        }
        other => Some(other.clone()),
    }
}

fn value_at<'a>(messages: &'a [Json<'static>], place: &str) -> Option<&'a Json<'static>> {
    let mut steps = place.split('/');
    let mut value = messages.get(steps.next()?.parse::<usize>().ok()?)?;
    for step in steps {
        value = match value {
            Json::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            // Links never lead through wider objects. A forged file may, and each step searches the members.
            other if other.as_object().is_some_and(|members| members.len() > MAX_LINKED_MEMBERS) => return None,
            other => other.get(step)?,
        };
    }
    Some(value)
}

/// The originals of the first messages, and the number of messages that they became. `None` if the first message
/// did not come in `format`, if one of its unit is missing, or if one has changed since. Instructions at the start,
/// where `is_first` is true, belong beside the messages of some interfaces.
pub(super) fn whole_unit(format: Format, messages: &[Arc<Message>], is_first: bool) -> Option<(usize, Vec<String>)> {
    if format == Format::Pi {
        return Some((1, vec![messages.first()?.raw().get().to_owned()]));
    }
    let first = marked_tree(messages.first()?)?;
    let mark = mark_of(&first).filter(|mark| mark.format == format && mark.part == 0)?;
    let unit = messages.get(..mark.parts)?;
    let mut trees = vec![first];
    for (part, message) in unit.iter().enumerate().skip(1) {
        // Marks may be forged. Only the first part starts a unit, and the search ends at the first message that
        // does not belong, so no message is parsed for more than two units.
        let tree = marked_tree(message).filter(|tree| mark_of(tree) == Some(Mark { part, ..mark }))?;
        trees.push(tree);
    }
    let is_apart = format.has_separate_system() && (is_first || !format.takes_later_system());
    if is_apart && unit.iter().any(|message| message.role() == "system") {
        return None;
    }
    [Reading::Current, Reading::Earlier].into_iter().find_map(|writing| {
        let texts = restored(format, unit, &trees, writing)?;
        reads_back_as(format, unit, &texts).then_some((unit.len(), texts))
    })
}

fn marked_tree(message: &Arc<Message>) -> Option<Json<'static>> {
    // Most messages have no mark and need not be parsed.
    if !message.raw().get().contains("\"compactd\"") {
        return None;
    }
    Json::parse(message.raw().get()).ok().map(Json::into_owned)
}

/// The originals of a unit. What is not stored is written again, as this version or an earlier one wrote it.
fn restored(format: Format, unit: &[Arc<Message>], trees: &[Json<'static>], writing: Reading) -> Option<Vec<String>> {
    let stored = RawObject::parse(unit.first()?.raw().get()).ok()?;
    let mark = RawObject::parse(stored.get("compactd")?).ok()?;
    let is_earlier = writing == Reading::Earlier;
    if is_earlier && (mark.get("original").is_some() || mark.get("linked").is_some()) {
        return None;
    }
    if let Some(original) = mark.get("original") {
        let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(original).ok()?;
        return Some(items.iter().map(|item| item.get().to_owned()).collect());
    }
    if let Some(linked) = mark.get("linked") {
        let linked = Json::parse(linked).ok()?.into_owned();
        let Json::Array(items) = resolved(&linked, trees, &mut max_resolved_bytes(trees))? else {
            return None;
        };
        return Some(items.iter().map(Json::to_compact).collect());
    }
    let common: Vec<CommonMessage> =
        unit.iter().map(|message| CommonMessage::of_message(message)).collect::<Option<_>>()?;
    let mut ids = Ids::of(&common);
    ids.is_earlier = is_earlier;
    Some(format.write_all(&common, &ids).iter().map(Json::to_compact).collect())
}

/// Whether the originals are still converted to exactly these messages. Edits and shortened results change them.
fn reads_back_as(format: Format, unit: &[Arc<Message>], originals: &[String]) -> bool {
    let calls = Calls::of_results(unit.iter().map(Arc::as_ref));
    let parsed = originals.iter().map(|text| Json::parse(text).map(Json::into_owned));
    let Ok(trees) = parsed.collect::<Result<Vec<_>, _>>() else {
        return false;
    };
    if trees.is_empty() {
        return false;
    }
    let unmarked: Vec<Option<String>> = unit.iter().map(|message| unmarked(message)).collect();
    [Reading::Current, Reading::Earlier].into_iter().any(|reading| {
        let node = |(index, json)| Node::message_read(json, index, reading);
        let nodes: Vec<Node<'_>> = trees.iter().enumerate().map(node).collect();
        let Ok((count, common)) = format.read_first(&nodes, &mut calls.clone()) else {
            return false;
        };
        let converted = common.iter().map(|common| Some(common.to_message().to_compact()));
        count == nodes.len() && converted.eq(unmarked.iter().cloned())
    })
}
