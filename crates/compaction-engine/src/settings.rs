//! Settings: layers of JSON objects, merged and checked (docs/preparation.md, "Settings").
//!
//! Each layer overrides the one before: defaults, `<agent-dir>/settings.json`, `<cwd>/.pi/settings.json`,
//! `initialize.settings`, `updateSettings`, the `settings` of a call. Objects merge; other values replace. A wrong
//! value is an error that names its path. A file that is not valid JSON counts as empty and is reported. Unknown keys
//! are kept. The file of a project sets only harmless values, unless the host trusts it.

mod layers;
mod table;

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
pub use layers::SettingsLayers;
pub use table::paths;
use table::{default_of, is_name_list, is_top_member};

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

    /// Tool and argument names by which file operations are recognised (`compactd.fileTools: {read, write, edit,
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
        usize::try_from(self.number("compactd.ledger.maxBytes").max(MIN_LEDGER_BYTES)).unwrap_or(usize::MAX)
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
        table::check(&self.merged)?;
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
    ["extractive", "host"].into_iter().chain(configuration::model_names(settings)).collect()
}

/// Minimum of `compactd.maxLineBytes`. A session header fits it.
const MIN_LINE_BYTES: u64 = 1 << 20;

/// The settings of a call as a layer. A call gives members of the `compaction` object, settings in the shape of a
/// settings file, or both. A name that is no top-level member belongs to `compaction`.
pub fn layer_of_call(given: Value) -> Value {
    let Value::Object(given) = given else {
        return given;
    };
    let (mut layer, compaction): (Map<String, Value>, Map<String, Value>) =
        given.into_iter().partition(|(name, _)| is_top_member(name));
    let named = layer.entry("compaction").or_insert_with(|| json!({}));
    // A value that is no object is rejected by the check.
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

#[cfg(test)]
mod tests {
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
            ("compactd.ledger.maxBytes", numbers),
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
                    // What a layer sets, the next one may unset. A text or a list may still be none that is known.
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
        // What a call gives itself counts more than what is set for the model.
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
}
