//! The life of a session: turns, compactions, edits, branches and all that programs write between.

mod entries;

use compaction_core::entry::iso_timestamp;

use super::content::Writer;
use super::json::Members;
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
