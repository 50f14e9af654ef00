//! Settings: layers of JSON objects, merged and checked (docs/preparation.md, "Settings").
//!
//! Each layer overrides the one before: defaults, `<agent-dir>/settings.json`, `<cwd>/.pi/settings.json`,
//! `initialize.settings`, `updateSettings`, the `settings` of a call. Objects merge; other values replace. A wrong
//! value is an error that names its path. A file that is not valid JSON counts as empty and is reported. Unknown keys
//! are kept. The file of a project sets only harmless values, unless the host trusts it.

mod layers;

use std::borrow::Cow;
use std::time::Duration;

use compaction_core::conversation::Thinking;
use compaction_core::file_operations::FileTools;
use compaction_core::projection::ModelName;
use compaction_core::settings::CompactionSettings;
use serde_json::{Map, Value, json};
use session_store::Durability;

use crate::error::EngineError;
use crate::models::{RequestChoice, RetryPolicy, configuration};
use crate::redaction::RedactionSettings;
pub use layers::{ClientSettings, SettingsLayers};

/// Minimum bytes of a stored ledger: room for the last user message.
const MIN_LEDGER_BYTES: u64 = 1024;

/// Merged settings.
#[derive(Debug, Clone)]
pub struct Settings {
    merged: Value,
    /// Members of the `compaction` object that the call gave.
    of_call: Value,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            merged: json!({
                "compaction": {
                    "enabled": default_of("compaction.enabled"),
                    "reserveTokens": default_of("compaction.reserveTokens"),
                    "keepRecentTokens": default_of("compaction.keepRecentTokens"),
                    "modelOverrides": {},
                },
                "branchSummary": { "reserveTokens": default_of("branchSummary.reserveTokens") },
                "compactd": { "durability": default_of("compactd.durability"), "summarizer": "extractive" },
            }),
            of_call: Value::Null,
        }
    }
}

impl Settings {
    /// These settings, overridden by another layer.
    ///
    /// # Errors
    /// [`EngineError::InvalidSettings`] at the first wrong value.
    pub fn with(&self, layer: &Value) -> Result<Self, EngineError> {
        if !layer.is_object() {
            return Err(EngineError::invalid_setting("settings", "an object"));
        }
        let mut merged = self.merged.clone();
        merge(&mut merged, layer);
        let settings = Self { merged, of_call: self.of_call.clone() };
        settings.check()?;
        Ok(settings)
    }

    /// These settings with the layer of a call over them, as [`layer_of_call`] makes it.
    ///
    /// # Errors
    /// [`EngineError::InvalidSettings`] at the first wrong value.
    pub fn with_call(&self, layer: Option<&Value>) -> Result<Self, EngineError> {
        let Some(layer) = layer else {
            return Ok(self.clone());
        };
        let settings = self.with(layer)?;
        Ok(Self { of_call: layer["compaction"].clone(), ..settings })
    }

    /// Whether the call itself gave the member `key` of the `compaction` object.
    pub(crate) fn are_of_call(&self, key: &str) -> bool {
        self.of_call.get(key).is_some_and(Value::is_u64)
    }

    /// The merged object.
    pub fn as_json(&self) -> &Value {
        &self.merged
    }

    /// When to compact and how much to keep.
    pub fn compaction(&self) -> CompactionSettings {
        self.overridden(None)
    }

    /// The same for one model, with its entry of `compaction.modelOverrides`. Values of the call take precedence.
    pub fn compaction_for(&self, provider: &str, model_id: &str) -> CompactionSettings {
        let name = format!("{provider}/{model_id}");
        self.overridden(self.merged["compaction"]["modelOverrides"].get(&name))
    }

    /// The same for the model that answered last on a branch or was set there.
    pub fn compaction_at(&self, model: Option<&ModelName>) -> CompactionSettings {
        model.map_or_else(|| self.compaction(), |model| self.compaction_for(&model.provider, &model.model_id))
    }

    /// The value of the setting at `path`, or its default.
    fn value(&self, path: &str) -> Cow<'_, Value> {
        let set = path.split('.').try_fold(&self.merged, |value, key| value.get(key));
        set.map_or_else(|| Cow::Owned(default_of(path)), Cow::Borrowed)
    }

    fn number(&self, path: &str) -> u64 {
        self.value(path).as_u64().unwrap_or_default()
    }

    fn flag(&self, path: &str) -> bool {
        *self.value(path) == true
    }

    fn milliseconds(&self, path: &str) -> Duration {
        Duration::from_millis(self.number(path))
    }

    fn overridden(&self, model: Option<&Value>) -> CompactionSettings {
        let compaction = &self.merged["compaction"];
        let number = |key: &str| {
            let layers = [Some(&self.of_call), model, Some(compaction)];
            layers.into_iter().flatten().find_map(|layer| layer.get(key)).and_then(Value::as_u64)
        };
        CompactionSettings {
            enabled: self.flag("compaction.enabled"),
            reserve_tokens: number("reserveTokens").unwrap_or_else(|| self.number("compaction.reserveTokens")),
            keep_recent_tokens: number("keepRecentTokens")
                .unwrap_or_else(|| self.number("compaction.keepRecentTokens")),
            threshold_percent: number("thresholdPercent"),
        }
    }

    /// Reserved tokens of a branch summary.
    pub fn branch_reserve_tokens(&self) -> u64 {
        self.number("branchSummary.reserveTokens")
    }

    /// The summarizers for calls that name none, in the order in which they are asked (`compactd.summarizer`: a name
    /// or a list of names).
    pub fn summarizers(&self) -> Vec<String> {
        match &self.merged["compactd"]["summarizer"] {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => vec!["extractive".to_owned()],
        }
    }

    /// Whether summaries cite the entries that they are made from (`compaction.citations`).
    pub fn citations(&self) -> bool {
        self.flag("compaction.citations")
    }

    /// Whether summarizers read the model's thinking (`compactd.summarizeThinking`).
    pub fn thinking(&self) -> Thinking {
        match self.flag("compactd.summarizeThinking") {
            true => Thinking::Included,
            false => Thinking::Excluded,
        }
    }

    /// How failed requests to models are retried (`retry`).
    pub fn retries(&self) -> RetryPolicy {
        if !self.flag("retry.enabled") {
            return RetryPolicy::NONE;
        }
        RetryPolicy {
            max_retries: u32::try_from(self.number("retry.maxRetries")).unwrap_or(u32::MAX),
            base_delay: self.milliseconds("retry.baseDelayMs"),
            max_delay: self.milliseconds("retry.maxDelayMs"),
        }
    }

    /// The deadline of a whole operation, including the host's hook and all requests (`compactd.deadlineMs`).
    pub fn deadline(&self) -> Duration {
        // A day is long enough, and adding it to a clock cannot overflow.
        self.milliseconds("compactd.deadlineMs").min(Duration::from_secs(24 * 60 * 60))
    }

    /// When the store waits for the disk.
    pub fn durability(&self) -> Durability {
        match self.value("compactd.durability").as_str() {
            Some("always") => Durability::Always,
            Some("none") => Durability::None,
            _ => Durability::Checkpoint,
        }
    }

    /// Maximum bytes of a line of a session file (`compactd.maxLineBytes`). Serving a line takes several copies of
    /// it, so the limit is never above a sixteenth of `memory`, the bytes that this process may use. Without that
    /// room the process could be killed with all its sessions.
    pub fn max_line_bytes(&self, memory: Option<u64>) -> usize {
        let set = self.number("compactd.maxLineBytes");
        let room = memory.map_or(u64::MAX, |memory| (memory / 16).max(MIN_LINE_BYTES));
        usize::try_from(set.min(room)).unwrap_or(usize::MAX)
    }

    /// Tool and argument names that identify file operations (`compactd.fileTools: {read, write, edit,
    /// pathArguments}`). Each member lists further names.
    pub fn file_tools(&self) -> FileTools {
        let mut tools = FileTools::default();
        let more = &self.merged["compactd"]["fileTools"];
        for (key, names) in [
            ("read", &mut tools.read),
            ("write", &mut tools.write),
            ("edit", &mut tools.edit),
            ("pathArguments", &mut tools.path_arguments),
        ] {
            let further = more[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            names.extend(further.map(str::to_owned));
        }
        tools
    }

    /// The timeout of a hook (`compactd.hooks.timeoutMs`).
    pub fn hook_timeout(&self) -> Duration {
        self.milliseconds("compactd.hooks.timeoutMs")
    }

    /// How models are asked for the summary of a compaction (`compactd.summaryRequest`).
    pub fn request_choice(&self) -> RequestChoice {
        RequestChoice::named(self.value("compactd.summaryRequest").as_str()).unwrap_or_default()
    }

    /// The timeout of the host's model for one summary (`compactd.summarize.timeoutMs`).
    pub fn summarize_timeout(&self) -> Duration {
        self.milliseconds("compactd.summarize.timeoutMs")
    }

    /// The context window of the host's model in tokens (`compactd.summarize.contextWindow`).
    pub fn summarize_window(&self) -> u64 {
        self.number("compactd.summarize.contextWindow")
    }

    /// Maximum tokens of all pinned entries (`compactd.pins.maxTokens`).
    pub fn pin_tokens(&self) -> u64 {
        self.number("compactd.pins.maxTokens")
    }

    /// A prompt that replaces the project's own (`compactd.prompts.<name>`).
    pub fn prompt(&self, name: &str) -> Option<&str> {
        self.merged["compactd"]["prompts"][name].as_str()
    }

    /// Maximum bytes of the ledger that a compaction stores (`compactd.ledger: {maxBytes}`).
    pub fn ledger_bytes(&self) -> usize {
        usize::try_from(self.number("compactd.ledger.maxBytes")).unwrap_or(usize::MAX)
    }

    /// Maximum tokens of facts that are added to a summary (`compactd.repair: {enabled, maxTokens}`); `None` where
    /// none are added.
    pub fn repair_tokens(&self) -> Option<u64> {
        self.flag("compactd.repair.enabled").then(|| self.number("compactd.repair.maxTokens"))
    }

    /// How secrets are removed from requests and answers of summarizers (`compactd.redaction`).
    pub fn redaction(&self) -> RedactionSettings {
        // Merged settings were checked. The default, which redacts, is the safe side.
        RedactionSettings::read(&self.merged["compactd"]["redaction"]).unwrap_or_default()
    }

    fn check(&self) -> Result<(), EngineError> {
        check_kinds(&self.merged)?;
        self.check_summarizers()?;
        configuration::check(&self.merged)?;
        RedactionSettings::read(&self.merged["compactd"]["redaction"]).map(|_| ())
    }

    fn check_summarizers(&self) -> Result<(), EngineError> {
        let named = self.merged["compactd"].get("summarizer");
        let is_list = named.is_none_or(|value| value.is_string() || is_name_list(value));
        let names = self.summarizers();
        let known = summarizer_names(&self.merged);
        match is_list && !names.is_empty() && names.iter().all(|name| known.contains(&name.as_str())) {
            true => Ok(()),
            false => Err(EngineError::invalid_setting(
                "compactd.summarizer",
                format!("a summarizer, or a list of them: {}", known.join(", ")),
            )),
        }
    }
}

/// Names of the summarizers that these merged settings offer: those without a model of their own, the providers, and
/// the models that the settings define.
pub fn summarizer_names(settings: &Value) -> Vec<&str> {
    configuration::WITHOUT_MODEL.into_iter().chain(configuration::model_names(settings)).collect()
}

/// Minimum of `compactd.maxLineBytes`. A session header fits it.
const MIN_LINE_BYTES: u64 = 1 << 20;

/// The settings of a call as a layer. A call gives members of the `compaction` object, settings in the shape of a
/// settings file, or both. A name that is not a top-level member belongs to `compaction`.
pub fn layer_of_call(given: Value) -> Value {
    let Value::Object(given) = given else {
        return given;
    };
    let (mut layer, compaction): (Map<String, Value>, Map<String, Value>) =
        given.into_iter().partition(|(name, _)| is_top_member(name));
    let named = layer.entry("compaction").or_insert_with(|| json!({}));
    // A value that is not an object is rejected by the check.
    if named.is_object() {
        merge(named, &Value::Object(compaction));
    }
    Value::Object(layer)
}

fn merge(base: &mut Value, layer: &Value) {
    match (base, layer) {
        (Value::Object(base), Value::Object(layer)) => {
            for (key, value) in layer {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, layer) => *base = layer.clone(),
    }
}

/// The type of a setting, and its default.
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
    /// A path; null means none.
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
    own("compactd.ledger.maxBytes", Kind::Bytes(STORED_BYTES, MIN_LEDGER_BYTES)),
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
    own("compactd.prompts.beforeTurn", Kind::Text),
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
fn default_of(path: &str) -> Value {
    let setting = SETTINGS.iter().find(|setting| setting.path == path);
    debug_assert!(setting.is_some(), "{path} is a setting");
    setting.map_or(Value::Null, |setting| setting.kind.default())
}

/// The settings that are wrong in the merged object `root`.
///
/// # Errors
/// [`EngineError::InvalidSettings`] at the first of them.
fn check_kinds(root: &Value) -> Result<(), EngineError> {
    SETTINGS.iter().try_for_each(|setting| setting.kind.check(root, setting.path, ""))
}

/// Whether `name` is a top-level member of settings.
fn is_top_member(name: &str) -> bool {
    SETTINGS.iter().any(|setting| begins(setting, &[name]))
}

/// Whether the file of a project may set a member. Top-level members of other programs do not concern us.
fn may_project_set(path: &[&str]) -> bool {
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
fn is_name_list(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn objects_merge_and_other_values_replace() {
        let layer = json!({ "compaction": { "keepRecentTokens": 5, "mine": [1] }, "other": 1 });
        let settings = Settings::default().with(&layer).unwrap();
        assert_eq!(settings.compaction().keep_recent_tokens, 5);
        assert_eq!(settings.compaction().reserve_tokens, 16_384);
        assert_eq!(settings.as_json()["compaction"]["mine"], json!([1]));
        assert_eq!(settings.as_json()["other"], json!(1));
    }

    #[test]
    fn wrong_values_are_named_by_their_path() {
        for (layer, path) in [
            (json!({ "compaction": { "keepRecentTokens": -1 } }), "compaction.keepRecentTokens"),
            (json!({ "compaction": { "enabled": "yes" } }), "compaction.enabled"),
            (json!({ "compaction": [] }), "compaction"),
            (json!({ "compactd": { "durability": "sometimes" } }), "compactd.durability"),
            (json!({ "compactd": { "summarizer": "nobody" } }), "compactd.summarizer"),
            (json!({ "compactd": { "summarizers": { "openai": {} } } }), "compactd.summarizers.openai.model"),
            (json!({ "compaction": { "thresholdPercent": 0 } }), "compaction.thresholdPercent"),
            (json!({ "compaction": { "thresholdPercent": 101 } }), "compaction.thresholdPercent"),
            (json!({ "compaction": { "thresholdPercent": 50.5 } }), "compaction.thresholdPercent"),
            (json!({ "compaction": { "modelOverrides": { "a/b": 1 } } }), "compaction.modelOverrides.a/b"),
            (
                json!({ "compaction": { "modelOverrides": { "a/b": { "thresholdPercent": "9" } } } }),
                "compaction.modelOverrides.a/b.thresholdPercent",
            ),
            (json!({ "compactd": { "redaction": 1 } }), "compactd.redaction"),
            (json!({ "compactd": { "summaryRequest": "never" } }), "compactd.summaryRequest"),
            (
                json!({ "compactd": { "redaction": { "rules": { "disable": [1] } } } }),
                "compactd.redaction.rules.disable.0",
            ),
            (
                json!({ "compaction": { "modelOverrides": { "a/b": { "reserveTokens": 1.5 } } } }),
                "compaction.modelOverrides.a/b.reserveTokens",
            ),
        ] {
            match Settings::default().with(&layer).unwrap_err() {
                EngineError::InvalidSettings { path: wrong, .. } => assert_eq!(wrong, path),
                error => panic!("{error}"),
            }
        }
    }

    /// Values of all types that settings may be given.
    fn values() -> Vec<Value> {
        let texts = ["null", "true", "7", "-1", "1.5", "\"x\"", "[]", "[\"x\"]", "[1]", "{}"];
        texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    /// `value` at `path`, in objects.
    fn at(path: &str, value: &Value) -> Value {
        path.rsplit('.').fold(value.clone(), |value, name| json!({ name: value }))
    }

    #[test]
    fn each_setting_takes_values_of_its_type_alone() {
        // The values that each setting takes; all others are errors with its path.
        let (numbers, objects, flags) = ("7", "{}", "true");
        let rows = [
            ("sessionDir", "null \"x\""),
            ("compaction", objects),
            ("compaction.enabled", flags),
            ("compaction.citations", flags),
            ("compaction.reserveTokens", numbers),
            ("compaction.keepRecentTokens", numbers),
            ("compaction.thresholdPercent", "null 7"),
            ("compaction.modelOverrides", objects),
            ("compaction.modelOverrides.*", objects),
            ("compaction.modelOverrides.*.reserveTokens", numbers),
            ("compaction.modelOverrides.*.keepRecentTokens", numbers),
            ("compaction.modelOverrides.*.thresholdPercent", "null 7"),
            ("branchSummary", objects),
            ("branchSummary.reserveTokens", numbers),
            ("retry", objects),
            ("retry.enabled", flags),
            ("retry.maxRetries", numbers),
            ("retry.baseDelayMs", numbers),
            ("retry.maxDelayMs", numbers),
            ("compactd", objects),
            ("compactd.durability", "\"none\""),
            ("compactd.summarizer", "\"extractive\" [\"extractive\"]"),
            ("compactd.summarizers.**", objects),
            ("compactd.summarizers.extractive", "null {}"),
            ("compactd.summarizers.host", "null {}"),
            ("compactd.summarizers.mine", "null"),
            ("compactd.summarize", objects),
            ("compactd.summarize.contextWindow", numbers),
            ("compactd.summarize.timeoutMs", numbers),
            ("compactd.ledger", objects),
            ("compactd.ledger.maxBytes", "1024"),
            ("compactd.summarizeThinking", flags),
            ("compactd.summaryRequest", "\"continue\""),
            ("compactd.maxLineBytes", "1048576"),
            ("compactd.trustProject", flags),
            ("compactd.repair", objects),
            ("compactd.repair.enabled", flags),
            ("compactd.repair.maxTokens", numbers),
            ("compactd.pins", objects),
            ("compactd.pins.maxTokens", numbers),
            ("compactd.deadlineMs", numbers),
            ("compactd.hooks", objects),
            ("compactd.hooks.timeoutMs", numbers),
            ("compactd.fileTools", objects),
            ("compactd.fileTools.read", "[] [\"x\"]"),
            ("compactd.fileTools.write", "[] [\"x\"]"),
            ("compactd.fileTools.edit", "[] [\"x\"]"),
            ("compactd.fileTools.pathArguments", "[] [\"x\"]"),
            ("compactd.prompts", objects),
            ("compactd.prompts.system", "\"x\""),
            ("compactd.prompts.history", "\"x\""),
            ("compactd.prompts.update", "\"x\""),
            ("compactd.prompts.turnPrefix", "\"x\""),
            ("compactd.prompts.branch", "\"x\""),
            ("compactd.prompts.continued", "\"x\""),
            ("compactd.prompts.beforeTurn", "\"x\""),
            ("compactd.prompts.inConversation", "\"x\""),
            ("compactd.prompts.inTurn", "\"x\""),
            ("compactd.redaction", "null {}"),
            ("compactd.redaction.enabled", "null true"),
            ("compactd.redaction.rules", "null {}"),
            ("compactd.redaction.rules.disable", "null []"),
            ("compactd.redaction.rules.extra", "null []"),
        ];
        // pi alone reads these.
        let foreign = ["branchSummary.skipPrompt", "retry.provider.**"];
        for path in paths().filter(|path| !foreign.contains(path)) {
            assert!(rows.iter().any(|(row, _)| *row == path), "{path} has no row");
        }
        for (row, taken) in rows {
            let taken: Vec<Value> = taken.split(' ').map(|text| serde_json::from_str(text).unwrap()).collect();
            let path = row.replace(".**", "").replace('*', "p/m");
            for value in values().iter().chain(&taken) {
                match (Settings::default().with(&at(&path, value)), taken.contains(value)) {
                    (Ok(_), true) => {}
                    (Err(EngineError::InvalidSettings { path: wrong, .. }), false) => {
                        assert!(wrong == path || wrong.starts_with(&format!("{path}.")), "{path} {value}: {wrong}");
                    }
                    (outcome, _) => panic!("{path} {value}: {:?}", outcome.err()),
                }
            }
        }
    }

    #[test]
    fn each_member_of_a_model_takes_values_of_its_type_alone() {
        for (members, taken) in [
            (
                "provider model baseUrl api apiVersion region project auth conversationProvider maxTokensParameter",
                "\"x\"",
            ),
            ("apiKeyEnv", "\"x\""),
            ("command apiKeyCommand", "[] [\"x\"]"),
            ("contextWindow maxOutputTokens apiKeyTimeoutMs apiKeyLifetimeMs", "7"),
            ("connectTimeoutMs firstByteTimeoutMs idleTimeoutMs", "7"),
            ("headers env extraBody", "{}"),
        ] {
            let taken: Vec<Value> = taken.split(' ').map(|text| serde_json::from_str(text).unwrap()).collect();
            for provider in ["anthropic", "openai", "gemini", "azure", "bedrock", "vertex", "command"] {
                let model = json!({
                    "provider": provider, "model": "m", "command": ["cat"], "region": "r", "project": "p",
                    "baseUrl": "https://models.example",
                });
                for (member, value) in
                    members.split(' ').flat_map(|member| values().into_iter().map(move |value| (member, value)))
                {
                    // A layer may unset what an earlier one set. A text or a list may still have an unknown value.
                    if value.is_null() || taken.contains(&value) {
                        continue;
                    }
                    let mut model = model.clone();
                    model[member] = value.clone();
                    let path = format!("compactd.summarizers.mine.{member}");
                    match Settings::default().with(&at("compactd.summarizers.mine", &model)).unwrap_err() {
                        EngineError::InvalidSettings { path: wrong, .. } => {
                            assert_eq!(wrong, path, "{provider} {value}")
                        }
                        error => panic!("{error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn models_have_settings_of_their_own() {
        let of_model = json!({ "reserveTokens": 7, "keepRecentTokens": 8, "thresholdPercent": null });
        let layer = json!({ "compaction": { "thresholdPercent": 60, "modelOverrides": { "p/m.1": of_model } } });
        let settings = Settings::default().with(&layer).unwrap();
        let check = |settings: &Settings, model: &str, expected: (u64, u64, Option<u64>)| {
            let found = settings.compaction_for("p", model);
            assert_eq!((found.reserve_tokens, found.keep_recent_tokens, found.threshold_percent), expected);
        };
        check(&settings, "m.1", (7, 8, None));
        check(&settings, "other", (16_384, 20_000, Some(60)));
        // A value of the call takes precedence over one of the model.
        let given = |given: Value| settings.with_call(Some(&layer_of_call(given)));
        let of_call = given(json!({ "keepRecentTokens": 9, "thresholdPercent": 50 })).unwrap();
        check(&of_call, "m.1", (7, 9, Some(50)));
        check(&of_call, "other", (16_384, 9, Some(50)));
        let of_call = given(json!({
            "compaction": { "keepRecentTokens": 9 }, "thresholdPercent": 50, "compactd": { "pins": { "maxTokens": 1 } },
        }));
        let of_call = of_call.unwrap();
        check(&of_call, "m.1", (7, 9, Some(50)));
        assert_eq!(of_call.pin_tokens(), 1);
        let wrong = given(json!({ "compaction": 5, "keepRecentTokens": 1 })).unwrap_err();
        assert!(matches!(&wrong, EngineError::InvalidSettings { path, .. } if path == "compaction"), "{wrong}");
    }

    /// The rows of the README's table: the path, the default, and the whole row.
    fn documented() -> BTreeMap<&'static str, (Value, &'static str)> {
        let readme = include_str!("../../../README.md");
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
