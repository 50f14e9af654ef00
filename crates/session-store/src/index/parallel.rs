//! The scan of a large file by several threads: the search through bodies takes most of the time, and
//! needs nothing that came before.
//!
//! The file is split into segments. A line belongs to the segment that it begins in. Each thread
//! reads every n-th segment, and one takes in what they found, in the order of the file.

use std::cell::Cell;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{io, thread};

use compaction_core::entry::Role;
use memchr::memchr;

use super::ids::IdText;
use super::{Index, quick};
use crate::log::lines::CUT_BYTES;
use crate::log::{Line, SessionLog, Span};

/// Bytes of a segment; a smaller file is not worth another thread.
pub(super) const SEGMENT_BYTES: u64 = 16 << 20;
/// Threads at most; reading is soon bound by memory.
const MAX_THREADS: usize = 4;
/// Lines that are handed over at once, and how often that may be ahead.
const BATCH_LINES: usize = 1 << 10;
const BATCHES_AHEAD: usize = 64;
/// Bytes that are searched at once for where a segment's first line begins.
const SEARCH_BYTES: u64 = 1 << 16;

/// A line with its end.
struct Found {
    span: Span,
    plain: Option<Plain>,
}

/// What the line of a plain message says.
struct Plain {
    id: IdText,
    parent: Option<IdText>,
    role: Role,
}

enum Progress {
    Lines(Vec<Found>),
    /// The segment is done.
    End(io::Result<()>),
}

/// How many threads read a log at once. A log in memory is no faster for them, and holes are passed over
/// at once by one.
pub(super) fn threads(log: &dyn SessionLog, end: u64) -> usize {
    if log.locator().is_none() || end < 2 * SEGMENT_BYTES || log.has_holes() {
        return 1;
    }
    thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

impl Index {
    /// Reads the lines that begin before `end` into an index that knows nothing yet, by `threads`
    /// threads and this one. A last line without its end is left out.
    pub(super) fn scan_in_parallel(
        &mut self,
        log: &dyn SessionLog,
        end: u64,
        segment: u64,
        threads: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let segments = usize::try_from(end.div_ceil(segment)).map_err(io::Error::other)?;
        thread::scope(|scope| {
            let start = |first: usize| {
                let (sender, receiver) = sync_channel(BATCHES_AHEAD);
                let of_thread = (first..segments).step_by(threads);
                scope.spawn(move || read_segments(log, of_thread, segment, end, &sender));
                receiver
            };
            let receivers: Vec<Receiver<Progress>> = (0..threads).map(start).collect();
            for number in 0..segments {
                if self.take_segment(log, &receivers[number % threads], is_cancelled)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn take_segment(
        &mut self,
        log: &dyn SessionLog,
        found: &Receiver<Progress>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<ControlFlow<()>> {
        loop {
            if is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match found.recv().map_err(io::Error::other)? {
                Progress::End(outcome) => return outcome.map(ControlFlow::Continue),
                Progress::Lines(lines) => {
                    for line in lines {
                        if self.take(log, line)?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                }
            }
        }
    }

    fn take(&mut self, log: &dyn SessionLog, Found { span, plain }: Found) -> io::Result<ControlFlow<()>> {
        match plain.filter(|_| self.takes_plain_lines() && !self.is_full() && span.length <= self.max_line as u64) {
            Some(Plain { id, parent, role }) => {
                let (id, parent) = (self.ids.key_of(id), parent.map(|id| self.ids.key_of(id)));
                self.push_plain(span, id, parent, role);
                Ok(ControlFlow::Continue(()))
            }
            None => {
                let is_cut = span.length > self.hold() as u64;
                let length = if is_cut { span.length.min(CUT_BYTES as u64) } else { span.length };
                let bytes = log.read(Span { length, ..span })?;
                Ok(self.read_line(Line { span, bytes: &bytes, is_terminated: true, is_cut }))
            }
        }
    }
}

/// Reads segments until they are done or nobody wants them any more.
fn read_segments(
    log: &dyn SessionLog,
    segments: impl Iterator<Item = usize>,
    segment: u64,
    end: u64,
    sender: &SyncSender<Progress>,
) {
    for number in segments {
        let start = number as u64 * segment;
        let outcome = read_segment(log, start, end.min(start + segment), sender);
        if sender.send(Progress::End(outcome)).is_err() {
            return;
        }
    }
}

fn read_segment(log: &dyn SessionLog, start: u64, end: u64, sender: &SyncSender<Progress>) -> io::Result<()> {
    let Some(first) = first_line(log, start, end)? else {
        return Ok(());
    };
    let mut lines = Vec::with_capacity(BATCH_LINES);
    // Longer lines are read again, one at a time.
    log.scan(first, &Cell::new(SEGMENT_BYTES as usize), &mut |line| {
        if line.span.offset >= end || !line.is_terminated {
            return ControlFlow::Break(());
        }
        lines.push(Found {
            span: line.span,
            plain: Some(line).filter(|line| !line.is_cut).and_then(|line| plain(line.bytes)),
        });
        let is_full = lines.len() == BATCH_LINES;
        let is_wanted = !is_full || sender.send(Progress::Lines(std::mem::take(&mut lines))).is_ok();
        if is_wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    // Where nobody listens any more the end says so.
    let _ = sender.send(Progress::Lines(lines));
    Ok(())
}

/// Where the first line begins that begins from `start` on and before `end`.
fn first_line(log: &dyn SessionLog, start: u64, end: u64) -> io::Result<Option<u64>> {
    if start == 0 {
        return Ok(Some(0));
    }
    let mut from = start - 1;
    while from + 1 < end {
        let length = SEARCH_BYTES.min(end - 1 - from);
        let bytes = log.read(Span { offset: from, length })?;
        if let Some(at) = memchr(b'\n', &bytes) {
            return Ok(Some(from + at as u64 + 1));
        }
        from += length;
    }
    Ok(None)
}

fn plain(line: &[u8]) -> Option<Plain> {
    let header = quick::read(line)?;
    Some(Plain { id: IdText::new(header.id), parent: header.parent_id.map(IdText::new), role: header.role })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MemoryLog;
    use crate::index::Reading;

    fn shown(index: &Index) -> String {
        let records: Vec<_> = index.records_from(0).collect();
        let (last, end, refusal) = (index.last(), index.end(), index.refusal);
        format!("{records:?} {last:?} {end} {refusal:?} {:?}", index.diagnostics.as_slice())
    }

    fn lines() -> impl Strategy<Value = String> {
        let message = |id: &str, parent: &str, more: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"T","message":{{"role":"user"{more}}}}}"#
            )
        };
        let id = prop::sample::select(vec!["0000000a", "0000000b", "0000000c", "longer than eight", "x"]);
        let parent = prop::sample::select(vec!["null", "\"0000000a\"", "\"x\"", "\"nowhere\""]);
        let more =
            prop::sample::select(vec!["", ",\"content\":\"words\"", ",\"role\":\"system\"", ",\"content\":\"cut"]);
        let line = prop_oneof![
            8 => (id, parent, more).prop_map(move |(id, parent, more)| message(id, parent, more)),
            1 => Just(r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#.to_owned()),
            1 => Just(r#"{"type":"session_info","id":"n","parentId":null,"timestamp":"T","name":"N"}"#.to_owned()),
            1 => prop::sample::select(vec!["", "{", "   ", "7"]).prop_map(str::to_owned),
        ];
        prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

        #[test]
        fn several_threads_find_what_one_finds(
            text in lines(),
            has_header in any::<bool>(),
            is_ended in any::<bool>(),
            segment in 1..400u64,
            threads in 1..4usize,
            max_line in prop_oneof![60..200usize, Just(1 << 20)],
        ) {
            let header = r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#;
            let start = if has_header { format!("{header}\n") } else { String::new() };
            let text = format!("{start}{text}{}", if is_ended { "\n" } else { "" });
            let log = MemoryLog::new(text.into_bytes());
            let alone = Index::build(&log, Reading::Headers, u64::MAX, max_line).unwrap();
            let together = Index::build_in_parallel(&log, u64::MAX, segment, threads, max_line, &|| false).unwrap();
            prop_assert_eq!(shown(&together), shown(&alone));
        }
    }
}
