//! One seed: a session, both sides asked about it, and the answers compared.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use compactd_tests::generate::{self, Version, random::Random};
use tempfile::TempDir;

use super::answer::{Answer, list};
use super::branches::{Branches, Way, WayFacts};
use super::expected::expect;
use super::files::{self, Rewritten};
use super::ours;
use super::peer::{Answers, Peer, Questions};
use super::rules::Seen;
use super::server::Server;

/// Tokens to keep: from less than one message to more than most sessions have.
pub(crate) const KEEP_RECENT_TOKENS: [u64; 8] = [1, 50, 120, 250, 500, 900, 1800, 4000];

#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) peer: Peer,
    pub(crate) server: Server,
    directory: TempDir,
    /// The rules that made a difference.
    pub(crate) seen: Seen,
}

impl Check {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir().context("failed to make a directory")?;
        Ok(Self { peer: Peer::start()?, server: Server::start()?, directory, seen: Seen::new() })
    }

    /// Compares all answers about the session of `seed`; fails with the first difference.
    pub(crate) fn seed(&mut self, seed: u64) -> anyhow::Result<()> {
        let session = generate::session(seed);
        let (for_us, for_the_peer) = (files::for_us(&session.text), files::for_the_peer(&session.text));
        let file = self.write(seed, "ours", &for_us.text)?;
        let copy = self.write(seed, "peer", &for_the_peer.text)?;
        let compared = self.compare(session.version, &file, &copy, |entries| questions(seed, entries));
        let questions = compared.with_context(|| self.keep_files(seed, session.version))?;
        self.note_rewrites(seed, &session.text, &for_us, &for_the_peer, &questions)
    }

    /// Compares all answers about a session from elsewhere, whose text is of version 1.
    pub(crate) fn session_of_version_1(&mut self, text: &str) -> anyhow::Result<()> {
        let file = self.write(0, "real", &files::for_us(text).text)?;
        let copy = self.write(0, "real-peer", &files::for_the_peer(text).text)?;
        let cases = |entries: usize| vec![(None, 20_000), (None, 60_000), (Some(entries / 2), 20_000)];
        let way = |entries, budget| Way { from: entries - 1, to: entries / 2, budget };
        let ways = |entries| vec![way(entries, None), way(entries, Some(20_000))];
        let questions = |entries| Questions { cases: cases(entries), ways: ways(entries) };
        self.compare(Version::V1, &file, &copy, questions).map(|_| ())
    }

    /// Asks both sides what `questions` makes of the number of entries.
    fn compare(
        &mut self,
        version: Version,
        file: &Path,
        copy: &Path,
        questions: impl FnOnce(usize) -> Questions,
    ) -> anyhow::Result<Questions> {
        let questions = questions(self.peer.ask(copy, &Questions::default())?.ids.len());
        let answers = self.peer.ask(copy, &questions)?;
        let mut ours = ours::Session::open(&mut self.server, file)?;
        if version != Version::V1 {
            same_ids(&std::fs::read_to_string(file)?, ours.ids(), &answers.ids)?;
        }
        for (case, facts) in questions.cases.iter().zip(&answers.cases) {
            let facts = facts.as_ref().map_err(|error| anyhow::anyhow!("{case:?}: {error:#}"))?;
            let ours = ours.answer(case.0, case.1)?;
            let expected = expect(facts, case.1, &ours, &mut self.seen).with_context(|| format!("{case:?}"))?;
            if let Some(difference) = ours.difference(&expected) {
                anyhow::bail!("at leaf {:?}, keeping {} tokens: {difference}", case.0, case.1);
            }
        }
        let branches = Branches::open(file, ours.ids().to_vec())?;
        for (way, facts) in questions.ways.iter().zip(&answers.ways) {
            let facts = facts.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"));
            let compared = facts.and_then(|facts| compare_way(&mut ours, &branches, way, facts, &mut self.seen));
            compared.with_context(|| format!("{way:?}"))?;
        }
        ours.close()?;
        Ok(questions)
    }

    /// Finds out whether the rules that rewrote a file were needed: with the file as it was, the
    /// side that got another one must answer otherwise.
    fn note_rewrites(
        &mut self,
        seed: u64,
        text: &str,
        for_us: &Rewritten,
        for_the_peer: &Rewritten,
        questions: &Questions,
    ) -> anyhow::Result<()> {
        if let Some(rule) = only_new(&for_us.rules, &self.seen) {
            let before = self.our_answers(&self.write(seed, "before", text)?, questions)?;
            let after = self.our_answers(&self.write(seed, "after", &for_us.text)?, questions)?;
            if before != after {
                self.seen.insert(rule);
            }
        }
        if let Some(rule) = only_new(&for_the_peer.rules, &self.seen) {
            let before = self.write(seed, "before", text)?;
            let before = self.peer.ask(&before, questions)?;
            let after = self.write(seed, "after", &for_the_peer.text)?;
            let after = self.peer.ask(&after, questions)?;
            if differ(&before, &after) {
                self.seen.insert(rule);
            }
        }
        Ok(())
    }

    fn our_answers(&mut self, file: &Path, questions: &Questions) -> anyhow::Result<Vec<Answer>> {
        let mut session = ours::Session::open(&mut self.server, file)?;
        let answers = questions.cases.iter().map(|(leaf, keep)| session.answer(*leaf, *keep)).collect();
        session.close()?;
        answers
    }

    pub(crate) fn write(&self, seed: u64, side: &str, text: &str) -> anyhow::Result<PathBuf> {
        let file = self.directory.path().join(format!("{seed}-{side}.jsonl"));
        std::fs::write(&file, text).context("failed to write a session")?;
        Ok(file)
    }

    /// Leaves the session where a person can look at it, and says where.
    fn keep_files(&self, seed: u64, version: Version) -> String {
        let kept = std::env::temp_dir().join(format!("compactd-interop-{seed}.jsonl"));
        let copied = std::fs::copy(self.directory.path().join(format!("{seed}-ours.jsonl")), &kept);
        match copied {
            Ok(_) => format!("{version:?}, the session is in {}", kept.display()),
            Err(error) => format!("{version:?}, the session cannot be kept: {error}"),
        }
    }
}

/// Compares where a way meets, what it leaves, and what a summary of that is made from.
fn compare_way(
    ours: &mut ours::Session<'_>,
    branches: &Branches,
    way: &Way,
    facts: &WayFacts,
    seen: &mut Seen,
) -> anyhow::Result<()> {
    let (navigation, tokens) = ours.navigation(way.from, way.to)?;
    let expected = &facts.navigation;
    anyhow::ensure!(navigation == *expected, "\n    ours     {navigation:?}\n    expected {expected:?}");
    for budget in [None, way.budget] {
        let branch = branches.prepare(way.from, &navigation.entries, budget)?;
        let expected = facts.expect(way, budget, seen)?;
        if let Some(difference) = branch.difference(&expected) {
            anyhow::bail!("within {budget:?} tokens: {difference}");
        }
        anyhow::ensure!(
            budget.is_some() || tokens == branch.tokens,
            "{tokens} tokens, in the library {}",
            branch.tokens
        );
    }
    Ok(())
}

/// Fails where the entries of both sides begin to differ. `text` is our file: entries at its end
/// that cannot be read are known to us alone.
pub(crate) fn same_ids(text: &str, ours: &[String], peer: &[String]) -> anyhow::Result<()> {
    let broken = ours.iter().rev().take_while(|id| files::is_broken(text, id)).count();
    match list("ids", &ours[..ours.len() - broken.min(ours.len().saturating_sub(peer.len()))], peer) {
        Some(difference) => anyhow::bail!("{difference}"),
        None => Ok(()),
    }
}

/// The rule that alone rewrote a file, if it has not been seen to matter yet.
fn only_new(rules: &Seen, seen: &Seen) -> Option<super::Rule> {
    let rule = rules.first().filter(|_| rules.len() == 1)?;
    (!seen.contains(rule)).then_some(*rule)
}

fn differ(before: &Answers, after: &Answers) -> bool {
    let text = |answers: &Answers| format!("{:?} {:?}", answers.cases, answers.ways);
    text(before) != text(after)
}

fn questions(seed: u64, entries: usize) -> Questions {
    let mut random = Random::new(seed ^ 0x7175_6573_7469_6f6e);
    let keep = |random: &mut Random| *random.pick(&KEEP_RECENT_TOKENS);
    let mut cases = vec![(None, keep(&mut random))];
    for _ in 0..3 {
        cases.push((Some(random.below(entries)), keep(&mut random)));
    }
    let way = |random: &mut Random| Way {
        from: random.below(entries),
        to: random.below(entries),
        budget: random.chance(700).then(|| *random.pick(&KEEP_RECENT_TOKENS)),
    };
    let ways = (0..4).map(|_| way(&mut random)).collect();
    Questions { cases, ways }
}
