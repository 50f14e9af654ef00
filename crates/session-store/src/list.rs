//! Lists of sessions.
//!
//! Each file is read once, line by line; what is kept of it is one summary.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use compaction_core::entry::{EntryKind, Role, epoch_milliseconds};
use compaction_core::json::{self, RawObject};
use compaction_core::message::{Body, Message};

use crate::error::StoreError;
use crate::file_log::FileLog;
use crate::header::FoundHeader;
use crate::log::{Line, SessionLog};
use crate::paths;
use crate::session::labels::clean_name;
use crate::store::{Cursor, ListOptions, SessionPage, SessionSummary};

/// Characters of the first message that a list holds at most.
const FIRST_MESSAGE_CHARACTERS: usize = 1000;

/// One page of the sessions that `options` ask for.
pub(crate) fn list(agent_dir: &Path, options: &ListOptions) -> Result<SessionPage, StoreError> {
    let mut filter = Filter::new(options);
    let files = files(agent_dir, options)?;
    let mut sessions: Vec<SessionSummary> =
        files.iter().filter_map(|path| summarize(path, &mut |cwd| filter.accepts(cwd))).collect();
    sessions.sort_by_key(|summary| (Reverse(summary.modified), summary.path.clone()));
    if let Some(cursor) = &options.cursor {
        let place = |summary: &SessionSummary| (Reverse(summary.modified), summary.path.clone());
        sessions.retain(|summary| place(summary) > (Reverse(cursor.modified), cursor.path.clone()));
    }
    let limit = options.limit.unwrap_or(usize::MAX);
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    let last = sessions.last().filter(|_| has_more);
    let next = last.map(|summary| Cursor { modified: summary.modified, path: summary.path.clone() });
    Ok(SessionPage { sessions, next })
}

/// Which working directories are asked for; canonical paths are looked up once each.
struct Filter<'a> {
    options: &'a ListOptions,
    known: HashMap<String, bool>,
}

impl<'a> Filter<'a> {
    fn new(options: &'a ListOptions) -> Self {
        Self { options, known: HashMap::new() }
    }

    /// Old files without a working directory belong to the directory that they lie in.
    fn accepts(&mut self, cwd: &str) -> bool {
        if self.options.all || (cwd.is_empty() && self.options.session_dir.is_none()) {
            return true;
        }
        let wanted = &self.options.cwd;
        *self.known.entry(cwd.to_owned()).or_insert_with(|| paths::is_same_directory(cwd, wanted))
    }
}

/// The files that may be sessions, each once, whatever links lead to it (field bug 21).
fn files(agent_dir: &Path, options: &ListOptions) -> Result<Vec<PathBuf>, StoreError> {
    let directories = match &options.session_dir {
        Some(directory) => vec![directory.clone()],
        None if options.all => children(&agent_dir.join("sessions"))?,
        None => vec![paths::directory(agent_dir, &options.cwd)],
    };
    let mut seen = HashSet::new();
    for directory in directories.iter().filter(|directory| directory.is_dir()) {
        let candidates =
            children(directory)?.into_iter().filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
        seen.extend(candidates.filter_map(|path| fs::canonicalize(path).ok()));
    }
    Ok(seen.into_iter().collect())
}

fn children(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(StoreError::Io { action: "list", path: Some(directory.to_owned()), source }),
    }
}

/// The summary of a file; `None` if it is no session, cannot be read, or is not `wanted`.
fn summarize(path: &Path, wanted: &mut dyn FnMut(&str) -> bool) -> Option<SessionSummary> {
    let log = FileLog::open_read_only(path).ok()?;
    let mut summary: Option<SessionSummary> = None;
    let scanned = log.scan(0, &mut |line| {
        if let Some(summary) = &mut summary {
            add_line(summary, line);
            return ControlFlow::Continue(());
        }
        match begin(path, line, wanted) {
            Begin::Broken => ControlFlow::Continue(()),
            Begin::Unwanted => ControlFlow::Break(()),
            Begin::Header(found) => {
                summary = Some(*found);
                ControlFlow::Continue(())
            }
        }
    });
    if let Err(error) = scanned {
        tracing::debug!(%error, path = %path.display(), "left out of the list");
        return None;
    }
    summary
}

enum Begin {
    /// The line is no JSON object; the header may follow.
    Broken,
    Unwanted,
    Header(Box<SessionSummary>),
}

fn begin(path: &Path, line: Line<'_>, wanted: &mut dyn FnMut(&str) -> bool) -> Begin {
    let text = String::from_utf8_lossy(line.bytes);
    if crate::line::LineHeader::read(&text).is_none() {
        return Begin::Broken;
    }
    let Ok(FoundHeader { header, .. }) = FoundHeader::read(&text) else {
        return Begin::Unwanted;
    };
    if !wanted(&header.cwd) {
        return Begin::Unwanted;
    }
    Begin::Header(Box::new(SessionSummary {
        path: path.to_owned(),
        session_id: header.id,
        cwd: header.cwd,
        name: None,
        parent_session: header.parent_session,
        modified: epoch_milliseconds(&header.timestamp).unwrap_or(0),
        created: header.timestamp,
        message_count: 0,
        first_message: String::new(),
    }))
}

/// Adds what an entry says of the session. Bodies are passed over, but for the first message.
fn add_line(summary: &mut SessionSummary, line: Line<'_>) {
    let text = String::from_utf8_lossy(line.bytes);
    let Ok(object) = RawObject::parse(&text) else {
        return;
    };
    match object.string("type").as_deref().map(EntryKind::from_name) {
        Some(EntryKind::SessionInfo) => {
            summary.name = object.string("name").and_then(|name| clean_name(&name));
        }
        Some(EntryKind::Message) => add_message(summary, &object),
        _ => {}
    }
}

fn add_message(summary: &mut SessionSummary, entry: &RawObject<'_>) {
    summary.message_count += 1;
    let Some(Ok(message)) = entry.get("message").map(RawObject::parse) else {
        return;
    };
    let role = message.string("role").map(|role| Role::from_name(&role));
    if matches!(role, Some(Role::User | Role::Assistant)) {
        let stored = message.get("timestamp").and_then(|time| time.parse::<f64>().ok()).map(|time| time as i64);
        let time = stored.or_else(|| epoch_milliseconds(&entry.string("timestamp")?));
        summary.modified = summary.modified.max(time.unwrap_or(i64::MIN));
    }
    if role == Some(Role::User) && summary.first_message.is_empty() {
        summary.first_message = first_message(&message);
    }
}

fn first_message(message: &RawObject<'_>) -> String {
    let raw = json::raw_value(message.to_json());
    let text = raw.map(|raw| match Message::from_raw(raw).body() {
        Body::User { content } => content.text(" ").into_owned(),
        _ => String::new(),
    });
    text.unwrap_or_default().chars().take(FIRST_MESSAGE_CHARACTERS).collect()
}
