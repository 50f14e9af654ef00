//! The stored form of a ledger: one JSON object, bounded in bytes (docs/ledger.md, "Stored form"). It is
//! read back tolerantly.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::constraints::lasts;
use super::notes::tells_work;
use super::results::ShownResult;
use super::selection::{Selection, SharedVocabulary};
use super::shown::{self, Shown};
use super::statements::LONGEST;
use super::steps::STATES;
use super::text::clip_middle;
use super::{
    CommandRecord, ErrorRecord, Failing, FileRecord, LastStep, LatestPlan, Ledger, LeftOut, NameRecord, NewestAnswer,
    Note, NoteKind, Outcome, Places, Request, RequestWeight, Sources, Statement, VERSION, VERSION_BESIDE, Voice,
};
use crate::entry::EntryId;
use crate::json::{Json, write_string};
use crate::text::utf16_len;
use crate::tools::{PlanItem, PlanStatus};

/// Bytes for member names and brackets, and for the directory of commands.
const FRAME: usize = 400;
/// Longest stored directory, in bytes.
const LONGEST_DIRECTORY: usize = 120;

/// Bytes for the pinned entries.
const PINNED_BYTES: usize = 64 * 16;

/// Percentage of the bytes that each list may use at first. The remaining bytes are then assigned in this order.
pub(super) const SHARES: [(&str, usize); 16] = [
    ("requests", 8),
    ("statements", 54),
    ("errors", 4),
    ("constraints", 8),
    ("files", 6),
    ("changes", 3),
    ("identifiers", 3),
    ("paths", 2),
    ("commands", 1),
    ("decisions", 3),
    ("steps", 1),
    ("open", 1),
    ("blocked", 1),
    ("done", 4),
    ("facts", 1),
    ("results", 0),
];

/// The items of one list. They are converted to JSON while there is room for them.
struct List<'a> {
    name: &'static str,
    /// The item at an index.
    item: Box<dyn Fn(usize) -> String + 'a>,
    /// The indexes of the items, the most important first.
    preferred: Vec<usize>,
    /// The first of the preferred items, as JSON.
    written: Vec<String>,
    /// Number of items that are stored.
    taken: usize,
    /// Number of items that were never selected.
    unchosen: usize,
    /// Indexes of items that are not counted when they are left out.
    idle: Vec<usize>,
    /// Number of items that earlier compactions left out.
    earlier: u64,
}

impl List<'_> {
    /// Bytes of the next item with its separator; `None` if there is none.
    fn next_cost(&mut self) -> Option<usize> {
        let index = *self.preferred.get(self.taken)?;
        if self.written.len() == self.taken {
            self.written.push((self.item)(index));
        }
        Some(self.written[self.taken].len() + 1)
    }

    fn take(&mut self, room: &mut usize) {
        while let Some(cost) = self.next_cost().filter(|cost| *cost <= *room) {
            *room -= cost;
            self.taken += 1;
        }
    }

    /// A member with the number of items that this compaction and earlier ones did not store.
    fn left_out(&self) -> Option<String> {
        let left: &[usize] = &self.preferred[self.taken..];
        let count = left.iter().filter(|index| !self.idle.contains(index)).count().saturating_add(self.unchosen);
        let count = (count as u64).saturating_add(self.earlier);
        (count > 0).then(|| format!("\"{}\":{count}", self.name))
    }

    fn write(&self, out: &mut String) {
        let mut chosen: Vec<(usize, &String)> =
            self.preferred[..self.taken].iter().copied().zip(&self.written).collect();
        chosen.sort_unstable();
        for (number, (_, item)) in chosen.into_iter().enumerate() {
            out.push(if number == 0 { '[' } else { ',' });
            out.push_str(item);
        }
        out.push(']');
    }
}

impl Ledger {
    /// The stored form in at most `max_bytes` bytes (a few hundred at least), with the most important
    /// and newest items of every list. The last request is whole unless it alone is too long.
    pub fn to_json(&self, max_bytes: usize) -> String {
        self.to_json_with(&Shown::default(), max_bytes)
    }

    /// As [`Self::to_json`], for storage beside the summary that was written from the ledger. Statements that are in
    /// the summary word for word are stored as places in it, so there is room for others. [`Self::read_beside`] needs
    /// the same summary.
    pub fn to_json_beside(&self, summary: &str, max_bytes: usize) -> String {
        // The last request and the plan are always stored.
        let last = self.requests.len().checked_sub(1).map_or(0, |index| self.request_item(index, max_bytes).len() + 1);
        let rest = max_bytes.saturating_sub(
            FRAME + self.plan_json(max_bytes / 10).len() + self.reply_json(max_bytes / 10).len() + last,
        );
        let most = rest.min(max_bytes.saturating_sub(FRAME) / 100 * share_of("statements"));
        self.to_json_with(&Shown::of(&self.statements, summary, most), max_bytes)
    }

    fn to_json_with(&self, shown: &Shown<'_>, max_bytes: usize) -> String {
        let mut lists = self.lists(shown, max_bytes);
        let plan = self.plan_json(max_bytes / 10) + &self.reply_json(max_bytes / 10) + &shown.member;
        let mut room = max_bytes.saturating_sub(FRAME + plan.len());
        // The last request is stored at any cost.
        if let Some(requests) = lists.first_mut()
            && let Some(cost) = requests.next_cost()
        {
            room = room.saturating_sub(cost);
            requests.taken = 1;
        }
        let budget = room + shown.member.len();
        for (list, (name, percent)) in lists.iter_mut().zip(SHARES) {
            let share = budget / 100 * percent;
            let share = if name == "statements" { share.saturating_sub(shown.member.len()) } else { share };
            let share = share.min(room);
            let mut left = share;
            list.take(&mut left);
            room -= share - left;
        }
        lists.iter_mut().for_each(|list| list.take(&mut room));
        let version = if shown.member.is_empty() { VERSION } else { VERSION_BESIDE };
        self.write(version, &plan, &lists, max_bytes)
    }

    fn write(&self, version: u64, plan: &str, lists: &[List<'_>], max_bytes: usize) -> String {
        let mut head = Members::default().number("version", version).number("messages", self.messages);
        head = head.number("answered", self.answered).flag("isWaiting", self.is_waiting);
        if let Some(directory) = self.directory.as_deref().filter(|path| path.len() <= LONGEST_DIRECTORY) {
            head = head.text("directory", directory);
        }
        let mut out = head.open();
        out.push_str(plan);
        for list in lists.iter().filter(|list| list.taken > 0) {
            out.push_str(",\"");
            out.push_str(list.name);
            out.push_str("\":");
            list.write(&mut out);
        }
        let left_out: Vec<String> = lists.iter().filter_map(List::left_out).collect();
        let left_out = format!(",\"leftOut\":{{{}}}", left_out.join(","));
        let has_room = out.len() + left_out.len() + PINNED_BYTES.min(self.pinned.len() * 16) < max_bytes;
        if lists.iter().any(|list| list.left_out().is_some()) && has_room {
            out.push_str(&left_out);
        }
        if !self.pinned.is_empty() {
            out.push_str(",\"pinned\":");
            write_strings(self.pinned.iter().rev().take(64).map(|id| id.as_str()), &mut out);
        }
        out.push('}');
        out
    }

    /// The opening of the newest answer as a member, if that fits into `max_bytes`.
    fn reply_json(&self, max_bytes: usize) -> String {
        let Some(reply) = &self.reply else { return String::new() };
        let member = Members::default().text("reply", reply).open().replacen('{', ",", 1);
        if member.len() <= max_bytes { member } else { String::new() }
    }

    /// The plan as a member, with as many tasks as fit into `max_bytes`, remaining tasks first.
    fn plan_json(&self, max_bytes: usize) -> String {
        let item = |item: &PlanItem| {
            let mut members = Members::default().text("text", &item.text).text("state", name_of(STATES, item.status));
            if let Some(id) = &item.id {
                members = members.text("id", id);
            }
            members.open() + "}"
        };
        let items: Vec<String> = self.plan.items.iter().map(item).collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|index| self.plan.items[*index].status == PlanStatus::Completed);
        let mut left = max_bytes;
        order.retain(|index| match left.checked_sub(items[*index].len() + 1) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        });
        order.sort_unstable();
        if order.is_empty() {
            return String::new();
        }
        let kept: Vec<&str> = order.into_iter().map(|index| items[index].as_str()).collect();
        format!(",\"plan\":{{\"at\":{},\"tasks\":[{}]}}", self.plan.position, kept.join(","))
    }

    fn lists(&self, shown: &Shown<'_>, max_bytes: usize) -> Vec<List<'_>> {
        let newest = |count: usize| (0..count).rev().collect::<Vec<_>>();
        let first = |count: usize| (0..count).collect::<Vec<_>>();
        let list = |(name, _): &(&'static str, usize)| -> List<'_> {
            let mut list = List {
                name,
                item: Box::new(|_| String::new()),
                preferred: Vec::new(),
                written: Vec::new(),
                taken: 0,
                unchosen: 0,
                idle: Vec::new(),
                earlier: self.left_out.of(name),
            };
            let (item, preferred): (Box<dyn Fn(usize) -> String>, _) = match *name {
                "requests" => {
                    list.idle = self.replies();
                    let item = move |index| self.request_item(index, max_bytes);
                    (Box::new(item), preferred_requests(self.requests.len()))
                }
                "statements" => {
                    let (items, count) = self.statement_items(shown, max_bytes);
                    list.unchosen = self.statements.len().saturating_sub(count + shown.count);
                    let newest = newest(items.len());
                    (Box::new(move |index| statement_group(&items[index])), newest)
                }
                "errors" => (each(&self.errors, error), order(&self.errors, |error| error.is_resolved)),
                "files" => (each(&self.files, file), order(&self.files, |file| !file.is_modified())),
                "identifiers" => (each(&self.identifiers, name_item), first(self.identifiers.len())),
                "paths" => (each(&self.paths, name_item), first(self.paths.len())),
                "commands" => (each(&self.commands, command), newest(self.commands.len())),
                // The calls themselves are listed as files and commands.
                "results" | "changes" => {
                    let own = if *name == "results" { &self.results } else { &self.changes };
                    list.idle = first(own.len());
                    (each(own, result), newest(own.len()))
                }
                name => {
                    let kind = named(NoteKind::ALL, name);
                    let notes: Vec<&Note> = self.notes.iter().filter(|note| Some(note.kind) == kind).collect();
                    // Finished work is told at any later time, and answered questions are not.
                    let is_minor = |note: &Note| note.is_minor && !tells_work(&note.text);
                    let order = order(&notes, |note| is_minor(note) || note.is_withdrawn || ends_with_task(note));
                    (Box::new(move |index| note(notes[index])), order)
                }
            };
            (list.item, list.preferred) = (item, preferred);
            list
        };
        SHARES.iter().map(list).collect()
    }

    /// The selected statements in groups of consecutive ones of a message, and their number. Statements that are in the
    /// summary are not among them.
    fn statement_items(&self, shown: &Shown<'_>, max_bytes: usize) -> (Vec<Vec<&Statement>>, usize) {
        let bytes: usize = self.statements.iter().map(|statement| statement.text.len()).sum();
        let units: usize = self.statements.iter().map(|statement| utf16_len(&statement.text)).sum();
        let room = max_bytes.saturating_sub(FRAME) / 100 * share_of("statements");
        let room = room.saturating_sub(shown.member.len());
        // Characters of some scripts take three bytes for one unit.
        let units = (room / 10 * 9).saturating_mul(units.max(1)) / bytes.max(1);
        let chosen = Selection { units, half_life: units.max(1), focus: None, quotes: usize::MAX }
            .choose(self, shown.summary.as_slice());
        let chosen: Vec<&Statement> = chosen.into_iter().map(|index| &self.statements[index]).collect();
        let follows = |left: &&Statement, right: &&Statement| {
            left.position == right.position && left.voice == right.voice && left.number + 1 == right.number
        };
        (chosen.chunk_by(follows).map(<[&Statement]>::to_vec).collect(), chosen.len())
    }

    /// The indexes of requests that ask for nothing.
    fn replies(&self) -> Vec<usize> {
        let is_reply =
            |(_, one): &(usize, &Request)| matches!(one.weight, RequestWeight::Answer | RequestWeight::Reply);
        self.requests.iter().enumerate().filter(is_reply).map(|(index, _)| index).collect()
    }

    /// A request. The last one is cut only if it would not fit alone.
    fn request_item(&self, index: usize, max_bytes: usize) -> String {
        let own = &self.requests[index];
        let item = request(own);
        let room = max_bytes.saturating_sub(FRAME) / 2;
        if index + 1 < self.requests.len() || item.len() <= room {
            return item;
        }
        // Escapes take up to six bytes for one unit.
        request(&Request { text: clip_middle(&own.text, room / 6), ..own.clone() })
    }
}

fn share_of(name: &str) -> usize {
    SHARES.iter().find(|(own, _)| *own == name).map_or(0, |(_, percent)| *percent)
}

/// The name with which a value is stored.
pub(super) fn name_of<T: PartialEq>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|(own, _)| *own == value).map_or("", |(_, name)| name)
}

/// The value with a stored name.
pub(super) fn named<T: Copy>(names: &[(T, &'static str)], name: &str) -> Option<T> {
    names.iter().find(|(_, own)| *own == name).map(|(value, _)| *value)
}

/// Consecutive statements of one message as JSON.
fn statement_group(statements: &[&Statement]) -> String {
    let Some(first) = statements.first() else { return String::new() };
    let mut members = Members::default().text("by", name_of(Voice::ALL, first.voice)).number("number", first.number);
    members.key("said");
    write_strings(statements.iter().map(|statement| statement.text.as_str()), &mut members.0);
    members.at(first.position, &first.sources)
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

/// Whether a note is a demand that does not say that it applies beyond its request.
fn ends_with_task(note: &Note) -> bool {
    note.kind == NoteKind::Constraint && !lasts(&note.text)
}

/// The newest first, with minor items after the others.
fn order<T>(items: &[T], is_minor: impl Fn(&T) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_cached_key(|index| (is_minor(&items[*index]), Reverse(*index)));
    order
}

/// A function that writes the item at an index.
fn each<'a, T>(items: &'a [T], item: fn(&T) -> String) -> Box<dyn Fn(usize) -> String + 'a> {
    Box::new(move |index| item(&items[index]))
}

fn request(request: &Request) -> String {
    let weight = name_of(RequestWeight::ALL, request.weight);
    let members = Members::default().text("text", &request.text).text("weight", weight);
    members.flag("isAnswered", request.is_answered).at(request.position, &request.sources)
}

fn note(note: &Note) -> String {
    let members = Members::default().text("text", &note.text).flag("isMinor", note.is_minor);
    members.flag("isWithdrawn", note.is_withdrawn).times(note.times).at(note.position, &note.sources)
}

fn file(file: &FileRecord) -> String {
    let members = Members::default().text("path", &file.path).number("read", file.read);
    let members = members.number("written", file.written).number("edited", file.edited);
    let members = members.number("changedAt", file.changed_at).number("deletedAt", file.deleted_at);
    members.at(file.position, &file.sources)
}

fn command(command: &CommandRecord) -> String {
    let outcome = name_of(Outcome::ALL, command.outcome);
    let mut members = Members::default().text("command", &command.command).flag("isCall", command.is_call);
    members = members.number("succeeded", command.succeeded).number("failed", command.failed).text("outcome", outcome);
    if let Some(error) = &command.last_error {
        members = members.text("lastError", error);
    }
    members.at(command.position, &command.sources)
}

fn result(result: &ShownResult) -> String {
    let members = Members::default().text("of", &result.target).text("text", &result.text);
    members.open() + "}"
}

fn error(error: &ErrorRecord) -> String {
    let mut members = Members::default();
    if let Some(subject) = &error.subject {
        members = members.text("subject", subject);
    }
    members = members.text("line", &error.line).flag("isResolved", error.is_resolved);
    // What failed before is out of date.
    if !error.is_resolved && !error.failing.names.is_empty() {
        members.key("failing");
        write_strings(error.failing.names.iter().map(String::as_str), &mut members.0);
        members = members.number("failingMore", error.failing.more);
    }
    if let Some(cause) = error.failing.cause_not_in(&error.line).filter(|_| !error.is_resolved) {
        members = members.text("failingCause", cause);
    }
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

    /// Adds the position and the entries, which end every item.
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

pub(super) fn write_strings<'a>(strings: impl Iterator<Item = &'a str>, out: &mut String) {
    out.push('[');
    for (number, string) in strings.enumerate() {
        if number > 0 {
            out.push(',');
        }
        write_string(string, out);
    }
    out.push(']');
}

/// Most items of one list that are read.
const MOST_ITEMS: usize = 4096;
/// The largest accepted number: the largest safe integer of JavaScript.
const LARGEST: u64 = (1 << 53) - 1;

impl Ledger {
    /// The ledger in the `details` of a compaction, at `compactd.ledger`. `None` if there is none or a
    /// later version wrote it. Items and members of the wrong type are skipped one by one.
    pub fn read(details: &str) -> Option<Self> {
        Self::read_beside(details, None)
    }

    /// As [`Self::read`], with the summary of the compaction, which contains a part of the statements. If another
    /// program has changed the summary since, its items become statements.
    pub fn read_beside(details: &str, summary: Option<&str>) -> Option<Self> {
        let details = Json::parse(details).ok()?;
        let json = details.get("compactd")?.get("ledger")?;
        let mut ledger = Self::from_json(json)?;
        if let (Some(summary), Some(shown)) = (summary, json.get("shown")) {
            let said = shown::read(shown, summary).unwrap_or_else(|| super::earlier_summary::statements(summary));
            ledger.statements.extend(said);
            // Calls and outcomes come after the words of the message.
            let is_action = |voice| matches!(voice, Voice::Action | Voice::Milestone);
            ledger.statements.sort_by_key(|one| (one.position, is_action(one.voice), one.number));
            let mut seen = HashSet::new();
            ledger.statements.retain(|one| seen.insert((one.position, one.number, one.text.clone())));
        }
        Some(ledger)
    }

    /// The ledger from its stored form, without the statements that only the summary contains.
    pub fn from_json(json: &Json<'_>) -> Option<Self> {
        if ![VERSION, VERSION_BESIDE].contains(&number(json, "version")) {
            return None;
        }
        let mut ledger = Self {
            messages: number(json, "messages"),
            answered: number(json, "answered"),
            is_waiting: flag(json, "isWaiting"),
            requests: list(json, "requests", read_request),
            files: list(json, "files", read_file),
            commands: list(json, "commands", read_command),
            directory: text(json, "directory"),
            errors: list(json, "errors", read_error),
            paths: list(json, "paths", read_name),
            identifiers: list(json, "identifiers", read_name),
            pinned: ids(json, "pinned"),
            statements: read_statements(json),
            results: list(json, "results", read_result),
            changes: list(json, "changes", read_result),
            vocabulary: SharedVocabulary::default(),
            newest_answer: NewestAnswer::default(),
            reply: text(json, "reply"),
            last_step: LastStep::default(),
            notes: Vec::new(),
            plan: read_plan(json),
            left_out: read_left_out(json),
        };
        for (kind, member) in NoteKind::ALL {
            ledger.notes.extend(list(json, member, |item| read_note(*kind, item)));
        }
        ledger.notes.sort_by_key(|note| note.position);
        Some(ledger)
    }
}

fn list<T>(json: &Json<'_>, key: &str, read: impl Fn(&Json<'_>) -> Option<T>) -> Vec<T> {
    match json.get(key) {
        Some(Json::Array(items)) => items.iter().take(MOST_ITEMS).filter_map(read).collect(),
        _ => Vec::new(),
    }
}

fn read_request(json: &Json<'_>) -> Option<Request> {
    let weight = text(json, "weight").and_then(|name| named(RequestWeight::ALL, &name)).unwrap_or(RequestWeight::Work);
    let (position, is_answered) = (number(json, "at"), flag(json, "isAnswered"));
    Some(Request { text: text(json, "text")?, weight, position, is_answered, sources: sources(json) })
}

/// The statements, which are stored grouped by message.
fn read_statements(json: &Json<'_>) -> Vec<Statement> {
    let Some(Json::Array(messages)) = json.get("statements") else { return Vec::new() };
    let mut statements = Vec::new();
    for message in messages.iter().take(MOST_ITEMS) {
        let name = text(message, "by").unwrap_or_default();
        let voice = named(Voice::ALL, &name).unwrap_or(Voice::Remark);
        let (position, sources) = (number(message, "at"), sources(message));
        let Some(Json::Array(texts)) = message.get("said") else { continue };
        for (number, text) in (number(message, "number")..).zip(texts.iter().take(MOST_ITEMS).filter_map(Json::as_str))
        {
            // Other programs may have written longer texts.
            let text = clip_middle(text, LONGEST);
            statements.push(Statement { voice, text, number, position, sources: sources.clone() });
        }
    }
    statements
}

fn read_left_out(json: &Json<'_>) -> LeftOut {
    let mut left_out = LeftOut::default();
    let counts = json.get("leftOut");
    for (list, _) in SHARES {
        left_out.add(list, counts.map_or(0, |counts| number(counts, list)));
    }
    left_out
}

fn read_plan(json: &Json<'_>) -> LatestPlan {
    let Some(plan) = json.get("plan") else { return LatestPlan::default() };
    let item = |json: &Json<'_>| {
        let name = text(json, "state")?;
        let status = named(STATES, &name)?;
        Some(PlanItem { id: text(json, "id"), text: text(json, "text")?, status, is_stated: true })
    };
    LatestPlan { items: list(plan, "tasks", item), position: number(plan, "at") }
}

fn read_note(kind: NoteKind, json: &Json<'_>) -> Option<Note> {
    let (is_minor, is_withdrawn, times) = (flag(json, "isMinor"), flag(json, "isWithdrawn"), times(json));
    Some(Note {
        kind,
        text: text(json, "text")?,
        is_minor,
        is_withdrawn,
        times,
        position: number(json, "at"),
        sources: sources(json),
    })
}

fn read_file(json: &Json<'_>) -> Option<FileRecord> {
    let count = |key| number(json, key);
    let (read, written, edited) = (count("read"), count("written"), count("edited"));
    let path = text(json, "path")?;
    Some(FileRecord {
        path,
        read,
        written,
        edited,
        position: count("at"),
        changed_at: count("changedAt"),
        deleted_at: count("deletedAt"),
        sources: sources(json),
    })
}

fn read_command(json: &Json<'_>) -> Option<CommandRecord> {
    let outcome = text(json, "outcome").and_then(|name| named(Outcome::ALL, &name)).unwrap_or_default();
    Some(CommandRecord {
        command: text(json, "command")?,
        is_call: flag(json, "isCall"),
        succeeded: number(json, "succeeded"),
        failed: number(json, "failed"),
        outcome,
        last_error: text(json, "lastError"),
        position: number(json, "at"),
        sources: sources(json),
    })
}

fn read_result(json: &Json<'_>) -> Option<ShownResult> {
    // Earlier versions stored a line of each change among the results.
    let is_change = flag(json, "isChange");
    Some(ShownResult::restored(&text(json, "of")?, &text(json, "text")?)).filter(|_| !is_change)
}

fn read_error(json: &Json<'_>) -> Option<ErrorRecord> {
    Some(ErrorRecord {
        subject: text(json, "subject"),
        line: text(json, "line")?,
        failing: Failing::restored(
            &list(json, "failing", |name| name.as_str().map(str::to_owned)),
            number(json, "failingMore"),
            &text(json, "failingCause").unwrap_or_default(),
        ),
        is_resolved: flag(json, "isResolved"),
        times: times(json),
        position: number(json, "at"),
        sources: sources(json),
    })
}

fn read_name(json: &Json<'_>) -> Option<NameRecord> {
    let places = Places::from_letters(&text(json, "in").unwrap_or_default());
    let (name, times, position) = (text(json, "name")?, times(json), number(json, "at"));
    Some(NameRecord { name, times, position, places, sources: sources(json) })
}

/// A string that is not empty.
fn text(json: &Json<'_>, key: &str) -> Option<String> {
    json.get(key).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A whole number. Anything else is 0, and larger numbers become [`LARGEST`].
fn number(json: &Json<'_>, key: &str) -> u64 {
    json.get(key).and_then(Json::as_f64).map_or(0, |number| (number as u64).min(LARGEST))
}

fn times(json: &Json<'_>) -> u64 {
    if json.get("times").is_some() { number(json, "times") } else { 1 }
}

fn flag(json: &Json<'_>, key: &str) -> bool {
    json.get(key).and_then(Json::as_bool).unwrap_or(false)
}

fn sources(json: &Json<'_>) -> Sources {
    let mut sources = Sources::default();
    ids(json, "from").iter().for_each(|id| sources.add(id));
    sources
}

fn ids(json: &Json<'_>, key: &str) -> Vec<EntryId> {
    match json.get(key) {
        Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).take(64).map(EntryId::new).collect(),
        _ => Vec::new(),
    }
}
