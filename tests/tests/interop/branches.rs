//! What a summary of a branch that is left is made from: messages, tokens and files.
//!
//! As with preparations, the peer's answer is derived from facts that the peer gives: with no rule
//! it must be the peer's own, with all rules it is what we must prepare.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use compaction_core::entry::{Entry, EntryId};
use compaction_core::file_operations::FileTools;
use compaction_core::json::{self, Json};
use compaction_core::preparation::BranchPreparation;
use session_store::{FileLog, Session, SessionOptions};

use super::answer::{Files, Navigation, canonical, list, value};
use super::facts::{array, count, files, member, refuse_error};
use super::model::{listed, sorted};
use super::rules::{Rule, Seen};

const RULES: [Rule; 3] =
    [Rule::BranchesAreReadAsTheyWereSeen, Rule::BranchFilesComeFromAllEntries, Rule::FileListsHoldStrings];

/// A way in the tree: positions of the leaf that is left and of the target, and how many tokens of
/// messages a summary may be made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) budget: Option<u64>,
}

/// The peer's answer about a way.
#[derive(Debug, Clone)]
pub(crate) struct WayFacts {
    pub(crate) navigation: Navigation,
    /// The entries that are left, each with what the peer makes of it alone.
    entries: Vec<ReadEntry>,
    /// Those of them that are in the context of the old leaf, in its order.
    seen: Vec<ReadEntry>,
    /// What the peer prepares.
    branch: Branch,
    /// Whether it fails on the entries as they are stored.
    fails: bool,
}

/// One entry of a branch.
#[derive(Debug, Clone)]
struct ReadEntry {
    entry: Json<'static>,
    messages: Vec<ReadMessage>,
    files: Files,
    /// Files of the calls that a tool made, which its result tells.
    files_of_result: Files,
}

#[derive(Debug, Clone)]
struct ReadMessage {
    role: String,
    canonical: String,
    tokens: u64,
}

/// What a summary is made from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Branch {
    messages: Vec<String>,
    pub(crate) tokens: u64,
    files: Files,
}

impl WayFacts {
    pub(crate) fn read(json: &Json<'_>) -> anyhow::Result<Self> {
        refuse_error(json)?;
        let entries = |key: &str| array(json, key)?.iter().map(read).collect::<anyhow::Result<Vec<ReadEntry>>>();
        Ok(Self {
            navigation: Navigation::read(json)?,
            entries: entries("told")?,
            seen: entries("seen")?,
            branch: Branch {
                messages: array(json, "messages")?.iter().map(canonical).collect(),
                tokens: count(member(json, "tokens")?)?,
                files: files(member(json, "files")?)?,
            },
            fails: member(json, "fails")?.as_bool().context("fails")?,
        })
    }

    /// What we must prepare within `budget` tokens. Rules that made a difference are added to `seen`.
    ///
    /// Fails if the derivation does not even give what the peer itself prepares within `way`.
    pub(crate) fn expect(&self, way: &Way, budget: Option<u64>, seen: &mut Seen) -> anyhow::Result<Branch> {
        let derived = self.derive(way.budget, &Seen::new());
        if let Some(difference) = derived.difference(&self.branch) {
            anyhow::bail!("the test derives another branch than the peer's own: {difference}");
        }
        if self.fails {
            seen.insert(Rule::BranchesMayHoldNullContent);
        }
        let all: Seen = RULES.into_iter().collect();
        let expected = self.derive(budget, &all);
        for rule in RULES {
            let others: Seen = all.iter().copied().filter(|other| *other != rule).collect();
            if self.derive(budget, &others) != expected {
                seen.insert(rule);
            }
        }
        Ok(expected)
    }

    fn derive(&self, budget: Option<u64>, rules: &Seen) -> Branch {
        let as_seen = rules.contains(&Rule::BranchesAreReadAsTheyWereSeen);
        let source = if as_seen { &self.seen } else { &self.entries };
        let is_shown = |message: &ReadMessage| !as_seen || !matches!(message.role.as_str(), "system" | "toolResult");
        let messages =
            source.iter().rev().flat_map(|entry| entry.messages.iter().rev().map(move |message| (entry, message)));
        let mut branch = Branch::default();
        for (entry, message) in messages.filter(|(_, message)| is_shown(message)) {
            let is_full = budget.is_some_and(|budget| branch.tokens + message.tokens > budget);
            let may_overshoot = budget.is_some_and(|budget| entry.is_summary() && branch.tokens * 10 < budget * 9);
            if !is_full || may_overshoot {
                branch.tokens += message.tokens;
                branch.messages.insert(0, message.canonical.clone());
            }
            if is_full {
                break;
            }
        }
        branch.files = self.files(budget, rules);
        branch
    }

    fn files(&self, budget: Option<u64>, rules: &Seen) -> Files {
        let takes_all = rules.contains(&Rule::BranchFilesComeFromAllEntries);
        let reached = if takes_all { 0 } else { self.reached(budget) };
        let mut lists = Files::default();
        for (at, entry) in self.entries.iter().enumerate() {
            let is_named = match entry.kind() {
                "branch_summary" => true,
                "compaction" => takes_all,
                _ => false,
            };
            if is_named {
                lists.read.extend(listed(&entry.entry, "readFiles", rules));
                lists.edited.extend(listed(&entry.entry, "modifiedFiles", rules));
            } else if at >= reached {
                lists.extend(&entry.files);
            }
            if takes_all {
                lists.extend(&entry.files_of_result);
            }
        }
        Files { read: sorted(lists.read), written: sorted(lists.written), edited: sorted(lists.edited) }
    }

    /// The first entry that the peer looks at, which is the first one that does not fit.
    fn reached(&self, budget: Option<u64>) -> usize {
        let Some(budget) = budget else { return 0 };
        let mut sum = 0;
        let does_not_fit = |entry: &ReadEntry| {
            sum += entry.messages.iter().map(|message| message.tokens).sum::<u64>();
            !entry.messages.is_empty() && sum > budget
        };
        self.entries.iter().rposition(does_not_fit).unwrap_or(0)
    }
}

impl ReadEntry {
    fn kind(&self) -> &str {
        self.entry.get("type").and_then(Json::as_str).unwrap_or("")
    }

    fn is_summary(&self) -> bool {
        matches!(self.kind(), "compaction" | "branch_summary")
    }
}

impl Branch {
    /// The first difference, in a few lines; `None` if there is none.
    pub(crate) fn difference(&self, expected: &Branch) -> Option<String> {
        list("branch", &self.messages, &expected.messages)
            .or_else(|| value("tokens", &self.tokens, &expected.tokens))
            .or_else(|| value("files", &self.files, &expected.files))
    }
}

fn read(json: &Json<'_>) -> anyhow::Result<ReadEntry> {
    let message = |json: &Json<'_>| {
        let value = member(json, "message")?;
        let role = value.get("role").and_then(Json::as_str).unwrap_or("").to_owned();
        anyhow::Ok(ReadMessage { role, canonical: canonical(value), tokens: count(member(json, "tokens")?)? })
    };
    Ok(ReadEntry {
        entry: member(json, "entry")?.clone().into_owned(),
        messages: array(json, "messages")?.iter().map(message).collect::<anyhow::Result<_>>()?,
        files: files(member(json, "files")?)?,
        files_of_result: files(member(json, "filesOfResult")?)?,
    })
}

/// Our side: a file that the library reads, since the protocol tells the tokens of a branch alone.
#[derive(Debug)]
pub(crate) struct Branches {
    session: Session,
    ids: Vec<String>,
}

impl Branches {
    /// Opens `file`, whose entries are `ids` in its order.
    pub(crate) fn open(file: &Path, ids: Vec<String>) -> anyhow::Result<Self> {
        let log = FileLog::open_read_only(file).context("failed to open the session")?;
        let session = Session::open(Box::new(log), SessionOptions::default()).context("failed to read the session")?;
        Ok(Self { session, ids })
    }

    /// What we prepare of the entries at the positions of `left` where the leaf is at `from`.
    pub(crate) fn prepare(&self, from: usize, left: &[usize], budget: Option<u64>) -> anyhow::Result<Branch> {
        let leaf = EntryId::new(self.ids[from].as_str());
        let context = self.session.context(Some(&leaf)).context("failed to read the context")?;
        let left: HashSet<&str> = left.iter().map(|position| self.ids[*position].as_str()).collect();
        let branch = self.session.branch_entries(Some(&leaf)).context("failed to read the branch")?;
        let left: Vec<Arc<Entry>> = branch.into_iter().filter(|entry| left.contains(entry.id().as_str())).collect();
        let prepared = BranchPreparation::of(&context.projection, &left, budget, &FileTools::default());
        let stored = |raw: &str| Json::parse(raw).map(|json| canonical(&json));
        let messages = prepared.messages.iter().map(|prepared| stored(prepared.message.raw().get()));
        let paths = |paths: Vec<&str>| -> Vec<String> { paths.into_iter().map(json::encode_string).collect() };
        let operations = &prepared.file_operations;
        Ok(Branch {
            messages: messages.collect::<Result<_, _>>().context("a message is no JSON")?,
            tokens: prepared.tokens,
            files: Files {
                read: paths(operations.read()),
                written: paths(operations.written()),
                edited: paths(operations.edited()),
            },
        })
    }
}
