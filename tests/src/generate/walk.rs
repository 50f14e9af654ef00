//! The life of a session: turns, compactions, edits, branches and all that programs write between.

use compaction_core::entry::iso_timestamp;

use super::content::Writer;
use super::json::{self, Members};
use super::message::{Stop, TOOLS};
use super::{Session, Version};

const START: i64 = 1_763_681_581_000;

/// An entry that was written.
#[derive(Debug, Clone)]
struct Written {
    id: String,
    parent: Option<usize>,
    is_message: bool,
}

/// A session in the making.
#[derive(Debug)]
pub(super) struct Walk {
    writer: Writer,
    version: Version,
    lines: Vec<String>,
    entries: Vec<Written>,
    leaf: Option<usize>,
    calls: usize,
    reuses_call_ids: bool,
}

impl Walk {
    pub(super) fn new(mut writer: Writer, version: Version) -> Self {
        let reuses_call_ids = writer.random.chance(100);
        let members = Members::new().text("type", "session");
        let members = match version {
            Version::V1 => members,
            Version::V2 => members.with("version", "2"),
            Version::V3 => members.with("version", "3"),
        };
        let id = format!("generated-{:08x}", writer.random.bits() as u32);
        let header = members.text("id", &id).text("timestamp", &iso_timestamp(START)).text("cwd", "/project").compact();
        Self { writer, version, lines: vec![header], entries: Vec::new(), leaf: None, calls: 0, reuses_call_ids }
    }

    pub(super) fn run(mut self) -> Session {
        if self.chance(400) {
            self.system();
        }
        let turns = self.writer.random.between(2, 14);
        for _ in 0..turns {
            self.turn();
            for _ in 0..self.writer.random.below(3) {
                self.between_turns();
            }
        }
        self.ending();
        let torn = self.chance(30);
        let mut text = self.lines.join("\n");
        text.push_str(if torn { "" } else { "\n" });
        Session { text, version: self.version, odd: self.writer.odd != Default::default() }
    }

    fn chance(&mut self, per_thousand: usize) -> bool {
        self.writer.random.chance(per_thousand)
    }

    fn time(&self) -> i64 {
        START + self.entries.len() as i64 * 1500
    }

    // What a session consists of.

    fn turn(&mut self) {
        self.user();
        for _ in 0..self.writer.random.weighted(&[(2, 0), (4, 1), (3, 2), (2, 5)]) {
            let calls = self.new_calls();
            self.assistant(&calls, Stop::Normal);
            self.results(calls);
        }
        let stop =
            self.writer.random.weighted(&[(16, Stop::Normal), (1, Stop::Aborted), (1, Stop::Error), (1, Stop::Length)]);
        if self.chance(850) {
            self.assistant(&[], stop);
        }
    }

    fn new_calls(&mut self) -> Vec<(String, &'static str)> {
        let count = self.writer.random.weighted(&[(6, 1), (3, 2), (1, 4)]);
        let mut call = || {
            self.calls += 1;
            let number = if self.reuses_call_ids { self.calls % 3 } else { self.calls };
            (format!("call_{number}"), *self.writer.random.pick(&TOOLS))
        };
        (0..count).map(|_| call()).collect()
    }

    fn results(&mut self, mut calls: Vec<(String, &'static str)>) {
        if self.chance(100) {
            self.writer.random.shuffle(&mut calls);
        }
        for (id, name) in calls {
            if self.chance(60) {
                self.interruption();
            }
            if self.chance(30) {
                continue;
            }
            let copies = if self.chance(15) { 2 } else { 1 };
            for _ in 0..copies {
                let message = self.writer.tool_result(self.time(), &id, name);
                self.message(message);
            }
        }
        if self.chance(15) {
            let message = self.writer.tool_result(self.time(), "call_of_nobody", "read");
            self.message(message);
        }
    }

    /// What gets between a call and its result.
    fn interruption(&mut self) {
        match self.writer.random.below(8) {
            0 | 1 => self.user(),
            2 => self.bash(),
            3 => self.custom_message(),
            4 if self.has_tree() => self.compaction(),
            _ => self.metadata(),
        }
    }

    fn between_turns(&mut self) {
        match self.writer.random.below(20) {
            0..7 => self.metadata(),
            7 | 8 => self.bash(),
            9 | 10 => self.custom_message(),
            11 => self.custom(),
            12 => self.system(),
            13 => self.observer(),
            14 | 15 => self.compaction(),
            _ if !self.has_tree() => self.metadata(),
            16 | 17 => self.context_edit(),
            _ => self.branch(),
        }
    }

    fn ending(&mut self) {
        if self.chance(60) {
            let calls = self.new_calls();
            self.assistant(&calls, Stop::Normal);
        }
        if !self.has_tree() {
            return;
        }
        if self.chance(150) {
            self.abandoned_attempts();
        }
        if self.chance(120) {
            self.compaction();
            for _ in 0..self.writer.random.below(4) {
                self.metadata();
            }
        }
        if self.chance(30) {
            self.lines.push(r#"{"type":"message","id":"torn","parentId":nu"#.to_owned());
        }
    }

    /// Answers that failed and were hidden before the next try, as recovery from errors leaves them.
    fn abandoned_attempts(&mut self) {
        self.user();
        let mut attempts = Vec::new();
        for _ in 0..self.writer.random.between(1, 2) {
            let stop = *self.writer.random.pick(&[Stop::Error, Stop::Length]);
            self.assistant(&[], stop);
            attempts.push(self.entries.len() - 1);
        }
        for attempt in attempts {
            let target = self.entries[attempt].id.clone();
            self.edit(&target, "null".to_owned());
        }
        if self.chance(200) {
            self.metadata();
        }
        if self.chance(100) {
            self.context_edit();
        }
    }

    // Entries.

    fn user(&mut self) {
        let message = self.writer.user(self.time());
        self.message(message);
    }

    fn assistant(&mut self, calls: &[(String, &str)], stop: Stop) {
        let message = self.writer.assistant(self.time(), calls, stop);
        self.message(message);
    }

    fn bash(&mut self) {
        let message = self.writer.bash_execution(self.time());
        self.message(message);
    }

    fn system(&mut self) {
        let message = self.writer.system(self.time());
        self.message(message);
    }

    fn custom(&mut self) {
        let role = if self.version == Version::V3 { "custom" } else { "hookMessage" };
        let message = self.writer.custom(self.time(), role);
        self.message(message);
    }

    fn observer(&mut self) {
        let message = self.writer.unknown_role(self.time());
        self.message(message);
    }

    fn message(&mut self, message: String) {
        self.entry("message", Members::new().with("message", message));
    }

    fn custom_message(&mut self) {
        let content = if self.chance(50) { "null".to_owned() } else { self.writer.content() };
        let details = self.chance(300);
        let members = Members::new().text("customType", "note").with("content", content).with("display", "false");
        self.entry("custom_message", members.maybe(details, "details", || "{\"a\" : 1e2}".to_owned()));
    }

    fn metadata(&mut self) {
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

    fn compaction(&mut self) {
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

    fn context_edit(&mut self) {
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

    fn edit(&mut self, target: &str, replacement: String) {
        self.entry("context_edit", Members::new().text("targetId", target).with("replacement", replacement));
    }

    /// Goes back to an earlier place, with or without a summary of what is left.
    fn branch(&mut self) {
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

    // Places.

    /// Whether entries have ids in this version, so that they can refer to each other.
    fn has_tree(&self) -> bool {
        self.version != Version::V1
    }

    /// Positions from the leaf's branch, oldest first.
    fn path(&self) -> Vec<usize> {
        let parent = |at: &usize| self.entries[*at].parent;
        let mut path: Vec<usize> = std::iter::successors(self.leaf, parent).collect();
        path.reverse();
        path
    }

    fn any_id(&mut self) -> String {
        match self.entries.len() {
            0 => "ffffffff".to_owned(),
            length => self.entries[self.writer.random.below(length)].id.clone(),
        }
    }

    fn recent_id(&mut self) -> String {
        let path = self.path();
        match path.len() {
            0 => "ffffffff".to_owned(),
            length => self.entries[path[length - 1 - self.writer.random.below(length.min(20))]].id.clone(),
        }
    }
}

/// Stands for the id of the entry that holds it until that is known.
const OWN_ID: &str = "OWN-ID-OF-THE-ENTRY";
