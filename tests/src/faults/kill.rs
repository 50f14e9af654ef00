//! A server that is killed at random moments, and a model that knows what it had acknowledged.
//!
//! Each run asks for changes one after the other, then for several at once, and kills the server
//! while it works on them. Then the file must hold all that was there before, byte for byte and in
//! order, all that was acknowledged or announced, and nothing that was not asked for.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use session_store::{Diagnostic, DiagnosticKind, Durability, FileStore, Locator, OpenOptions, SessionStore};

use super::peer::Peer;
use crate::generate::random::Random;

/// Runs on one file; then the next file begins.
const RUNS_PER_FILE: u64 = 8;

/// What the runs came to.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    /// Servers that were killed.
    pub runs: u64,
    /// Changes that were acknowledged, all of which were found again.
    pub acknowledged: u64,
    /// Changes that were written and not yet acknowledged.
    pub in_flight: u64,
    /// Files that ended in the middle of a line.
    pub torn: u64,
    /// Forks that were complete.
    pub forks: u64,
    /// Files of an older version that were rewritten.
    pub migrated: u64,
}

/// Kills `runs` servers; `seed` decides what they do.
///
/// # Errors
/// At the first run after which anything is lost, rewritten or added.
pub fn kill_servers(runs: u64, seed: u64) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    while tally.runs < runs {
        let file_seed = seed.wrapping_add(tally.runs);
        let mut file = KilledFile::new(file_seed)?;
        for _ in 0..RUNS_PER_FILE.min(runs - tally.runs) {
            let run = tally.runs;
            file.run(&mut tally).with_context(|| format!("run {run} of seed {seed}, file of seed {file_seed}"))?;
            tally.runs += 1;
        }
    }
    Ok(tally)
}

/// A session file whose servers are killed.
struct KilledFile {
    home: tempfile::TempDir,
    path: PathBuf,
    random: Random,
    /// Number of texts so far, so that each is said once.
    texts: u64,
    /// The file in its older version, until it was migrated.
    old: Option<Vec<u8>>,
    /// Lines that a kill cut off; the next append closed them, and they stay.
    torn: usize,
}

/// A change that was asked for.
struct Request {
    id: u64,
    /// What its line holds and no other line does.
    marks: Vec<String>,
}

impl KilledFile {
    fn new(seed: u64) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let path = home.path().join("s.jsonl");
        let mut random = Random::new(seed);
        let is_old = random.chance(300);
        fs::write(&path, if is_old { old_session() } else { new_session() })?;
        let old = if is_old { Some(fs::read(&path)?) } else { None };
        Ok(Self { home, path, random, texts: 0, old, torn: 0 })
    }

    fn run(&mut self, tally: &mut Tally) -> anyhow::Result<()> {
        let before = fs::read(&self.path)?;
        let durability = *self.random.pick(&["none", "checkpoint", "always"]);
        let mut peer = Peer::start(self.home.path(), durability)?;
        // The holder before was killed: the lock is free at once.
        let opened = peer.call("openSession", &json!({ "path": self.path }))?;
        ensure!(opened["readOnly"] == false, "the session is open for reading alone: {opened}");
        let session_id = opened["sessionId"].as_str().context("a session has an id")?.to_owned();
        let mut requests = Vec::new();
        for _ in 0..self.random.below(6) {
            let request = self.request(&mut peer, &session_id)?;
            let _refusals_are_fine = peer.answer(request.id)?;
            requests.push(request);
        }
        for _ in 0..self.random.below(12) {
            requests.push(self.request(&mut peer, &session_id)?);
        }
        sleep(Duration::from_micros(self.random.below(8000) as u64));
        let peer = peer.kill()?;
        self.check(&before, &peer, &requests, tally)?;
        self.check_forks(tally)
    }

    /// Asks for one change or another.
    fn request(&mut self, peer: &mut Peer, session_id: &str) -> anyhow::Result<Request> {
        self.texts += 1;
        let text = format!("text number {} of this file", self.texts);
        let known = known_ids(&fs::read(&self.path)?);
        let target = if known.is_empty() { String::new() } else { self.random.pick(&known).clone() };
        let (method, mark, params) = match self.random.below(20) {
            0..12 => ("appendMessage", text.clone(), json!({ "message": self.message(&text) })),
            12..14 => ("setLabel", text.clone(), json!({ "targetId": target, "label": text })),
            14..16 => {
                ("appendEntry", text.clone(), json!({ "entry": { "type": "custom", "customType": "t", "data": text } }))
            }
            16 => ("navigateTree", "compactd.navigation".to_owned(), json!({ "targetId": target })),
            17 => ("forkSession", String::new(), json!({ "entryId": target, "position": "at" })),
            18 => ("setSessionName", text.clone(), json!({ "name": text })),
            _ => ("compact", "\"type\":\"compaction\"".to_owned(), json!({})),
        };
        let mut params = params;
        params["sessionId"] = json!(session_id);
        let id = peer.send(method, &params)?;
        Ok(Request { id, marks: Some(mark).filter(|mark| !mark.is_empty()).into_iter().collect() })
    }

    fn message(&mut self, text: &str) -> Value {
        // Large ones are cut by the kill now and then.
        let padding = if self.random.chance(60) { 3 << 20 } else { self.random.below(3000) };
        let content = format!("{text}. {}", "é x\u{2028}\"\\ ".repeat(padding / 10));
        json!({ "role": "user", "content": content, "timestamp": 1 })
    }

    fn check(&mut self, before: &[u8], peer: &Peer, requests: &[Request], tally: &mut Tally) -> anyhow::Result<()> {
        let after = fs::read(&self.path)?;
        let kept = self.kept(before, &after, tally)?;
        let mut added = &after[kept..];
        if !before.ends_with(b"\n") && added.first() == Some(&b'\n') {
            added = &added[1..];
        }
        let torn = added.iter().rposition(|&byte| byte == b'\n').map_or(added.len(), |end| added.len() - end - 1);
        tally.torn += u64::from(torn > 0);
        self.torn += usize::from(torn > 0);
        let whole = std::str::from_utf8(&added[..added.len() - torn]).context("the new lines are text")?;
        let lines: Vec<&str> = whole.lines_by_lf().collect();
        check_announced(&lines, &peer.announced)?;
        check_requests(&lines, peer, requests, tally)?;
        self.check_opens(&lines)
    }

    /// How much of the file is what was there before; all of it, unless the file was migrated.
    fn kept(&mut self, before: &[u8], after: &[u8], tally: &mut Tally) -> anyhow::Result<usize> {
        if after.starts_with(before) {
            return Ok(before.len());
        }
        let old = self.old.take().context("old bytes were rewritten")?;
        ensure!(before == old, "a file was rewritten that was written to before");
        let backup = fs::read(self.path.with_file_name("s.jsonl.v1.bak")).context("a migrated file has a backup")?;
        ensure!(backup == old, "the backup is not the old file");
        tally.migrated += 1;
        // One line became one line.
        let ends = after.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1);
        ends.take(old.iter().filter(|byte| **byte == b'\n').count()).last().context("a migrated file has lines")
    }

    fn check_opens(&self, lines: &[&str]) -> anyhow::Result<()> {
        let store = FileStore::new(self.home.path(), Durability::None);
        let mut session = store.open(&Locator::from(&self.path), &OpenOptions::default())?;
        let is_cut = |kind| matches!(kind, DiagnosticKind::TornLastLine | DiagnosticKind::BrokenLine);
        let odd = session.diagnostics();
        let is_explained = odd.len() <= self.torn && odd.iter().all(|odd| is_cut(odd.kind));
        ensure!(is_explained, "{odd:?}, {} lines were cut off; {}", self.torn, self.shown(odd)?);
        for line in lines {
            let id = member(line, "id").context("an entry has an id")?;
            let stored = session.entry(&compaction_core::entry::EntryId::new(id))?;
            ensure!(stored.line() == *line, "an entry is read as it was written");
        }
        Ok(session.close()?)
    }

    /// The beginnings and ends of the lines that `odd` names.
    fn shown(&self, odd: &[Diagnostic]) -> anyhow::Result<String> {
        let file = fs::read(&self.path)?;
        let lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
        let ends = |line: &[u8]| {
            let (first, last) = (&line[..line.len().min(300)], &line[line.len().saturating_sub(300)..]);
            format!("{} bytes: {} … {}", line.len(), first.escape_ascii(), last.escape_ascii())
        };
        let named = odd.iter().filter_map(|odd| lines.get(odd.line?.checked_sub(1)?));
        Ok(named.map(|line| ends(line)).collect::<Vec<_>>().join("; "))
    }

    /// A fork is complete or absent.
    fn check_forks(&self, tally: &mut Tally) -> anyhow::Result<()> {
        for entry in fs::read_dir(self.home.path())? {
            let path = entry?.path();
            let is_session = path.extension().is_some_and(|extension| extension == "jsonl") && path != self.path;
            if is_session {
                check_fork(&path, &self.path, self.torn)?;
                fs::remove_file(&path)?;
                tally.forks += 1;
            }
        }
        Ok(())
    }
}

/// What was announced lies in the file, byte for byte and in order.
fn check_announced(lines: &[&str], announced: &[String]) -> anyhow::Result<()> {
    ensure!(lines.len() >= announced.len(), "{} entries were announced, {} are there", announced.len(), lines.len());
    for (line, announced) in lines.iter().zip(announced) {
        ensure!(line == announced, "announced was {announced:.200}, written was {line:.200}");
    }
    Ok(())
}

/// What was acknowledged lies in the file, and nothing that was not asked for.
fn check_requests(lines: &[&str], peer: &Peer, requests: &[Request], tally: &mut Tally) -> anyhow::Result<()> {
    let ids: HashSet<String> = lines.iter().filter_map(|line| member(line, "id")).collect();
    let mut unanswered: Vec<&str> = Vec::new();
    let mut acknowledged = HashSet::new();
    for request in requests {
        match peer.answers.get(&request.id) {
            None => unanswered.extend(request.marks.iter().map(String::as_str)),
            Some(Err(_)) => {}
            Some(Ok(result)) => {
                let id = ["entryId", "leafId"].iter().find_map(|member| result[member].as_str());
                let is_append = !request.marks.is_empty();
                if let Some(id) = id.filter(|_| is_append) {
                    let is_there = ids.contains(id)
                        || result["oldLeafId"] == result["leafId"] && result.get("oldLeafId").is_some();
                    ensure!(is_there, "entry {id} was acknowledged and is not there");
                    acknowledged.insert(id.to_owned());
                }
            }
        }
    }
    tally.acknowledged += acknowledged.len() as u64;
    for line in lines.iter().filter(|line| !member(line, "id").is_some_and(|id| acknowledged.contains(&id))) {
        let found = unanswered.iter().position(|mark| line.contains(mark));
        let place = found.with_context(|| format!("nobody asked for {line:.300}"))?;
        unanswered.swap_remove(place);
        tally.in_flight += 1;
    }
    Ok(())
}

/// Every line but header and labels is one of the source, and the file ends with a line. The entry that was asked for
/// may be one of the `torn` lines, whose ids can be read; the fork keeps it as it is and says so.
fn check_fork(fork: &Path, source: &Path, torn: usize) -> anyhow::Result<()> {
    let (text, source_text) = (fs::read_to_string(fork)?, String::from_utf8_lossy(&fs::read(source)?).into_owned());
    ensure!(text.ends_with('\n'), "a fork ends in the middle of a line");
    let store = FileStore::new(fork.parent().unwrap_or(fork), Durability::None);
    let session = store.open(&Locator::from(&fork), &OpenOptions { read_only: true, ..OpenOptions::default() })?;
    let odd = session.diagnostics();
    let is_cut = |odd: &Diagnostic| odd.kind == DiagnosticKind::BrokenLine;
    ensure!(odd.len() <= torn && odd.iter().all(is_cut), "a fork of a file with {torn} torn lines has {odd:?}");
    let ids: HashSet<String> = source_text.lines_by_lf().filter_map(|line| member(line, "id")).collect();
    let stray = text.lines_by_lf().skip(1).find(|line| !member(line, "id").is_some_and(|id| ids.contains(&id)));
    ensure!(stray.is_none(), "a fork holds {stray:?}");
    Ok(())
}

/// Ids of the entries of a file.
fn known_ids(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines_by_lf().skip(1).filter_map(|line| member(line, "id")).collect()
}

/// A string member near the start of a line, as our own lines have them.
fn member(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.get(..line.floor_char_boundary(200))?.split_once(&format!("\"{name}\":\""))?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}

trait Lines {
    /// Lines that end with LF alone: other line separators are text.
    fn lines_by_lf(&self) -> impl Iterator<Item = &str>;
}

impl Lines for str {
    fn lines_by_lf(&self) -> impl Iterator<Item = &str> {
        self.split('\n').filter(|line| !line.is_empty())
    }
}

fn new_session() -> String {
    let header = json!({ "type": "session", "version": 3, "id": "killed", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" });
    format!("{header}\n")
}

/// A session of version 1: no version, no ids.
fn old_session() -> String {
    let header = json!({ "type": "session", "id": "killed", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" });
    let message = |n: usize| {
        let message = json!({ "role": "user", "content": format!("old text {n}"), "timestamp": n });
        json!({ "type": "message", "timestamp": "2026-01-01T00:00:00.000Z", "message": message })
    };
    std::iter::once(header).chain((0..40).map(message)).map(|line| format!("{line}\n")).collect()
}
