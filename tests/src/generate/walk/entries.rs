//! The entries of a session: one function for each type, and the lines that they become.

use compaction_core::entry::iso_timestamp;

use super::super::Version;
use super::super::json::{self, Members};
use super::super::message::Stop;
use super::{Walk, Written};

/// Stands for the id of the entry that holds it until that is known.
const OWN_ID: &str = "OWN-ID-OF-THE-ENTRY";

impl Walk {
    pub(super) fn user(&mut self) {
        let message = self.writer.user(self.time());
        self.message(message);
    }

    pub(super) fn assistant(&mut self, calls: &[(String, &str)], stop: Stop) {
        let message = self.writer.assistant(self.time(), calls, stop);
        self.message(message);
    }

    pub(super) fn bash(&mut self) {
        let message = self.writer.bash_execution(self.time());
        self.message(message);
    }

    pub(super) fn system(&mut self) {
        let message = self.writer.system(self.time());
        self.message(message);
    }

    pub(super) fn custom(&mut self) {
        let role = if self.version == Version::V3 { "custom" } else { "hookMessage" };
        let message = self.writer.custom(self.time(), role);
        self.message(message);
    }

    pub(super) fn observer(&mut self) {
        let message = self.writer.unknown_role(self.time());
        self.message(message);
    }

    pub(super) fn message(&mut self, message: String) {
        self.entry("message", Members::new().with("message", message));
    }

    pub(super) fn custom_message(&mut self) {
        let content = if self.chance(50) { "null".to_owned() } else { self.writer.content() };
        let details = self.chance(300);
        let members = Members::new().text("customType", "note").with("content", content).with("display", "false");
        self.entry("custom_message", members.maybe(details, "details", || "{\"a\" : 1e2}".to_owned()));
    }

    pub(super) fn metadata(&mut self) {
        let value = self.writer.value(1);
        match self.writer.random.below(8) {
            0 => self.entry("model_change", Members::new().text("provider", "google").text("modelId", "gemini")),
            1 => {
                let level = *self.writer.random.pick(&["off", "low", "high"]);
                self.entry("thinking_level_change", Members::new().text("thinkingLevel", level));
            }
            2 => self.entry("session_info", Members::new().text("name", "A name\nof two lines")),
            3 => {
                let usage = self.writer.usage().unwrap_or_else(|| "{}".to_owned());
                let members = Members::new().text("kind", "title").text("provider", "openai").text("model", "gpt");
                self.entry("usage", members.with("usage", usage));
            }
            4 => self.entry("from_the_future", Members::new().with("payload", value)),
            5 if self.has_tree() && !self.entries.is_empty() => self.label(),
            _ => self.entry("custom", Members::new().text("customType", "state").with("data", value)),
        }
    }

    fn label(&mut self) {
        let target = self.any_id();
        let clears = self.chance(300);
        let members = Members::new().text("targetId", &target);
        self.entry("label", members.maybe(!clears, "label", || "\"mark\"".to_owned()));
    }

    pub(super) fn compaction(&mut self) {
        let summary = if self.chance(30) { "\"\"".to_owned() } else { self.writer.some_text() };
        let tokens = self.writer.random.below(200_000).to_string();
        let members = Members::new().with("summary", summary).with("tokensBefore", tokens);
        let members = members.and(self.first_kept()).and(self.summary_details());
        let system = self.chance(300).then(|| self.writer.system(self.time()));
        let members = members.maybe(system.is_some(), "systemMessage", || system.unwrap_or_default());
        self.entry("compaction", members);
    }

    fn first_kept(&mut self) -> Members {
        if self.version == Version::V1 {
            // Counted in lines; 0 is the header, and the last two lie past the compaction itself.
            let index = self.writer.random.below(self.lines.len() + 2);
            return Members::new().with("firstKeptEntryIndex", index.to_string());
        }
        let id = match self.writer.random.below(20) {
            0 | 1 => OWN_ID.to_owned(),
            2 => "ffffffff".to_owned(),
            3 => self.any_id(),
            _ => self.recent_id(),
        };
        Members::new().text("firstKeptEntryId", &id)
    }

    /// What summaries carry beside their text: files, usage, and whether a hook made them.
    fn summary_details(&mut self) -> Members {
        let mut members = Members::new();
        if self.chance(700) {
            let read = self.paths();
            let modified = self.paths();
            let details = Members::new().with("readFiles", read).with("modifiedFiles", modified);
            members = members.with("details", details.finish(&mut self.writer.random));
        }
        if let Some(usage) = self.writer.usage() {
            members = members.with("usage", usage);
        }
        match self.writer.random.below(5) {
            0 => members.with("fromHook", "true"),
            1 => members.with("fromHook", "false"),
            _ => members,
        }
    }

    fn paths(&mut self) -> String {
        if self.chance(40) {
            return (*self.writer.random.pick(&["null", "{}", "7", "[\"a.txt\",7,null]"])).to_owned();
        }
        let paths: Vec<String> = (0..self.writer.random.below(4)).map(|_| self.writer.path()).collect();
        json::array(&paths)
    }

    pub(super) fn context_edit(&mut self) {
        let messages: Vec<usize> = self.path().into_iter().filter(|at| self.entries[*at].is_message).collect();
        let target = match messages.is_empty() || self.chance(100) {
            true => self.any_id(),
            false => self.entries[*self.writer.random.pick(&messages)].id.clone(),
        };
        let replacement = match self.writer.random.below(6) {
            0..3 => "null".to_owned(),
            3 => Members::new().with("content", self.writer.some_text()).compact(),
            _ => Members::new().with("content", json::array(&[self.writer.text_block()])).compact(),
        };
        self.edit(&target, replacement);
    }

    pub(super) fn edit(&mut self, target: &str, replacement: String) {
        self.entry("context_edit", Members::new().text("targetId", target).with("replacement", replacement));
    }

    /// Goes back to an earlier place, with or without a summary of what is left.
    pub(super) fn branch(&mut self) {
        let from = self.leaf.map_or_else(|| "root".to_owned(), |leaf| self.entries[leaf].id.clone());
        let path = self.path();
        self.leaf = match path.is_empty() || self.chance(30) {
            true => None,
            false => Some(path[path.len() - 1 - self.writer.random.below(path.len().min(12))]),
        };
        if self.chance(600) {
            let summary = if self.chance(60) { "\"\"".to_owned() } else { self.writer.some_text() };
            let members = Members::new().text("fromId", &from).with("summary", summary);
            let members = members.and(self.summary_details());
            self.entry("branch_summary", members);
        }
    }

    fn entry(&mut self, kind: &str, members: Members) {
        let id = format!("{:08x}", self.writer.random.bits() as u32);
        let parent = match self.leaf {
            Some(leaf) => json::plain_string(&self.entries[leaf].id),
            None => self.no_parent(),
        };
        let timestamp = self.timestamp();
        let head = Members::new().text("type", kind);
        let head = match self.version {
            Version::V1 => head,
            Version::V2 | Version::V3 => head.text("id", &id).with("parentId", parent),
        };
        let line = head.text("timestamp", &timestamp).and(members).finish(&mut self.writer.random);
        self.lines.push(line.replace(OWN_ID, &id));
        self.entries.push(Written { id, parent: self.leaf, is_message: kind.ends_with("message") });
        self.leaf = Some(self.entries.len() - 1);
        if self.version == Version::V3 && self.chance(9) {
            self.harm();
        }
    }

    /// What stands in place of a parent: nothing, or now and then an entry that is lost.
    fn no_parent(&mut self) -> String {
        let is_lost = !self.entries.is_empty() && self.chance(400);
        if is_lost { "\"ffffffff\"".to_owned() } else { "null".to_owned() }
    }

    /// The time of a new entry, mostly in the form that we write ourselves.
    fn timestamp(&mut self) -> String {
        let usual = iso_timestamp(self.time());
        match self.writer.random.below(60) {
            0 => usual.replace('Z', "+00:00"),
            1 => usual.replace('Z', "456Z"),
            2 => format!("{}Z", &usual[..19]),
            3 => "yesterday".to_owned(),
            _ => usual,
        }
    }

    /// What crashes and editors do to files: blank lines, torn lines, lines that are lost or doubled.
    fn harm(&mut self) {
        match self.writer.random.below(8) {
            0 => self.lines.push(String::new()),
            1 => self.lines.push("   ".to_owned()),
            2 => self.lines.push(r#"{"type":"message","id"#.to_owned()),
            3 => self.lines.push(self.lines[0].clone()),
            4 => self.lines.extend(self.lines.last().cloned()),
            5 => self.leaf = None,
            6 => {
                let last = self.lines.last_mut().expect("the header is a line");
                last.push('\r');
            }
            _ => {
                let line = self.lines.pop().unwrap_or_default();
                self.lines.push(line.chars().take(line.len() / 3).collect());
            }
        }
    }
}
