//! Plays the cases under `tests/conformance` against the real binary over real pipes.
//!
//! A case is data: files to lay out, bytes to send, messages to expect. Its format is described in
//! `tests/conformance/README.md`, so that a runner in another language can play the same files.
//! This runner is hermetic: every case has its own home, its own directories and an empty
//! environment, and every wait is bounded.

mod bytes;
mod case;
mod coverage;
mod frames;
mod invariants;
mod matching;
mod play;
mod play_steps;
mod server;
mod steps;
mod transcript;
mod variables;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use case::{Case, Framing, Topic, load};
pub use coverage::{Coverage, coverage};
pub use frames::{Frame, write_frames};
pub use invariants::codes;
pub use play::{abilities, record};
pub use transcript::Exchanged;

/// Cases that are played at the same time.
const WORKERS: usize = 8;

/// What became of the cases.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Plays (a case in one framing) that went as expected.
    pub passed: usize,
    /// Plays whose server lacks an optional part that the case needs.
    pub skipped: Vec<String>,
    /// Reports of the plays that went otherwise: where, what was expected, and the whole transcript.
    pub failures: Vec<String>,
    /// The parts of all messages in plays that passed.
    pub frames: Vec<Frame>,
}

/// One case in one framing.
#[derive(Debug, Clone)]
struct Play {
    topic: String,
    case: Case,
    framing: Framing,
}

/// The directory that holds the cases.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// Plays every case of `topics` whose `topic/name` contains `filter`, in each of its framings.
///
/// Cases that need more than `abilities` are skipped.
pub fn run(binary: &Path, abilities: &[String], topics: &[Topic], filter: &str) -> Outcome {
    let plays = plays(topics, filter);
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new(Outcome::default()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(play) = plays.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = run_one(binary, play, abilities);
                    note(&mut outcome.lock().expect("no worker panics while it records"), play, report);
                }
            });
        }
    });
    outcome.into_inner().expect("no worker panics while it records")
}

fn plays(topics: &[Topic], filter: &str) -> Vec<Play> {
    let cases = topics.iter().flat_map(|topic| topic.cases.iter().map(move |case| (topic, case)));
    cases
        .filter(|(topic, case)| format!("{}/{}", topic.name, case.name).contains(filter))
        .flat_map(|(topic, case)| {
            case.framing.all().into_iter().map(|framing| Play {
                topic: topic.name.clone(),
                case: case.clone(),
                framing,
            })
        })
        .collect()
}

impl Play {
    fn title(&self) -> String {
        format!("{}/{} ({})", self.topic, self.case.name, self.framing.name())
    }
}

/// Plays a case and gives the parts of its messages. Whoever records them has to wait for nothing but their place.
fn run_one(binary: &Path, play: &Play, abilities: &[String]) -> Option<Result<Vec<Frame>, String>> {
    let frames = |exchanges: Vec<Exchanged>| frames::frames(&play.title(), play.framing, &exchanges);
    play.case.is_for(abilities).then(|| play::play(binary, &play.case, play.framing).map(frames))
}

fn note(outcome: &mut Outcome, play: &Play, report: Option<Result<Vec<Frame>, String>>) {
    let title = play.title();
    match report {
        None => outcome.skipped.push(title),
        Some(Ok(frames)) => {
            outcome.passed += 1;
            outcome.frames.extend(frames);
        }
        Some(Err(report)) => outcome.failures.push(format!("{title}\n{report}")),
    }
}
