//! Settings: layers of JSON objects, merged and checked (compaction spec, Settings).
//!
//! Layers, each over the one before: defaults, `<agent-dir>/settings.json`,
//! `<cwd>/.pi/settings.json`, `initialize.settings`, the `settings` of a call. Objects merge, other
//! values replace. A wrong value is an error with its path; a file that cannot be read as JSON
//! counts as empty and is told of; unknown keys are kept.

use std::path::Path;
use std::time::Duration;

use compaction_core::file_operations::FileTools;
use compaction_core::settings::CompactionSettings;
use serde_json::{Map, Value, json};
use session_store::Durability;

use crate::errors::RpcError;
use crate::redaction::RedactionSettings;
use crate::summarizers::RetryPolicy;

/// Settings in force.
#[derive(Debug, Clone)]
pub struct Settings {
    merged: Value,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            merged: json!({
                "compaction": { "enabled": true, "reserveTokens": 16384, "keepRecentTokens": 20000, "modelOverrides": {} },
                "branchSummary": { "reserveTokens": 16384 },
                "compactd": { "durability": "checkpoint", "summarizer": "extractive" },
            }),
        }
    }
}

impl Settings {
    /// Reads the settings files of an agent directory and a working directory. The texts returned
    /// beside the settings tell of files that could not be used.
    pub fn load(agent_dir: Option<&Path>, cwd: &Path) -> Result<(Self, Vec<String>), RpcError> {
        let mut settings = Self::default();
        let mut diagnostics = Vec::new();
        let of_agent = agent_dir.map(|directory| directory.join("settings.json"));
        for path in of_agent.into_iter().chain([cwd.join(".pi").join("settings.json")]) {
            match read_object(&path) {
                Ok(Some(layer)) => settings = settings.with(&layer).map_err(|error| error.in_file(&path))?,
                Ok(None) => {}
                Err(reason) => diagnostics.push(format!("settings file {} counts as empty: {reason}", path.display())),
            }
        }
        Ok((settings, diagnostics))
    }

    /// These settings with another layer over them.
    ///
    /// Fails with `invalidSettings` at the first wrong value.
    pub fn with(&self, layer: &Value) -> Result<Self, RpcError> {
        if !layer.is_object() {
            return Err(invalid("settings", "an object"));
        }
        let mut merged = self.merged.clone();
        merge(&mut merged, layer);
        let settings = Self { merged };
        settings.check()?;
        Ok(settings)
    }

    /// These settings with members of the `compaction` object over them, as calls take them.
    pub fn with_compaction(&self, compaction: Option<&str>) -> Result<Self, RpcError> {
        let Some(text) = compaction else {
            return Ok(self.clone());
        };
        let layer = parse_object(text).ok_or_else(|| RpcError::invalid_params("settings", "an object"))?;
        self.with(&json!({ "compaction": layer }))
    }

    /// The merged object.
    pub fn as_json(&self) -> &Value {
        &self.merged
    }

    /// When to compact and how much to keep.
    pub fn compaction(&self) -> CompactionSettings {
        self.overridden(None)
    }

    /// The same for one model, with its entry of `compaction.modelOverrides`.
    pub fn compaction_for(&self, provider: &str, model_id: &str) -> CompactionSettings {
        let name = format!("{provider}/{model_id}");
        self.overridden(self.merged["compaction"]["modelOverrides"].get(&name))
    }

    fn overridden(&self, model: Option<&Value>) -> CompactionSettings {
        let compaction = &self.merged["compaction"];
        let default = CompactionSettings::default();
        let number = |key: &str, default: u64| {
            let of_model = model.and_then(|model| model[key].as_u64());
            of_model.or_else(|| compaction[key].as_u64()).unwrap_or(default)
        };
        CompactionSettings {
            enabled: compaction["enabled"].as_bool().unwrap_or(default.enabled),
            reserve_tokens: number("reserveTokens", default.reserve_tokens),
            keep_recent_tokens: number("keepRecentTokens", default.keep_recent_tokens),
        }
    }

    /// Tokens that a branch summary leaves free.
    pub fn branch_reserve_tokens(&self) -> u64 {
        self.merged["branchSummary"]["reserveTokens"].as_u64().unwrap_or(16_384)
    }

    /// The summarizers that are used where a call names none, in the order in which they are asked
    /// (`compactd.summarizer`: a name or a list of names).
    pub fn summarizers(&self) -> Vec<String> {
        match &self.merged["compactd"]["summarizer"] {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => vec!["extractive".to_owned()],
        }
    }

    /// Whether lines of summaries name the entries that they come from (`compaction.citations`).
    pub fn citations(&self) -> bool {
        self.merged["compaction"]["citations"] == true
    }

    /// How failed requests to models are made again (`retry`).
    pub fn retries(&self) -> RetryPolicy {
        let retry = &self.merged["retry"];
        if retry["enabled"] == false {
            return RetryPolicy::NONE;
        }
        let milliseconds = |key: &str, default| Duration::from_millis(retry[key].as_u64().unwrap_or(default));
        RetryPolicy {
            max_retries: retry["maxRetries"].as_u64().map_or(3, |retries| u32::try_from(retries).unwrap_or(u32::MAX)),
            base_delay: milliseconds("baseDelayMs", 2_000),
            max_delay: milliseconds("maxDelayMs", 60_000),
        }
    }

    /// How long a whole operation may take, the client's hook and all requests included
    /// (`compactd.deadlineMs`).
    pub fn deadline(&self) -> Duration {
        // A day is for ever here, and no sum of it overflows a clock.
        let milliseconds = self.merged["compactd"]["deadlineMs"].as_u64().unwrap_or(600_000);
        Duration::from_millis(milliseconds).min(Duration::from_secs(24 * 60 * 60))
    }

    /// When the store waits for the disk.
    pub fn durability(&self) -> Durability {
        match self.merged["compactd"]["durability"].as_str() {
            Some("always") => Durability::Always,
            Some("none") => Durability::None,
            _ => Durability::Checkpoint,
        }
    }

    /// Tool and argument names by which file operations are recognised
    /// (`compactd.fileTools: {read, write, edit, pathArguments}`), each a list of further names.
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

    /// How long a hook may take (`compactd.hooks.timeoutMs`).
    pub fn hook_timeout(&self) -> Duration {
        Duration::from_millis(self.merged["compactd"]["hooks"]["timeoutMs"].as_u64().unwrap_or(30_000))
    }

    /// How long the client's model may take for one summary (`compactd.summarize.timeoutMs`).
    pub fn summarize_timeout(&self) -> Duration {
        Duration::from_millis(self.merged["compactd"]["summarize"]["timeoutMs"].as_u64().unwrap_or(300_000))
    }

    /// Tokens that the client's model can read (`compactd.summarize.contextWindow`).
    pub fn summarize_window(&self) -> u64 {
        self.merged["compactd"]["summarize"]["contextWindow"].as_u64().unwrap_or(128_000)
    }

    /// Tokens that pinned entries may take together (`compactd.pins.maxTokens`).
    pub fn pin_tokens(&self) -> u64 {
        self.merged["compactd"]["pins"]["maxTokens"].as_u64().unwrap_or(4_000)
    }

    /// A prompt that replaces the project's own (`compactd.prompts.<name>`).
    pub fn prompt(&self, name: &str) -> Option<&str> {
        self.merged["compactd"]["prompts"][name].as_str()
    }

    /// What is taken out of what goes to a summarizer and of what comes back
    /// (`compactd.redaction`).
    pub fn redaction(&self) -> RedactionSettings {
        // Settings are checked before they are in force; redacting is the safe side.
        RedactionSettings::read(&self.merged["compactd"]["redaction"]).unwrap_or_default()
    }

    fn check(&self) -> Result<(), RpcError> {
        let root = &self.merged;
        for key in ["compaction", "branchSummary", "retry", "compactd"] {
            expect(root, key, "an object", Value::is_object)?;
        }
        self.check_compaction()?;
        expect(root, "branchSummary.reserveTokens", WHOLE, Value::is_u64)?;
        expect(root, "compactd.durability", "always, checkpoint or none", |value| {
            matches!(value.as_str(), Some("always" | "checkpoint" | "none"))
        })?;
        self.check_summarizers()?;
        crate::summarizers::configuration::check(root)?;
        expect(root, "compactd.summarize.contextWindow", WHOLE, Value::is_u64)?;
        expect(root, "compactd.pins", "an object", Value::is_object)?;
        expect(root, "compactd.pins.maxTokens", WHOLE, Value::is_u64)?;
        expect(root, "retry.enabled", "true or false", Value::is_boolean)?;
        for number in ["retry.maxRetries", "retry.baseDelayMs", "retry.maxDelayMs"] {
            expect(root, number, "a whole number, 0 or more", Value::is_u64)?;
        }
        for timeout in ["compactd.deadlineMs", "compactd.hooks.timeoutMs", "compactd.summarize.timeoutMs"] {
            expect(root, timeout, "a whole number of milliseconds", Value::is_u64)?;
        }
        for list in ["read", "write", "edit", "pathArguments"] {
            expect(root, &format!("compactd.fileTools.{list}"), "a list of names", is_name_list)?;
        }
        for prompt in PROMPTS {
            expect(root, &format!("compactd.prompts.{prompt}"), "a text", Value::is_string)?;
        }
        self.check_redaction()
    }

    fn check_redaction(&self) -> Result<(), RpcError> {
        let read = RedactionSettings::read(&self.merged["compactd"]["redaction"]);
        read.map(|_| ()).map_err(|wrong| {
            let path = format!("compactd.redaction.{}", wrong.path);
            invalid(path.trim_end_matches('.'), &wrong.expected)
        })
    }

    fn check_summarizers(&self) -> Result<(), RpcError> {
        let named = self.merged["compactd"].get("summarizer");
        let is_list = named.is_none_or(|value| value.is_string() || is_name_list(value));
        let names = self.summarizers();
        let is_known = |name: &String| crate::summarizers::NAMES.contains(&name.as_str());
        match is_list && !names.is_empty() && names.iter().all(is_known) {
            true => Ok(()),
            false => Err(invalid(
                "compactd.summarizer",
                &format!("a summarizer, or a list of them: {}", crate::summarizers::NAMES.join(", ")),
            )),
        }
    }

    fn check_compaction(&self) -> Result<(), RpcError> {
        let root = &self.merged;
        expect(root, "compaction.enabled", "true or false", Value::is_boolean)?;
        expect(root, "compaction.citations", "true or false", Value::is_boolean)?;
        expect(root, "compaction.reserveTokens", WHOLE, Value::is_u64)?;
        expect(root, "compaction.keepRecentTokens", WHOLE, Value::is_u64)?;
        expect(root, "compaction.modelOverrides", "an object", Value::is_object)?;
        let models = root["compaction"]["modelOverrides"].as_object().into_iter().flatten();
        for (model, values) in models {
            for key in ["reserveTokens", "keepRecentTokens"] {
                let is_wrong = values.get(key).is_some_and(|value| !value.is_u64());
                if is_wrong || !values.is_object() {
                    return Err(invalid(&format!("compaction.modelOverrides.{model}.{key}"), WHOLE));
                }
            }
        }
        Ok(())
    }
}

/// Names of the prompts that `compactd.prompts` may replace.
pub const PROMPTS: &[&str] = &["system", "history", "update", "turnPrefix", "branch", "continued"];
const WHOLE: &str = "a whole number of tokens, 0 or more";

fn invalid(path: &str, expected: &str) -> RpcError {
    RpcError::InvalidSettings { path: path.to_owned(), expected: expected.to_owned(), file: None }
}

/// Checks the value at a dotted path, if there is one.
fn expect(root: &Value, path: &str, expected: &str, is_right: fn(&Value) -> bool) -> Result<(), RpcError> {
    let value = path.split('.').try_fold(root, |value, key| value.get(key));
    match value {
        Some(value) if !is_right(value) => Err(invalid(path, expected)),
        _ => Ok(()),
    }
}

fn is_name_list(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
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

/// The object in a settings file; `None` if there is no file.
fn read_object(path: &Path) -> Result<Option<Value>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str::<Map<String, Value>>(&text)
            .map(|layer| Some(Value::Object(layer)))
            .map_err(|error| format!("it holds no JSON object: {error}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn parse_object(text: &str) -> Option<Value> {
    serde_json::from_str::<Map<String, Value>>(text).ok().map(Value::Object)
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
            (json!({ "compactd": { "redaction": 1 } }), "compactd.redaction"),
            (
                json!({ "compactd": { "redaction": { "rules": { "disable": [1] } } } }),
                "compactd.redaction.rules.disable.0",
            ),
            (
                json!({ "compaction": { "modelOverrides": { "a/b": { "reserveTokens": 1.5 } } } }),
                "compaction.modelOverrides.a/b.reserveTokens",
            ),
        ] {
            let error = Settings::default().with(&layer).unwrap_err();
            assert_eq!(error.data()["path"], json!(path));
        }
    }

    #[test]
    fn models_have_settings_of_their_own() {
        let layer = json!({ "compaction": { "modelOverrides": { "p/m": { "reserveTokens": 7 } } } });
        let settings = Settings::default().with(&layer).unwrap();
        assert_eq!(settings.compaction_for("p", "m").reserve_tokens, 7);
        assert_eq!(settings.compaction_for("p", "other").reserve_tokens, 16_384);
    }
}
