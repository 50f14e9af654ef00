//! The sessions that questions are asked about.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use compactd_tests::questions::Question;
use serde::Deserialize;

use super::session::Session;

/// A session with a place in it, and the questions that are asked there.
pub(crate) struct Subject {
    pub(crate) name: String,
    /// Which questions: one of [`SETS`].
    pub(crate) set: &'static str,
    pub(crate) session: Session,
    /// The message that is the oldest kept one.
    pub(crate) cut: usize,
    pub(crate) questions: Vec<Question>,
    /// What a model wrote at the nearest place.
    pub(crate) model: Option<ModelSummary>,
}

/// A summary that the agent's own model wrote.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ModelSummary {
    /// How many messages were before it.
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// A file of questions, and where its sessions lie.
struct Source {
    set: &'static str,
    questions: PathBuf,
    sessions: Vec<PathBuf>,
}

/// All subjects that are there, `corpus` included, or those of `set` alone; what is missing is told
/// on standard error.
pub(crate) fn subjects(corpus: Option<&Path>, set: Option<&str>) -> anyhow::Result<Vec<Subject>> {
    use std::io::Write as _;
    let mut subjects = Vec::new();
    for source in sources(corpus).into_iter().filter(|source| set.is_none_or(|set| set == source.set)) {
        let missing = std::iter::once(&source.questions).chain(&source.sessions).find(|path| !path.exists());
        if let Some(path) = missing {
            let (set, path) = (source.set, path.display());
            writeln!(std::io::stderr(), "note: the {set} questions are not asked, there is no {path}")?;
            continue;
        }
        subjects.extend(read(&source)?);
    }
    Ok(subjects)
}

/// Where questions come from.
pub(crate) const SETS: [&str; 3] = ["shared", "own", "given"];

fn sources(corpus: Option<&Path>) -> Vec<Source> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = tests.join("../../shared");
    let sessions = vec![shared.join("corpus/sessions"), shared.join("corpus")];
    let [shared_set, own_set, given_set] = SETS;
    let own = Source { set: own_set, questions: tests.join("data/questions.jsonl"), sessions: sessions.clone() };
    let given = corpus.map(|directory| Source {
        set: given_set,
        questions: directory.join("questions.jsonl"),
        sessions: vec![directory.join("sessions")],
    });
    let shared = Source { set: shared_set, questions: shared.join("data/questions.jsonl"), sessions };
    [shared, own].into_iter().chain(given).collect()
}

fn read(source: &Source) -> anyhow::Result<Vec<Subject>> {
    let mut groups: BTreeMap<(String, usize), Vec<Question>> = BTreeMap::new();
    for question in Question::read(&source.questions)? {
        groups.entry((question.session.clone(), question.at)).or_default().push(question);
    }
    groups.into_iter().map(|((name, at), questions)| subject(source, name, at, questions)).collect()
}

fn subject(source: &Source, name: String, at: usize, questions: Vec<Question>) -> anyhow::Result<Subject> {
    let mut files = source.sessions.iter().map(|directory| directory.join(format!("{name}.jsonl")));
    let path = files
        .find(|path| path.is_file())
        .with_context(|| format!("failed to find session {name}, which {} asks about", source.questions.display()))?;
    let session = Session::read(&path)?;
    let cut = session.cut_from(at).with_context(|| format!("failed to cut {name}"))?;
    let model = nearest(&path.with_extension("llm-summaries.json"), at)?;
    Ok(Subject { name, set: source.set, session, cut, questions, model })
}

fn nearest(path: &Path, at: usize) -> anyhow::Result<Option<ModelSummary>> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path)?;
    let summaries: Vec<ModelSummary> =
        serde_json::from_str(&text).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(summaries.into_iter().min_by_key(|summary| summary.at.abs_diff(at)))
}

impl Subject {
    /// Where the session is cut to compact it away in so many passes.
    pub(crate) fn cuts(&self, passes: usize) -> anyhow::Result<Vec<usize>> {
        let mut cuts = Vec::new();
        for pass in 1..passes {
            let cut = self.session.cut_from(self.cut * pass / passes)?;
            if cut > 0 && cut < self.cut && cuts.last() != Some(&cut) {
                cuts.push(cut);
            }
        }
        cuts.push(self.cut);
        Ok(cuts)
    }
}
