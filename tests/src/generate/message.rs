//! Messages of every role.

use super::content::Writer;
use super::json::{self, Members};

/// How an assistant message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Normal,
    Aborted,
    Error,
    Length,
}

impl Writer {
    pub(super) fn user(&mut self, time: i64) -> String {
        let content = if self.random.chance(15) { "null".to_owned() } else { self.content() };
        self.message("user", time, Members::new().with("content", content))
    }

    /// An answer with these tool calls, each an id and a name.
    pub(super) fn assistant(&mut self, time: i64, calls: &[(String, &str)], stop: Stop) -> String {
        let content =
            if calls.is_empty() && self.random.chance(20) { "null".to_owned() } else { self.answer(calls, stop) };
        let (provider, model) = *self.random.pick(&[("anthropic", "opus"), ("openai", "gpt"), ("ollama", "qwen3:8b")]);
        let reason = match stop {
            Stop::Normal if calls.is_empty() => "stop",
            Stop::Normal => "toolUse",
            Stop::Aborted => "aborted",
            Stop::Error => "error",
            Stop::Length => "length",
        };
        let members = Members::new().with("content", content).text("api", "messages").text("provider", provider);
        let members = members.text("model", model).text("stopReason", reason);
        let members = match self.usage() {
            Some(usage) => members.with("usage", usage),
            None => members,
        };
        let failed = matches!(stop, Stop::Aborted | Stop::Error);
        let members = members.maybe(failed, "errorMessage", || "\"overloaded\"".to_owned());
        self.message("assistant", time, members)
    }

    fn answer(&mut self, calls: &[(String, &str)], stop: Stop) -> String {
        let mut blocks = Vec::new();
        if self.random.chance(200) {
            blocks.push(self.thinking_block());
        }
        let has_text = self.random.chance(if calls.is_empty() { 950 } else { 500 }) && stop != Stop::Error;
        if has_text {
            blocks.push(self.text_block());
        }
        if self.random.chance(20) {
            blocks.push(Members::new().text("type", "future").with("x", "[1, 2]").compact());
        }
        for (id, name) in calls {
            if self.random.chance(60) {
                blocks.push(self.text_block());
            }
            blocks.push(self.tool_call(id, name));
        }
        json::array(&blocks)
    }

    /// Usage as providers report it: all of it, without a total, all zero, or none.
    pub(super) fn usage(&mut self) -> Option<String> {
        let kind = self.random.weighted(&[(4, 0), (2, 1), (1, 2), (1, 3), (2, 4)]);
        let scale = if kind >= 2 { 0 } else { 1 };
        let mut count = |limit| (self.random.below(limit) * scale).to_string();
        let members = Members::new().with("input", count(9000)).with("output", count(900));
        let members = members.with("cacheRead", count(30_000)).with("cacheWrite", count(3000));
        let members = match kind {
            0 | 2 => members.with("totalTokens", count(40_000)),
            1 | 3 => members,
            _ => return None,
        };
        let cost = Members::new().with("input", "0.01").with("output", "1e-3").with("cacheRead", "0");
        let cost = cost.with("cacheWrite", "0").with("total", "0.011").compact();
        Some(members.with("cost", cost).finish(&mut self.random))
    }

    pub(super) fn tool_result(&mut self, time: i64, call: &str, name: &str) -> String {
        let content = match self.random.below(40) {
            0 => "null".to_owned(),
            1..6 => self.long_result(),
            _ => self.content(),
        };
        let is_error = self.random.chance(100);
        let members = Members::new().text("toolCallId", call).text("toolName", name).with("content", content);
        let members = members.with("isError", is_error.to_string());
        let members = members.maybe(!is_error, "details", || "{\"exact\": 9007199254740991}".to_owned());
        let nested = self.random.chance(200).then(|| self.nested_calls());
        let members = members.maybe(nested.is_some(), "nestedCalls", || nested.unwrap_or_default());
        self.message("toolResult", time, members)
    }

    /// Calls that a tool made while it ran; large arguments are left out.
    fn nested_calls(&mut self) -> String {
        let calls: Vec<String> = (0..self.random.between(1, 4)).map(|_| self.nested_call()).collect();
        Members::new().with("calls", json::array(&calls)).with("complete", "true".to_owned()).finish(&mut self.random)
    }

    fn nested_call(&mut self) -> String {
        let (id, name) = (self.random.bits().to_string(), *self.random.pick(&TOOLS));
        let status = *self.random.pick(&["ok", "ok", "error", "unfinished"]);
        let arguments = (!self.random.chance(150)).then(|| self.arguments(name));
        let call = Members::new().text("id", &id).text("name", name).text("status", status);
        let call = call.maybe(arguments.is_some(), "arguments", || arguments.unwrap_or_default());
        call.finish(&mut self.random)
    }

    /// A result of about the 2000 units at which summaries cut, also through a surrogate pair.
    fn long_result(&mut self) -> String {
        let text = match self.random.below(4) {
            0 => format!("x{}", "😀".repeat(self.random.between(998, 1010))),
            1 => "y".repeat(self.random.between(1998, 2002)),
            _ => {
                let units = self.random.between(1900, 4000);
                self.plain_text(units)
            }
        };
        let literal = json::string(&mut self.random, &text);
        let block = Members::new().text("type", "text").with("text", literal);
        json::array(&[block.finish(&mut self.random)])
    }

    pub(super) fn bash_execution(&mut self, time: i64) -> String {
        let command = self.some_text();
        let output = if self.random.chance(200) { "\"\"".to_owned() } else { self.some_text() };
        let cancelled = self.random.chance(150);
        let truncated = self.random.chance(200);
        let code =
            self.random.weighted(&[(4, Some("0")), (2, Some("1")), (1, Some("-9")), (1, Some("null")), (1, None)]);
        let excluded = self.random.chance(100);
        let members = Members::new().with("command", command).with("output", output);
        let members = members.with("cancelled", cancelled.to_string()).with("truncated", truncated.to_string());
        let members = members.maybe(!cancelled && code.is_some(), "exitCode", || code.unwrap_or_default().to_owned());
        let has_path = self.random.chance(300);
        let members = members.maybe(has_path, "fullOutputPath", || "\"/var/log/out.log\"".to_owned());
        let members = members.maybe(excluded, "excludeFromContext", || "true".to_owned());
        self.message("bashExecution", time, members)
    }

    /// A message of an extension, under the role that the version of the format has for it.
    pub(super) fn custom(&mut self, time: i64, role: &str) -> String {
        let content = if self.random.chance(30) { "null".to_owned() } else { self.content() };
        let members = Members::new().text("customType", "note").with("content", content).with("display", "true");
        self.message(role, time, members)
    }

    pub(super) fn system(&mut self, time: i64) -> String {
        let content = match self.random.below(8) {
            0 => "null".to_owned(),
            1 => "\"\"".to_owned(),
            2 => json::array(&[self.text_block()]),
            _ => self.some_text(),
        };
        let members = Members::new().with("content", content);
        let members = members.and(self.system_changes());
        self.message("system", time, members)
    }

    fn system_changes(&mut self) -> Members {
        let mut members = Members::new();
        if self.random.chance(600) {
            let mut sections = Members::new();
            for name in ["skills", "project", "environment"] {
                let value = match self.random.below(4) {
                    0 => continue,
                    1 => "null".to_owned(),
                    _ => self.some_text(),
                };
                sections = sections.with(name, value);
            }
            members = members.with("sections", sections.finish(&mut self.random));
        }
        if self.random.chance(600) {
            let tools: Vec<String> = (0..self.random.between(1, 3)).map(|_| self.tool()).collect();
            members = members.with("toolsAdded", json::array(&tools));
        }
        if self.random.chance(300) {
            let name = self.random.pick(&TOOLS);
            let tool = Members::new().text("name", name).compact();
            members = members.with("toolsRemoved", json::array(&[tool]));
        }
        members
    }

    fn tool(&mut self) -> String {
        let name = *self.random.pick(&TOOLS);
        let description = self.some_text();
        let tool = Members::new().text("name", name).with("description", description);
        tool.with("parameters", r#"{"type":"object","properties":{"path":{"type":"string"}}}"#).finish(&mut self.random)
    }

    /// A message of a role that no version knows.
    pub(super) fn unknown_role(&mut self, time: i64) -> String {
        let value = self.value(2);
        self.message("observer", time, Members::new().with("content", value))
    }

    fn message(&mut self, role: &str, time: i64, members: Members) -> String {
        let extra = self.random.chance(50);
        let message = Members::new().text("role", role).and(members).with("timestamp", time.to_string());
        message.maybe(extra, "x-unknown", || "{ \"kept\" : [1 , 2.0] }".to_owned()).finish(&mut self.random)
    }
}

/// Names of tools; two of them are no file tools.
pub(super) const TOOLS: [&str; 6] = ["read", "write", "edit", "bash", "read", "grep"];
