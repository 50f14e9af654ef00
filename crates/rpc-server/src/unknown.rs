//! Unknown names: members of parameters, settings, hooks and methods. A call that contains one is served all the same,
//! and the client gets a hint at the name that was probably meant.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use compaction_engine::settings::paths;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::wire::{DiagnosticKind, RequestDiagnostic};

/// Maximum number of characters of a name that are shown and compared. Clients may send names of any length.
const NAME_CHARACTERS: usize = 80;
/// Maximum number of unknown names that are reported for one call.
pub(crate) const MAX_REPORTED: usize = 12;
/// Maximum number of names that are remembered as reported, so that each is reported once.
const MAX_REMEMBERED: usize = 256;

/// An unknown name and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownName {
    /// The path: the names of the enclosing objects and its own, joined by dots.
    pub(crate) path: String,
    /// The known name that was probably meant.
    pub(crate) nearest: Option<String>,
}

impl UnknownName {
    fn new<'a>(steps: &[String], known: impl IntoIterator<Item = &'a str>) -> Self {
        let steps: Vec<String> = steps.iter().map(|step| start_of(step)).collect();
        let nearest = steps.last().and_then(|name| nearest(name, known)).map(str::to_owned);
        Self { path: steps.join("."), nearest }
    }

    /// The message for a person. `what` is a member or a setting.
    pub(crate) fn message(&self, what: &str) -> String {
        let hint = self.nearest.as_ref().map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
        format!("there is no {what} {}, so it was passed over{hint}", self.path)
    }
}

/// The known name that was probably meant by `name`: the one with the fewest typing errors, at most one in three
/// characters. Case does not count.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = start_of(name).to_lowercase();
    let length = wanted.chars().count();
    let most = (length / 3).max(1);
    // Only names of similar length are compared, each once.
    let known: BTreeSet<&'a str> = known.into_iter().collect();
    let known = known.into_iter().filter(|candidate| candidate.chars().count().abs_diff(length) <= most);
    let distance = |candidate: &&'a str| strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase());
    let ranked = known.map(|candidate| (distance(&candidate), candidate));
    ranked.filter(|(distance, _)| *distance <= most).min().map(|(_, candidate)| candidate)
}

fn start_of(name: &str) -> String {
    name.chars().take(NAME_CHARACTERS).collect()
}

/// The schema of parameters of type `P`, without references.
pub(crate) fn schema_of<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<P>().to_value()
}

/// The unknown members at these paths in parameters with this schema.
pub(crate) fn members(schema: &Value, paths: &[Vec<String>]) -> Vec<UnknownName> {
    let unknown = paths.iter().take(MAX_REPORTED).filter_map(|steps| {
        let (_, around) = steps.split_last()?;
        let mut known = BTreeSet::new();
        known_members(schema, around, &mut known);
        Some(UnknownName::new(steps, known))
    });
    unknown.collect()
}

/// Collects the members of the objects to which `steps` lead.
fn known_members<'s>(schema: &'s Value, steps: &[String], known: &mut BTreeSet<&'s str>) {
    for choice in ["anyOf", "oneOf", "allOf"] {
        schema[choice].as_array().into_iter().flatten().for_each(|schema| known_members(schema, steps, known));
    }
    match steps.split_first() {
        None => known.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str())),
        Some((step, rest)) => {
            for inner in [&schema["properties"][step.as_str()], &schema["items"]] {
                known_members(inner, rest, known);
            }
        }
    }
}

/// The unknown settings of a layer. At the top level only names count that look like a known one, because other
/// programs share settings files.
pub(crate) fn settings(layer: &Value) -> Vec<UnknownName> {
    let known: Vec<Vec<&str>> = paths().map(|path| path.split('.').collect()).collect();
    let mut found = Vec::new();
    unknown_settings(layer, &known, &mut Vec::new(), &mut found);
    found
}

fn unknown_settings(layer: &Value, known: &[Vec<&str>], steps: &mut Vec<String>, found: &mut Vec<UnknownName>) {
    for (name, value) in layer.as_object().into_iter().flatten() {
        steps.push(name.clone());
        let inner: Vec<Vec<&str>> = known
            .iter()
            .filter(|path| path.first().is_some_and(|first| *first == name || *first == "*"))
            .map(|path| path[1..].to_vec())
            .collect();
        if inner.is_empty() {
            let unknown = UnknownName::new(steps, known.iter().filter_map(|path| path.first().copied()));
            found.extend(Some(unknown).filter(|unknown| steps.len() > 1 || unknown.nearest.is_some()));
        } else if !inner.iter().any(|path| path.first() == Some(&"**")) {
            unknown_settings(value, &inner, steps, found);
        }
        steps.pop();
        if found.len() >= MAX_REPORTED {
            return;
        }
    }
}

/// The unknown names that were reported to the client.
#[derive(Debug, Default)]
pub(crate) struct ReportedNames(Mutex<HashSet<(&'static str, String)>>);

impl ReportedNames {
    /// The diagnostics of a call that were not reported before.
    pub(crate) fn new_diagnostics(
        &self,
        method: &'static str,
        kind: DiagnosticKind,
        names: Vec<UnknownName>,
    ) -> Vec<RequestDiagnostic> {
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new =
            |name: &UnknownName| reported.len() < MAX_REMEMBERED && reported.insert((method, name.path.clone()));
        let what = match kind {
            DiagnosticKind::UnknownSetting => "setting",
            _ => "member",
        };
        let diagnostic = |name: UnknownName| RequestDiagnostic {
            kind,
            method: method.to_owned(),
            message: format!("{method}: {}", name.message(what)),
            path: name.path,
            nearest: name.nearest,
            session_id: None,
        };
        names.into_iter().filter(is_new).map(diagnostic).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::{CompactParams, InitializeParams};

    #[test]
    fn the_nearest_name_is_that_with_the_fewest_typing_errors() {
        let known = ["keepRecentTokens", "reserveTokens", "enabled"];
        for (name, expected) in [
            ("keepRecentToken", Some("keepRecentTokens")),
            ("keeprecenttokens", Some("keepRecentTokens")),
            ("reservedTokens", Some("reserveTokens")),
            ("enable", Some("enabled")),
            ("theme", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
        assert_eq!(nearest(&"k".repeat(1 << 20), known), None);
    }

    #[test]
    fn members_are_compared_with_those_of_the_object_around_them() {
        let steps = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        let check = |found: &[UnknownName], expected: Option<&str>| {
            assert_eq!(found[0].nearest.as_deref(), expected, "{found:?}");
        };
        check(&members(&schema_of::<InitializeParams>(), &[steps("capabilities.summarise")]), Some("summarize"));
        check(&members(&schema_of::<InitializeParams>(), &[steps("summarise")]), None);
        check(&members(&schema_of::<CompactParams>(), &[steps("firstKeptEntryID")]), Some("firstKeptEntryId"));
        check(&members(&schema_of::<CompactParams>(), &[steps("summary.detail")]), Some("details"));
    }

    #[test]
    fn unknown_settings_are_found_at_every_depth() {
        let check = |layer: Value, expected: &[(&str, Option<&str>)]| {
            let found = settings(&layer);
            let found: Vec<_> = found.iter().map(|name| (name.path.as_str(), name.nearest.as_deref())).collect();
            assert_eq!(found, expected);
        };
        check(
            json!({ "compaction": { "keepRecentToken": 1 } }),
            &[("compaction.keepRecentToken", Some("keepRecentTokens"))],
        );
        check(json!({ "theme": "dark", "compation": {} }), &[("compation", Some("compaction"))]);
        let overrides = json!({ "compaction": { "modelOverrides": { "a/b.c": { "reservTokens": 1 } } } });
        check(overrides, &[("compaction.modelOverrides.a/b.c.reservTokens", Some("reserveTokens"))]);
        check(
            json!({ "compactd": { "summarizers": { "mine": { "anything": 1 } }, "zzz": 1 } }),
            &[("compactd.zzz", None)],
        );
    }

    #[test]
    fn a_name_is_reported_once() {
        let reported = ReportedNames::default();
        let name = || vec![UnknownName { path: "x".to_owned(), nearest: None }];
        assert_eq!(reported.new_diagnostics("compact", DiagnosticKind::UnknownMember, name()).len(), 1);
        assert!(reported.new_diagnostics("compact", DiagnosticKind::UnknownMember, name()).is_empty());
        assert_eq!(reported.new_diagnostics("recall", DiagnosticKind::UnknownMember, name()).len(), 1);
    }
}
