//! The table of all settings: what is checked, what is known, and what a project may set.

use serde_json::{Value, json};

use super::MIN_LINE_BYTES;
use crate::error::EngineError;

/// What a setting holds, and its default.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// It is checked elsewhere, or by another program that reads the same file.
    Other,
    Object,
    Flag(bool),
    /// Tokens; `None` where another setting gives the default.
    Tokens(Option<u64>),
    Percent,
    Count(u64),
    Milliseconds(u64),
    /// Bytes, and the fewest.
    Bytes(u64, u64),
    Choice(&'static str, &'static [&'static str]),
    Names,
    Text,
    /// A path; null is none.
    Path,
}

/// A setting.
#[derive(Debug)]
struct Setting {
    /// Its path. `*` stands for a name that the user chooses, `**` for everything below.
    path: &'static str,
    kind: Kind,
    /// Whether the file of a project may set it (docs/decisions/0017-settings-of-a-project.md). In `compactd` and at
    /// the top, this is decided for whole members.
    is_of_project: bool,
}

const fn own(path: &'static str, kind: Kind) -> Setting {
    Setting { path, kind, is_of_project: false }
}

const fn of_project(path: &'static str, kind: Kind) -> Setting {
    Setting { path, kind, is_of_project: true }
}

/// All settings. The first wrong value in this order is reported.
static SETTINGS: &[Setting] = &[
    own("sessionDir", Kind::Path),
    of_project("compaction", Kind::Object),
    of_project("branchSummary", Kind::Object),
    own("retry", Kind::Object),
    own("compactd", Kind::Object),
    of_project("compaction.enabled", Kind::Flag(true)),
    of_project("compaction.citations", Kind::Flag(false)),
    of_project("compaction.reserveTokens", Kind::Tokens(Some(16_384))),
    of_project("compaction.keepRecentTokens", Kind::Tokens(Some(20_000))),
    of_project("compaction.modelOverrides", Kind::Object),
    of_project("compaction.thresholdPercent", Kind::Percent),
    of_project("compaction.modelOverrides.*", Kind::Object),
    of_project("compaction.modelOverrides.*.reserveTokens", Kind::Tokens(None)),
    of_project("compaction.modelOverrides.*.keepRecentTokens", Kind::Tokens(None)),
    of_project("compaction.modelOverrides.*.thresholdPercent", Kind::Percent),
    of_project("branchSummary.reserveTokens", Kind::Tokens(Some(16_384))),
    of_project("branchSummary.skipPrompt", Kind::Other),
    own("retry.enabled", Kind::Flag(true)),
    own("retry.maxRetries", Kind::Count(3)),
    own("retry.baseDelayMs", Kind::Count(2_000)),
    own("retry.maxDelayMs", Kind::Count(60_000)),
    own("retry.provider.**", Kind::Other),
    own("compactd.durability", Kind::Choice("checkpoint", &["always", "checkpoint", "none"])),
    own("compactd.summarizer", Kind::Other),
    own("compactd.summarizers.**", Kind::Other),
    own("compactd.summarize", Kind::Object),
    own("compactd.summarize.contextWindow", Kind::Tokens(Some(128_000))),
    own("compactd.summarize.timeoutMs", Kind::Milliseconds(300_000)),
    own("compactd.ledger", Kind::Object),
    own("compactd.ledger.maxBytes", Kind::Bytes(STORED_BYTES, 0)),
    own("compactd.summarizeThinking", Kind::Flag(false)),
    own("compactd.summaryRequest", Kind::Choice("auto", &["auto", "continue", "transcript"])),
    own("compactd.maxLineBytes", Kind::Bytes(256 << 20, MIN_LINE_BYTES)),
    own("compactd.trustProject", Kind::Flag(false)),
    own("compactd.repair", Kind::Object),
    own("compactd.repair.enabled", Kind::Flag(true)),
    own("compactd.repair.maxTokens", Kind::Tokens(Some(3_000))),
    own("compactd.pins", Kind::Object),
    own("compactd.pins.maxTokens", Kind::Tokens(Some(4_000))),
    own("compactd.deadlineMs", Kind::Milliseconds(600_000)),
    own("compactd.hooks", Kind::Object),
    own("compactd.hooks.timeoutMs", Kind::Milliseconds(30_000)),
    of_project("compactd.fileTools", Kind::Object),
    of_project("compactd.fileTools.read", Kind::Names),
    of_project("compactd.fileTools.write", Kind::Names),
    of_project("compactd.fileTools.edit", Kind::Names),
    of_project("compactd.fileTools.pathArguments", Kind::Names),
    own("compactd.prompts", Kind::Object),
    own("compactd.prompts.system", Kind::Text),
    own("compactd.prompts.history", Kind::Text),
    own("compactd.prompts.update", Kind::Text),
    own("compactd.prompts.turnPrefix", Kind::Text),
    own("compactd.prompts.branch", Kind::Text),
    own("compactd.prompts.continued", Kind::Text),
    own("compactd.prompts.inConversation", Kind::Text),
    own("compactd.prompts.inTurn", Kind::Text),
    own("compactd.redaction.enabled", Kind::Other),
    own("compactd.redaction.rules.disable", Kind::Other),
    own("compactd.redaction.rules.extra", Kind::Other),
];

/// The default of `compactd.ledger.maxBytes`, as a number of settings.
const STORED_BYTES: u64 = compaction_core::ledger::STORED_BYTES as u64;

/// The paths of all settings, in which `*` stands for a name that the user chooses and `**` for everything below.
pub fn paths() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.path)
}

/// The default of the setting at `path`; null if it has none.
pub(super) fn default_of(path: &str) -> Value {
    let setting = SETTINGS.iter().find(|setting| setting.path == path);
    debug_assert!(setting.is_some(), "{path} is a setting");
    setting.map_or(Value::Null, |setting| setting.kind.default())
}

/// The settings that are wrong in the merged object `root`.
///
/// # Errors
/// [`EngineError::InvalidSettings`] at the first of them.
pub(super) fn check(root: &Value) -> Result<(), EngineError> {
    SETTINGS.iter().try_for_each(|setting| setting.kind.check(root, setting.path, ""))
}

/// Whether `name` is a top-level member of settings.
pub(super) fn is_top_member(name: &str) -> bool {
    SETTINGS.iter().any(|setting| begins(setting, &[name]))
}

/// Whether the file of a project may set a member. At the top, members of other programs are none of ours.
pub(super) fn may_project_set(path: &[&str]) -> bool {
    let is_unknown_top = matches!(path, [name] if !is_top_member(name));
    is_unknown_top || SETTINGS.iter().any(|setting| setting.is_of_project && begins(setting, path))
}

fn begins(setting: &Setting, path: &[&str]) -> bool {
    let mut steps = setting.path.split('.');
    path.iter().all(|name| steps.next() == Some(name))
}

impl Kind {
    fn default(self) -> Value {
        match self {
            Self::Flag(flag) => json!(flag),
            Self::Tokens(number) => json!(number),
            Self::Count(number) | Self::Milliseconds(number) | Self::Bytes(number, _) => json!(number),
            Self::Choice(word, _) => json!(word),
            Self::Object => json!({}),
            Self::Other | Self::Percent | Self::Names | Self::Text | Self::Path => Value::Null,
        }
    }

    fn is_right(self, value: &Value) -> bool {
        match self {
            Self::Other => true,
            Self::Object => value.is_object(),
            Self::Flag(_) => value.is_boolean(),
            Self::Tokens(_) | Self::Count(_) | Self::Milliseconds(_) => value.is_u64(),
            Self::Percent => value.is_null() || value.as_u64().is_some_and(|percent| (1..=100).contains(&percent)),
            Self::Bytes(_, least) => value.as_u64().is_some_and(|bytes| bytes >= least),
            Self::Choice(_, words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Names => is_name_list(value),
            Self::Text => value.is_string(),
            Self::Path => value.is_string() || value.is_null(),
        }
    }

    fn expected(self) -> String {
        match self {
            Self::Other | Self::Choice(_, []) => String::new(),
            Self::Object => "an object".to_owned(),
            Self::Flag(_) => "true or false".to_owned(),
            Self::Tokens(_) => "a whole number of tokens, 0 or more".to_owned(),
            Self::Percent => "a whole number of percent from 1 to 100, or null".to_owned(),
            Self::Count(_) => "a whole number, 0 or more".to_owned(),
            Self::Milliseconds(_) => "a whole number of milliseconds".to_owned(),
            Self::Bytes(_, least) => format!("a whole number of bytes, {least} or more"),
            Self::Choice(_, [words @ .., last]) => format!("{} or {last}", words.join(", ")),
            Self::Names => "a list of names".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Path => "a path, or null".to_owned(),
        }
    }

    /// Checks the values at `path` in `value`, if they are set. `before` is the path that leads to `value`.
    fn check(self, value: &Value, path: &str, before: &str) -> Result<(), EngineError> {
        let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
        let members = value.as_object().into_iter().flatten();
        for (name, inner) in members.filter(|(name, _)| step == "*" || step == *name) {
            let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
            match rest {
                Some(rest) => self.check(inner, rest, &path)?,
                None if self.is_right(inner) => {}
                None => return Err(EngineError::invalid_setting(path, self.expected())),
            }
        }
        Ok(())
    }
}

/// Whether a value is a list of texts.
pub(super) fn is_name_list(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The rows of the README's table: the path, the default, and the whole row.
    fn documented() -> BTreeMap<&'static str, (Value, &'static str)> {
        let readme = include_str!("../../../../README.md");
        let section = readme.split("\n## ").find(|section| section.starts_with("Settings\n")).unwrap();
        let row = |line: &'static str| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let path = cells.next()?.trim_end_matches('`');
            let default = cells.next()?.trim_matches('`');
            Some((path, (serde_json::from_str(default).unwrap_or(Value::Null), line)))
        };
        section.lines().filter_map(row).collect()
    }

    #[test]
    fn the_readme_lists_each_setting_with_its_default() {
        let documented = documented();
        assert!(documented.len() > 20, "{documented:?}");
        for setting in SETTINGS.iter().filter(|setting| !setting.path.ends_with('*')) {
            let path = setting.path;
            let in_its_row = |(own, (default, row)): (&&str, &(Value, &str))| {
                let inner = path.strip_prefix(own)?;
                let name = inner.trim_start_matches('.').rsplit('.').next()?;
                let expected = if inner.is_empty() { default.clone() } else { default[name].clone() };
                (inner.is_empty() || inner.starts_with('.') && row.contains(name)).then_some(expected)
            };
            let found: Vec<Value> = documented.iter().filter_map(in_its_row).collect();
            let has_parts = paths().any(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')));
            assert!(!found.is_empty() || matches!(setting.kind, Kind::Object) && has_parts, "{path} is not documented");
            for default in found.iter().filter(|_| !matches!(setting.kind, Kind::Object | Kind::Other)) {
                assert_eq!(*default, setting.kind.default(), "{path}");
            }
        }
    }

    #[test]
    fn each_setting_of_the_readme_is_known() {
        for (path, (default, _)) in documented() {
            let members = default.as_object().into_iter().flatten().map(|(name, _)| format!("{path}.{name}"));
            for path in members.chain([path.to_owned()]) {
                let steps: Vec<&str> = path.split('.').collect();
                assert!(SETTINGS.iter().any(|setting| begins(setting, &steps)), "{path}");
            }
        }
    }

    #[test]
    fn what_a_project_may_set_is_decided_for_whole_members() {
        let member = |setting: &Setting| {
            let depth = if setting.path.starts_with("compactd.") { 2 } else { 1 };
            setting.path.split('.').take(depth).collect::<Vec<_>>()
        };
        for setting in SETTINGS.iter().filter(|setting| setting.path != "compactd") {
            assert_eq!(may_project_set(&member(setting)), setting.is_of_project, "{}", setting.path);
        }
        assert!(may_project_set(&["theme"]) && may_project_set(&["compactd"]));
        assert!(!may_project_set(&["compactd", "later"]) && !may_project_set(&["compactd.later", "fileTools"]));
    }
}
