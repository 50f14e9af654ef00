//! The stored form of a ledger: one JSON object, bounded in bytes (decision 0021).

use std::cmp::Reverse;

use super::text::clip_middle;
use super::{
    CommandRecord, ErrorRecord, FileRecord, Ledger, NameRecord, Note, NoteKind, Outcome, Request, RequestWeight,
    Sources, VERSION,
};
use crate::json::write_string;

/// Bytes that names of members and brackets take.
const FRAME: usize = 400;

/// Part of the bytes in percent that each list may use before what is left is given out, in the
/// order in which it is given out.
const SHARES: [(&str, usize); 14] = [
    ("requests", 20),
    ("errors", 10),
    ("constraints", 8),
    ("files", 14),
    ("identifiers", 12),
    ("paths", 6),
    ("commands", 8),
    ("decisions", 6),
    ("steps", 3),
    ("open", 2),
    ("blocked", 2),
    ("done", 3),
    ("facts", 4),
    ("answers", 2),
];

/// The items of one list as JSON.
struct List {
    name: &'static str,
    /// In the order in which they are stored.
    items: Vec<String>,
    /// Their indexes, the most wanted first.
    preferred: Vec<usize>,
    /// How many of the preferred ones are stored.
    taken: usize,
}

impl List {
    fn take(&mut self, room: &mut usize) {
        while let Some(index) = self.preferred.get(self.taken) {
            let cost = self.items[*index].len() + 1;
            if cost > *room {
                return;
            }
            *room -= cost;
            self.taken += 1;
        }
    }

    fn write(&self, out: &mut String) {
        let mut chosen: Vec<usize> = self.preferred[..self.taken].to_vec();
        chosen.sort_unstable();
        for (number, index) in chosen.into_iter().enumerate() {
            out.push(if number == 0 { '[' } else { ',' });
            out.push_str(&self.items[index]);
        }
        out.push(']');
    }
}

impl Ledger {
    /// The stored form in at most `max_bytes` bytes (a few hundred at least): what is most telling,
    /// and the newest, of every list. The last request is whole unless it alone is too long.
    pub fn to_json(&self, max_bytes: usize) -> String {
        let mut lists = self.lists(max_bytes);
        let mut room = max_bytes.saturating_sub(FRAME);
        // The last request, whatever it costs.
        if let Some(requests) = lists.first_mut().filter(|list| !list.items.is_empty()) {
            let cost = requests.items[requests.preferred[0]].len() + 1;
            room = room.saturating_sub(cost);
            requests.taken = 1;
        }
        let budget = room;
        for (list, (_, percent)) in lists.iter_mut().zip(SHARES) {
            let share = budget / 100 * percent;
            let mut left = share;
            list.take(&mut left);
            room -= share - left;
        }
        lists.iter_mut().for_each(|list| list.take(&mut room));
        self.write(&lists)
    }

    fn write(&self, lists: &[List]) -> String {
        let mut head = Members::default().number("version", VERSION).number("messages", self.messages);
        head = head.number("answered", self.answered).flag("isWaiting", self.is_waiting);
        let mut out = head.open();
        for list in lists.iter().filter(|list| list.taken > 0) {
            out.push_str(",\"");
            out.push_str(list.name);
            out.push_str("\":");
            list.write(&mut out);
        }
        if !self.pinned.is_empty() {
            out.push_str(",\"pinned\":");
            write_strings(self.pinned.iter().rev().take(64).map(|id| id.as_str()), &mut out);
        }
        out.push('}');
        out
    }

    fn lists(&self, max_bytes: usize) -> Vec<List> {
        let newest = |count: usize| (0..count).rev().collect::<Vec<_>>();
        let first = |count: usize| (0..count).collect::<Vec<_>>();
        SHARES
            .iter()
            .map(|(name, _)| {
                let (items, preferred) = match *name {
                    "requests" => (self.request_items(max_bytes), preferred_requests(self.requests.len())),
                    "errors" => (all(&self.errors, error), order(&self.errors, |error| error.is_resolved)),
                    "files" => (all(&self.files, file), order(&self.files, |file| !file.is_modified())),
                    "identifiers" => (all(&self.identifiers, name_item), first(self.identifiers.len())),
                    "paths" => (all(&self.paths, name_item), first(self.paths.len())),
                    "commands" => (all(&self.commands, command), newest(self.commands.len())),
                    name => {
                        let kind = NoteKind::ALL.iter().find(|(_, own)| *own == name).map(|(kind, _)| *kind);
                        let notes: Vec<&Note> = self.notes.iter().filter(|note| Some(note.kind) == kind).collect();
                        (notes.iter().map(|item| note(item)).collect(), order(&notes, |note| note.is_minor))
                    }
                };
                List { name, items, preferred, taken: 0 }
            })
            .collect()
    }

    /// The requests; the last is cut only where it alone would not fit.
    fn request_items(&self, max_bytes: usize) -> Vec<String> {
        let mut items = all(&self.requests, request);
        let room = max_bytes.saturating_sub(FRAME) / 2;
        if let (Some(item), Some(last)) = (items.last_mut(), self.requests.last())
            && item.len() > room
        {
            // Escapes take up to six bytes for one unit.
            let text = clip_middle(&last.text, room / 6);
            *item = request(&Request { text, ..last.clone() });
        }
        items
    }
}

/// The last request, the first, then the newest ones.
fn preferred_requests(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).rev().collect();
    if count > 2
        && let Some(first) = order.pop()
    {
        order.insert(1, first);
    }
    order
}

/// The newest first, those that `is_minor` calls so behind the others.
fn order<T>(items: &[T], is_minor: impl Fn(&T) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|index| (is_minor(&items[*index]), Reverse(*index)));
    order
}

fn all<T>(items: &[T], item: impl Fn(&T) -> String) -> Vec<String> {
    items.iter().map(item).collect()
}

fn request(request: &Request) -> String {
    let weight = match request.weight {
        RequestWeight::Topic => "topic",
        RequestWeight::Work => "work",
        RequestWeight::Reply => "reply",
    };
    Members::default().text("text", &request.text).text("weight", weight).at(request.position, &request.sources)
}

fn note(note: &Note) -> String {
    let members = Members::default().text("text", &note.text).flag("isMinor", note.is_minor);
    members.times(note.times).at(note.position, &note.sources)
}

fn file(file: &FileRecord) -> String {
    let members = Members::default().text("path", &file.path).number("read", file.read);
    members.number("written", file.written).number("edited", file.edited).at(file.position, &file.sources)
}

fn command(command: &CommandRecord) -> String {
    let outcome = match command.outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
        Outcome::Open => "open",
    };
    let mut members = Members::default().text("command", &command.command).flag("isCall", command.is_call);
    members = members.number("succeeded", command.succeeded).number("failed", command.failed).text("outcome", outcome);
    if let Some(error) = &command.last_error {
        members = members.text("lastError", error);
    }
    members.at(command.position, &command.sources)
}

fn error(error: &ErrorRecord) -> String {
    let mut members = Members::default();
    if let Some(subject) = &error.subject {
        members = members.text("subject", subject);
    }
    members = members.text("line", &error.line).flag("isResolved", error.is_resolved);
    members.times(error.times).at(error.position, &error.sources)
}

fn name_item(name: &NameRecord) -> String {
    let members = Members::default().text("name", &name.name).times(name.times);
    members.text("in", &name.places.letters()).at(name.position, &name.sources)
}

/// The members of a JSON object under construction; zeros and `false` are left out.
#[derive(Default)]
struct Members(String);

impl Members {
    fn key(&mut self, key: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        write_string(key, &mut self.0);
        self.0.push(':');
    }

    fn text(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        write_string(value, &mut self.0);
        self
    }

    fn number(mut self, key: &str, value: u64) -> Self {
        if value > 0 {
            self.key(key);
            self.0.push_str(&value.to_string());
        }
        self
    }

    fn flag(mut self, key: &str, value: bool) -> Self {
        if value {
            self.key(key);
            self.0.push_str("true");
        }
        self
    }

    fn times(self, times: u64) -> Self {
        if times == 1 { self } else { self.number("times", times) }
    }

    /// The position and the entries, which end every item.
    fn at(self, position: u64, sources: &Sources) -> String {
        let mut members = self.number("at", position);
        if !sources.ids().is_empty() {
            members.key("from");
            write_strings(sources.ids().iter().map(|id| id.as_str()), &mut members.0);
        }
        members.0.push('}');
        members.0
    }

    /// The object without its closing bracket.
    fn open(self) -> String {
        self.0
    }
}

fn write_strings<'a>(strings: impl Iterator<Item = &'a str>, out: &mut String) {
    out.push('[');
    for (number, string) in strings.enumerate() {
        if number > 0 {
            out.push(',');
        }
        write_string(string, out);
    }
    out.push(']');
}
