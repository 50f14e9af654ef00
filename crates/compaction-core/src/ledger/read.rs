//! Reading a stored ledger: item by item, whatever else the details hold.

use super::notes::{Note, NoteKind};
use super::plan::STATES;
use super::selection::SharedVocabulary;
use super::statements::LONGEST;
use super::store::SHARES;
use super::text::clip_middle;
use super::{
    CommandRecord, ErrorRecord, FileRecord, LatestPlan, Ledger, LeftOut, NameRecord, Outcome, Places, Request,
    RequestWeight, Sources, Statement, VERSION, Voice,
};
use crate::entry::EntryId;
use crate::json::Json;
use crate::tools::PlanItem;

/// Items of one list that are read.
const MOST_ITEMS: usize = 4096;
/// The largest number that is believed: the largest whole one that JavaScript holds.
const LARGEST: u64 = (1 << 53) - 1;

impl Ledger {
    /// The ledger in the `details` of a compaction, at `compactd.ledger`. `None` if there is none or
    /// a later version wrote it; items and members of the wrong kind are passed over one by one.
    pub fn read(details: &str) -> Option<Self> {
        let details = Json::parse(details).ok()?;
        Self::from_json(details.get("compactd")?.get("ledger")?)
    }

    /// The ledger in its stored form.
    pub fn from_json(json: &Json<'_>) -> Option<Self> {
        if number(json, "version") != VERSION {
            return None;
        }
        let mut ledger = Self {
            messages: number(json, "messages"),
            answered: number(json, "answered"),
            is_waiting: flag(json, "isWaiting"),
            requests: list(json, "requests", request),
            files: list(json, "files", file),
            commands: list(json, "commands", command),
            errors: list(json, "errors", error),
            paths: list(json, "paths", name),
            identifiers: list(json, "identifiers", name),
            pinned: ids(json, "pinned"),
            statements: statements(json),
            vocabulary: SharedVocabulary::default(),
            notes: Vec::new(),
            plan: plan(json),
            left_out: left_out(json),
        };
        for (kind, member) in NoteKind::ALL {
            ledger.notes.extend(list(json, member, |item| note(kind, item)));
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

fn request(json: &Json<'_>) -> Option<Request> {
    let weight = match text(json, "weight").as_deref() {
        Some("topic") => RequestWeight::Topic,
        Some("reply") => RequestWeight::Reply,
        _ => RequestWeight::Work,
    };
    Some(Request { text: text(json, "text")?, weight, position: number(json, "at"), sources: sources(json) })
}

/// The statements, which are stored message by message.
fn statements(json: &Json<'_>) -> Vec<Statement> {
    let Some(Json::Array(messages)) = json.get("statements") else { return Vec::new() };
    let mut statements = Vec::new();
    for message in messages.iter().take(MOST_ITEMS) {
        let name = text(message, "by").unwrap_or_default();
        let voice = Voice::ALL.iter().find(|(_, own)| *own == name).map_or(Voice::Remark, |(voice, _)| *voice);
        let (position, sources) = (number(message, "at"), sources(message));
        let Some(Json::Array(said)) = message.get("said") else { continue };
        for (number, text) in (number(message, "number")..).zip(said.iter().take(MOST_ITEMS).filter_map(Json::as_str)) {
            // Others may have written longer ones.
            let text = clip_middle(text, LONGEST);
            statements.push(Statement { voice, text, number, position, sources: sources.clone() });
        }
    }
    statements
}

fn left_out(json: &Json<'_>) -> LeftOut {
    let mut left_out = LeftOut::default();
    let counts = json.get("leftOut");
    for (list, _) in SHARES {
        left_out.add(list, counts.map_or(0, |counts| number(counts, list)));
    }
    left_out
}

fn plan(json: &Json<'_>) -> LatestPlan {
    let Some(plan) = json.get("plan") else { return LatestPlan::default() };
    let item = |json: &Json<'_>| {
        let name = text(json, "state")?;
        let (status, _) = STATES.iter().find(|(_, own)| *own == name)?;
        Some(PlanItem { id: text(json, "id"), text: text(json, "text")?, status: *status })
    };
    LatestPlan { items: list(plan, "tasks", item), position: number(plan, "at") }
}

fn note(kind: NoteKind, json: &Json<'_>) -> Option<Note> {
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

fn file(json: &Json<'_>) -> Option<FileRecord> {
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
        sources: sources(json),
    })
}

fn command(json: &Json<'_>) -> Option<CommandRecord> {
    let outcome = match text(json, "outcome").as_deref() {
        Some("succeeded") => Outcome::Succeeded,
        Some("failed") => Outcome::Failed,
        _ => Outcome::Open,
    };
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

fn error(json: &Json<'_>) -> Option<ErrorRecord> {
    Some(ErrorRecord {
        subject: text(json, "subject"),
        line: text(json, "line")?,
        is_resolved: flag(json, "isResolved"),
        times: times(json),
        position: number(json, "at"),
        sources: sources(json),
    })
}

fn name(json: &Json<'_>) -> Option<NameRecord> {
    let places = Places::from_letters(&text(json, "in").unwrap_or_default());
    let (name, times, position) = (text(json, "name")?, times(json), number(json, "at"));
    Some(NameRecord { name, times, position, places, sources: sources(json) })
}

/// A string with something in it.
fn text(json: &Json<'_>, key: &str) -> Option<String> {
    json.get(key).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A whole number; anything else is 0, what is too large the largest that counts.
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
