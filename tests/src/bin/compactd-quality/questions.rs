//! What the next model can answer: sessions are compacted away by the built server, and questions
//! that were written from the transcripts are asked to the summaries, beside texts of equal size.

mod baselines;
mod compactor;
mod goals;
mod report;
mod session;
mod subjects;
mod summary;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use compactd_tests::binary::binary;
use compactd_tests::questions::{Question, Statements};
use compaction_core::text::{prefix_utf16, suffix_utf16, utf16_len};

use compactor::{Compacted, Compactor};
pub(crate) use subjects::SETS;
use subjects::{ModelSummary, Subject};

/// What is asked, and how.
#[derive(Debug)]
pub(crate) struct Options {
    /// UTF-16 units of a summary.
    pub(crate) sizes: Vec<usize>,
    /// In how many passes a session is compacted away.
    pub(crate) passes: Vec<usize>,
    /// A directory with further questions and sessions.
    pub(crate) corpus: Option<PathBuf>,
    /// The only questions that are asked: one of [`SETS`].
    pub(crate) set: Option<String>,
    /// The server.
    pub(crate) program: Option<PathBuf>,
    /// Whether the questions that are not answered are listed.
    pub(crate) is_listing: bool,
    /// A session and a size whose summaries are printed in place of the tables.
    pub(crate) shown: Option<(String, usize)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sizes: vec![24_000, 12_000, 6_000],
            passes: vec![1, 4],
            corpus: None,
            set: None,
            program: None,
            is_listing: false,
            shown: None,
        }
    }
}

/// Which of the questions a text answers, in their order.
struct Answers(Vec<bool>);

impl Answers {
    fn of(questions: &[Question], text: &str) -> Self {
        let statements = Statements::of(text);
        Self(questions.iter().map(|question| question.is_answered(&statements)).collect())
    }

    fn count(&self) -> usize {
        self.0.iter().filter(|is_answered| **is_answered).count()
    }
}

/// A summary of ours.
struct Ours {
    passes: usize,
    /// What each pass stored; never empty.
    stored: Vec<Compacted>,
    answers: Answers,
    /// What the summary answers within its size: it may be larger than asked.
    within_size: Answers,
}

/// All texts of one size.
struct AtSize {
    units: usize,
    ours: Vec<Ours>,
    clipped_talk: Answers,
    tail: Answers,
}

/// What a model wrote, and texts of its length.
struct AtModelLength<'a> {
    summary: &'a ModelSummary,
    answers: Answers,
    texts: AtSize,
    /// The same summary as the server stores it, or why it refuses to.
    repaired: anyhow::Result<Repaired>,
}

struct Repaired {
    tokens: u64,
    answers: Answers,
}

/// All about one subject.
struct Outcome<'a> {
    subject: &'a Subject,
    sizes: Vec<AtSize>,
    model: Option<AtModelLength<'a>>,
}

/// Asks all questions and prints the tables; says whether all goals are reached.
pub(crate) fn run(options: &Options, out: &mut impl Write) -> anyhow::Result<bool> {
    let subjects = subjects::subjects(options.corpus.as_deref(), options.set.as_deref())?;
    if subjects.is_empty() {
        writeln!(out, "there are no questions to ask")?;
        return Ok(true);
    }
    let program = options.program.clone().map_or_else(binary, |path| {
        path.canonicalize().with_context(|| format!("failed to find the server at {}", path.display()))
    })?;
    let mut compactor = Compactor::start(&program)?;
    if let Some((name, units)) = &options.shown {
        show(&mut compactor, &subjects, name, *units, &options.passes, out)?;
        return Ok(true);
    }
    let outcomes = subjects.iter().map(|subject| measure(&mut compactor, subject, options));
    let outcomes = outcomes.collect::<anyhow::Result<Vec<_>>>()?;
    report::write(&outcomes, options.is_listing, out)?;
    let goals = goals::check(&outcomes);
    report::write_goals(&goals, out)?;
    Ok(goals.iter().all(|goal| goal.is_reached))
}

fn measure<'a>(compactor: &mut Compactor, subject: &'a Subject, options: &Options) -> anyhow::Result<Outcome<'a>> {
    let sizes = options.sizes.iter().map(|&units| at_size(compactor, subject, units, &options.passes));
    let sizes = sizes.collect::<anyhow::Result<_>>()?;
    let model = subject.model.as_ref().map(|summary| at_model_length(compactor, subject, summary)).transpose()?;
    Ok(Outcome { subject, sizes, model })
}

fn at_size(compactor: &mut Compactor, subject: &Subject, units: usize, passes: &[usize]) -> anyhow::Result<AtSize> {
    let (questions, session) = (&subject.questions, &subject.session);
    let newest = |text: &str| Answers::of(questions, suffix_utf16(text, units));
    Ok(AtSize {
        units,
        ours: passes.iter().map(|&passes| ours(compactor, subject, units, passes)).collect::<anyhow::Result<_>>()?,
        clipped_talk: newest(&baselines::clipped_talk(session.messages_before(subject.cut))),
        tail: newest(&baselines::everything(session.messages_before(subject.cut))),
    })
}

fn ours(compactor: &mut Compactor, subject: &Subject, units: usize, passes: usize) -> anyhow::Result<Ours> {
    let stored = compactor
        .compact(&subject.session, &subject.cuts(passes)?, units)
        .with_context(|| format!("failed to compact {} in {passes} passes to {units} units", subject.name))?;
    let last = &stored.last().context("a session is compacted at least once")?.summary;
    let answers = Answers::of(&subject.questions, last);
    let within_size = Answers::of(&subject.questions, prefix_utf16(last, units));
    Ok(Ours { passes, stored, answers, within_size })
}

fn at_model_length<'a>(
    compactor: &mut Compactor,
    subject: &Subject,
    summary: &'a ModelSummary,
) -> anyhow::Result<AtModelLength<'a>> {
    let units = utf16_len(&summary.text);
    let repaired = compactor.compact_by_model(&subject.session, subject.cut, units, &summary.text);
    let repaired = repaired.map(|compacted| Repaired {
        tokens: summary::repair_tokens(&compacted.summary),
        answers: Answers::of(&subject.questions, &compacted.summary),
    });
    let texts = at_size(compactor, subject, units, &[1])?;
    Ok(AtModelLength { summary, answers: Answers::of(&subject.questions, &summary.text), texts, repaired })
}

/// Prints the summaries of one session.
fn show(
    compactor: &mut Compactor,
    subjects: &[Subject],
    name: &str,
    units: usize,
    passes: &[usize],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut is_known = false;
    for subject in subjects.iter().filter(|subject| subject.name == name) {
        is_known = true;
        for &passes in passes {
            let ours = ours(compactor, subject, units, passes)?;
            let summary = ours.last();
            let (length, count) = (utf16_len(summary), ours.answers.count());
            writeln!(
                out,
                "=== {name}, {} messages, {passes} passes: {length} of {units} units, {count} of {} {} questions\n{summary}\n",
                subject.cut,
                subject.questions.len(),
                subject.set,
            )?;
        }
    }
    anyhow::ensure!(is_known, "no question is about a session {name}");
    Ok(())
}

impl Ours {
    /// The summary after the last pass.
    fn last(&self) -> &str {
        self.stored.last().map_or("", |compacted| &compacted.summary)
    }
}
