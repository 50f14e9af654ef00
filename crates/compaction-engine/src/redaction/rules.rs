//! Redaction rules: their form, and those that the settings disable or add (`compactd.redaction`).

use std::sync::Arc;

use regex::RegexBuilder;
use serde_json::Value;

use super::check::Check;
use super::patterns::{TOKENS, VALUES};
use super::{Redactor, is_name_part};
use crate::error::EngineError;

/// Maximum bytes of a compiled pattern of the settings.
const PATTERN_BYTES: usize = 1 << 20;
const MAX_EXTRA_RULES: usize = 64;

/// The settings of redaction (`compactd.redaction: {enabled, rules: {disable, extra}}`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionSettings {
    /// Whether secrets are redacted.
    pub enabled: bool,
    /// Names of disabled bundled rules.
    pub disabled: Vec<String>,
    /// Further rules.
    pub extra: Vec<ExtraRule>,
}

/// A rule of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraRule {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// A regular expression. Its first group is the secret; without a group, the whole match.
    pub pattern: String,
}

impl Default for RedactionSettings {
    fn default() -> Self {
        Self { enabled: true, disabled: Vec::new(), extra: Vec::new() }
    }
}

impl RedactionSettings {
    /// Reads the object; null is the default.
    ///
    /// # Errors
    /// [`EngineError::InvalidSettings`] at the first wrong value.
    pub fn read(value: &Value) -> Result<Self, EngineError> {
        let is_object = |value: &Value| value.is_object() || value.is_null();
        if !is_object(value) {
            return Err(wrong("", "an object"));
        }
        let rules = &value["rules"];
        if !is_object(rules) {
            return Err(wrong("rules", "an object"));
        }
        let enabled = match &value["enabled"] {
            Value::Null => true,
            Value::Bool(enabled) => *enabled,
            _ => return Err(wrong("enabled", "true or false")),
        };
        Ok(Self { enabled, disabled: read_names(&rules["disable"])?, extra: read_extra(&rules["extra"])? })
    }

    /// The redactor for these settings; `None` where redaction is disabled.
    pub fn redactor(&self) -> Option<Arc<Redactor>> {
        let is_plain = self.disabled.is_empty() && self.extra.is_empty();
        match self.enabled {
            false => None,
            true if is_plain => Some(Redactor::shared()),
            true => Some(Arc::new(Redactor::new(&self.disabled, &self.extra))),
        }
    }
}

/// The error of a wrong value at `path` in `compactd.redaction`.
fn wrong(path: &str, expected: &str) -> EngineError {
    EngineError::invalid_setting(format!("compactd.redaction.{path}").trim_end_matches('.'), expected)
}

fn list<'v>(value: &'v Value, path: &str, expected: &str) -> Result<&'v [Value], EngineError> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(wrong(path, expected)),
    }
}

fn read_names(value: &Value) -> Result<Vec<String>, EngineError> {
    let names = list(value, "rules.disable", "a list of names of rules")?.iter().enumerate();
    let known = |name: &&str| rules().any(|rule| rule.name == *name);
    let read = |(index, name): (usize, &Value)| match name.as_str().filter(known) {
        Some(name) => Ok(name.to_owned()),
        None => {
            let mut names: Vec<&str> = rules().map(|rule| rule.name).collect();
            names.sort_unstable();
            names.dedup();
            let expected = format!("the name of a rule: {}", names.join(", "));
            Err(wrong(&format!("rules.disable.{index}"), &expected))
        }
    };
    names.map(read).collect()
}

fn read_extra(value: &Value) -> Result<Vec<ExtraRule>, EngineError> {
    let what = format!("a list of at most {MAX_EXTRA_RULES} rules: {{name, pattern}}");
    let rules = list(value, "rules.extra", &what)?;
    if rules.len() > MAX_EXTRA_RULES {
        return Err(wrong("rules.extra", &what));
    }
    rules.iter().enumerate().map(|(index, rule)| read_rule(index, rule)).collect()
}

fn read_rule(index: usize, rule: &Value) -> Result<ExtraRule, EngineError> {
    let wrong = |key: &str, expected: String| wrong(&format!("rules.extra.{index}.{key}"), &expected);
    let is_name = |name: &&str| (1..=64).contains(&name.len()) && name.chars().all(is_name_part);
    let name = rule["name"].as_str().filter(is_name);
    let name = name.ok_or_else(|| wrong("name", "lower-case letters, digits and hyphens, 64 at most".to_owned()))?;
    let pattern = rule["pattern"].as_str().ok_or_else(|| wrong("pattern", "a regular expression".to_owned()))?;
    let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
    compiled.map_err(|error| wrong("pattern", format!("a regular expression: {error}")))?;
    Ok(ExtraRule { name: name.to_owned(), pattern: pattern.to_owned() })
}

/// A rule: how one kind of secret is recognised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The name of the rule in marks, counts and settings.
    pub(super) name: &'static str,
    /// Words at which the pattern is tried, in any case. A text without them costs nothing.
    pub(super) keywords: &'static [&'static str],
    /// Number of bytes before a keyword at which the match may begin.
    pub(super) before: &'static [usize],
    /// The pattern. The first of its groups that matches is the secret; without groups, the whole match.
    pub(super) pattern: &'static str,
    /// A further condition.
    pub(super) check: Check,
}

/// All bundled rules. If matches overlap, the mark has the name of the one that begins first.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    TOKENS.iter().chain(VALUES)
}
