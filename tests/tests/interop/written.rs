//! Files that we wrote, read by the peer: after each change it must see the same leaf and context.

use std::path::Path;

use anyhow::Context as _;
use compactd_tests::generate::{self, random::Random};
use compaction_core::json;

use super::check::{Check, KEEP_RECENT_TOKENS, same_ids};
use super::expected::expect;
use super::files;
use super::ours::Session;
use super::peer::{Peer, Questions};
use super::rules::Seen;
use super::server::object;

/// Changes that are made to one session.
const CHANGES: usize = 8;
/// Later than all that generated sessions hold, in epoch milliseconds.
const LATER: i64 = 1_763_700_000_000;

/// Changes the session of `seed` and lets the peer read it after each change.
pub(crate) fn seed(check: &mut Check, seed: u64) -> anyhow::Result<()> {
    let mut random = Random::new(seed ^ 0x0077_7269_7474_656e);
    let file = check.write(seed, "written", &files::for_us(&generate::session(seed).text).text)?;
    let copy = file.with_extension("copy");
    let (server, peer, seen) = (&mut check.server, &mut check.peer, &mut check.seen);
    let mut session = Session::open(server, &file)?;
    for _ in 0..CHANGES {
        let change = change(&mut session, &mut random)?;
        session.learn()?;
        let keep = *random.pick(&KEEP_RECENT_TOKENS);
        compare(&mut session, peer, &copy, keep, seen).with_context(|| format!("after {change}"))?;
    }
    fork(session, peer, &copy, &mut random, seen).context("after forkSession")
}

/// Makes one change; returns the method that made it.
fn change(session: &mut Session<'_>, random: &mut Random) -> anyhow::Result<&'static str> {
    let method = random.weighted(&[
        (6, "appendMessage"),
        (4, "appendEntry"),
        (2, "setLabel"),
        (2, "setSessionName"),
        (3, "compact"),
        (4, "navigateTree"),
    ]);
    let target = json::encode_string(&session.id(Some(random.below(session.ids().len())))?);
    let summary = object(&[("summary", "\"What was done so far, in a few words\""), ("details", DETAILS)]);
    let label = if random.chance(500) { "\"mark\"" } else { "null" };
    let outcome = match method {
        "appendMessage" => session.call(method, &[("message", &generate::message(random.bits(), LATER))]),
        "appendEntry" => session.call(method, &[("entry", &entry(random, &target))]),
        "setLabel" => session.call(method, &[("targetId", &target), ("label", label)]),
        "setSessionName" => session.call(method, &[("name", "\"a name\"")]),
        "compact" => {
            let keep = object(&[("keepRecentTokens", &random.pick(&KEEP_RECENT_TOKENS).to_string())]);
            session.call(method, &[("summary", &summary), ("settings", &keep)])
        }
        _ if random.chance(500) => {
            session.call(method, &[("targetId", &target), ("summarize", "true"), ("summary", &summary)])
        }
        _ => session.call(method, &[("targetId", &target)]),
    };
    match outcome {
        Err(error) if !is_refusal(&format!("{error:#}")) => Err(error),
        _ => Ok(method),
    }
}

const DETAILS: &str = r#"{"readFiles":["a.txt"],"modifiedFiles":["b.txt"]}"#;

/// Whether the server said that there is nothing to do, that the entry cannot be edited, or that no context would
/// show a block of this type.
fn is_refusal(error: &str) -> bool {
    let refusals = ["nothingToCompact", "alreadyCompacted", "\"path\":\"entry.targetId\"", "found `future`"];
    refusals.iter().any(|refusal| error.contains(refusal))
}

fn entry(random: &mut Random, target: &str) -> String {
    match random.below(7) {
        0 => r#"{"type":"model_change","provider":"google","modelId":"gemini"}"#.to_owned(),
        1 => r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#.to_owned(),
        2 => r#"{"type":"custom","customType":"state","data":{"a":[1]}}"#.to_owned(),
        3 => r#"{"type":"session_info","name":"another name"}"#.to_owned(),
        4 => r#"{"type":"usage","kind":"title","provider":"p","model":"m","usage":{"input":1,"output":2}}"#.to_owned(),
        5 => r#"{"type":"custom_message","customType":"note","content":"Note this","display":true}"#.to_owned(),
        _ => format!(r#"{{"type":"context_edit","targetId":{target},"replacement":null}}"#),
    }
}

/// Compares what both sides see at the leaf of the session's file, of which the peer gets a copy.
fn compare(
    session: &mut Session<'_>,
    peer: &mut Peer,
    copy: &Path,
    keep_recent_tokens: u64,
    seen: &mut Seen,
) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(&session.path).context("failed to read what was written")?;
    std::fs::write(copy, files::for_the_peer(&text).text).context("failed to copy what was written")?;
    let questions = Questions { cases: vec![(None, keep_recent_tokens)], ..Questions::default() };
    let answers = peer.ask(copy, &questions)?;
    // A file that nothing was written to yet keeps its version, and the first one has no ids.
    if text.lines().next().is_some_and(|header| header.contains("\"version\"")) {
        same_ids(&text, session.ids(), &answers.ids)?;
    }
    anyhow::ensure!(session.leaf() == answers.leaf, "leaf {:?}, the peer's is {:?}", session.leaf(), answers.leaf);
    let facts = answers.cases.into_iter().next().context("one answer")??;
    let ours = session.answer(None, keep_recent_tokens)?;
    let expected = expect(&facts, keep_recent_tokens, &ours, seen)?;
    match ours.difference(&expected) {
        Some(difference) => anyhow::bail!("keeping {keep_recent_tokens} tokens: {difference}"),
        None => Ok(()),
    }
}

fn fork(
    mut session: Session<'_>,
    peer: &mut Peer,
    copy: &Path,
    random: &mut Random,
    seen: &mut Seen,
) -> anyhow::Result<()> {
    let entry = json::encode_string(&session.id(Some(random.below(session.ids().len())))?);
    let opened = match session.call("forkSession", &[("entryId", &entry), ("position", "\"at\"")]) {
        // An entry whose body breaks off cannot get another parent, so that there is no fork then.
        Err(error) if names_broken_entry(&format!("{error:#}"), &session)? => return session.close(),
        opened => opened?,
    };
    let mut fork = session.turn_to(&opened)?;
    compare(&mut fork, peer, copy, *random.pick(&KEEP_RECENT_TOKENS), seen)?;
    fork.close()
}

/// Whether `error` names an entry of the file whose line cannot be read.
fn names_broken_entry(error: &str, session: &Session<'_>) -> anyhow::Result<bool> {
    let text = std::fs::read_to_string(&session.path).context("failed to read what was written")?;
    Ok(session.ids().iter().any(|id| error.contains(id) && files::is_broken(&text, id)))
}
