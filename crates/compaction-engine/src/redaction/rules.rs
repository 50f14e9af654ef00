//! Redaction rules: their form, and those that the settings disable or add (`compactd.redaction`).

use std::sync::Arc;

use regex::RegexBuilder;
use serde_json::Value;

use super::check::Check;
use super::patterns::{TOKENS, VALUES};
use super::{Redactor, is_name_part};
use crate::error::EngineError;

/// Bytes that a compiled pattern of the settings may take.
const PATTERN_BYTES: usize = 1 << 20;
const MAX_EXTRA_RULES: usize = 64;

/// What is redacted (`compactd.redaction: {enabled, rules: {disable, extra}}`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionSettings {
    /// Whether anything is.
    pub enabled: bool,
    /// Names of bundled rules that are left out.
    pub disabled: Vec<String>,
    /// Rules beside the bundled ones.
    pub extra: Vec<ExtraRule>,
}

/// A rule of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraRule {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// A regular expression; its first group is the secret, or all of it if there is none.
    pub pattern: String,
}

impl Default for RedactionSettings {
    fn default() -> Self {
        Self { enabled: true, disabled: Vec::new(), extra: Vec::new() }
    }
}

impl RedactionSettings {
    /// Reads the object; null or absent is the default.
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

    /// Whoever redacts by these settings; `None` where nothing is redacted.
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

/// How one kind of secret is recognised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Names the rule in marks, counts and settings.
    pub(super) name: &'static str,
    /// Words near which the form is tried, in any case: where none stands, nothing is searched.
    pub(super) keywords: &'static [&'static str],
    /// How many bytes before a keyword the form may begin.
    pub(super) before: &'static [usize],
    /// The form. The first of its groups that matches is the secret; without groups, all of it is.
    pub(super) pattern: &'static str,
    /// What else must hold.
    pub(super) check: Check,
}

/// All rules; where matches overlap, the mark bears the name of the one that begins first.
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    TOKENS.iter().chain(VALUES)
}
