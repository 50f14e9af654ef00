//! Lists of sessions.
//!
//! A list needs facts from all over a file: how many messages there are, when the last of them came,
//! the newest name. So each file is read once from its start to its end, by as many threads as
//! there are cores, and what was found is kept until the file changes.

pub(crate) mod cache;
mod cache_file;
pub(crate) mod files;
mod filter;
mod lines;
mod shallow;
mod stamp;
mod summarize;
mod workers;

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use crate::error::StoreError;
use crate::list::cache::{Known, ListCache, What};
use crate::list::files::Candidate;
use crate::list::filter::Filter;
use crate::store::{Cursor, ListOptions, SessionPage, SessionSummary};

pub(crate) use files::candidates;
pub(crate) use lines::{Limits, LineReader};
pub(crate) use workers::for_each_in_parallel;

/// One page of the sessions that `options` ask for. Where the work is cancelled, some are missing.
pub(crate) fn list(
    agent_dir: &Path,
    cache: &ListCache,
    options: &ListOptions,
    limits: Limits<'_>,
) -> Result<SessionPage, StoreError> {
    let files = files::candidates(agent_dir, options)?;
    let filter = Filter::new(options);
    let mut sessions = summaries(&files, cache, &filter, limits);
    cache.settle(&files);
    sessions.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
    if let Some(cursor) = &options.cursor {
        sessions.retain(|summary| place(summary) > (Reverse(cursor.modified), cursor.locator.as_path()));
    }
    Ok(page(&sessions, options.limit.unwrap_or(usize::MAX)))
}

/// Where a session comes in a list: newest activity first.
fn place(summary: &SessionSummary) -> (Reverse<i64>, &Path) {
    (Reverse(summary.modified), summary.locator.as_path())
}

fn page(sessions: &[Arc<SessionSummary>], limit: usize) -> SessionPage {
    let (page, rest) = sessions.split_at(limit.min(sessions.len()));
    let last = page.last().filter(|_| !rest.is_empty());
    let next = last.map(|summary| Cursor { modified: summary.modified, locator: summary.locator.clone() });
    SessionPage { sessions: page.iter().map(|summary| SessionSummary::clone(summary)).collect(), next }
}

/// The summaries of those of `files` that are asked for: known ones, and the rest read now.
fn summaries(
    files: &[Candidate],
    cache: &ListCache,
    filter: &Filter<'_>,
    limits: Limits<'_>,
) -> Vec<Arc<SessionSummary>> {
    let mut sessions = Vec::with_capacity(files.len());
    let mut unread = Vec::new();
    for file in files {
        match cache.get(file) {
            Some(known) if known.is_good_for(file, filter) => sessions.extend(wanted(&known, filter)),
            known => unread.push((file, known)),
        }
    }
    // The largest first, so that none of them is left for the end, when the other threads are idle.
    unread.sort_unstable_by_key(|(file, _)| Reverse(file.stamp.length));
    let bytes = unread.iter().map(|(file, _)| file.stamp.length).sum();
    let found = for_each_in_parallel(&unread, bytes, limits, |(file, known), reader| {
        summarize::read(&file.path, known.as_ref(), filter, reader)
    });
    for ((file, _), known) in unread.iter().zip(found) {
        let Some((known, bytes)) = known else { continue };
        sessions.extend(wanted(&known, filter));
        cache.insert(file.path.clone(), known, bytes);
    }
    sessions
}

fn wanted(known: &Known, filter: &Filter<'_>) -> Option<Arc<SessionSummary>> {
    match &known.what {
        What::Session { summary, .. } => filter.accepts(&summary.cwd).then(|| Arc::clone(summary)),
        What::Elsewhere { .. } | What::NoSession => None,
    }
}
