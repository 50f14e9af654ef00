//! Measures compactd, beside the published package: over pipes, in processes of their own, and in
//! this process where a figure is about the library. Prints one table; nothing here fails for being slow.

mod appends;
mod chains;
mod contexts;
mod effort;
mod indexes;
mod ledgers;
mod limits;
mod lists;
mod machine;
mod memory;
mod overheads;
mod peer;
mod pipe;
mod preparations;
mod report;
mod sessions;
mod start;
mod syncs;
mod times;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use compactd_tests::binary::binary;
use tempfile::TempDir;

use crate::effort::Effort;
use crate::peer::Peer;
use crate::report::Report;
use crate::sessions::SessionFile;

/// What every measurement needs.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) binary: PathBuf,
    pub(crate) peer: Option<Peer>,
    pub(crate) effort: Effort,
    /// Where sessions lie; also the home directory of the servers.
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Default)]
struct Options {
    effort: Effort,
    is_without_peer: bool,
    keep: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [indexes::ARGUMENT, file, runs] = arguments.as_slice() {
        return indexes::measure_here(Path::new(file), runs.parse()?);
    }
    if let [limits::ARGUMENT] = arguments.as_slice() {
        return limits::echo_here();
    }
    let options = Options::read(&arguments)?;
    let temporary = TempDir::with_prefix("compactd-bench-")?;
    let directory = options.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&directory)?;
    let directory = directory.canonicalize()?;
    let peer = if options.is_without_peer { None } else { peer() };
    Bench { binary: binary()?, peer, effort: options.effort, directory }.run()
}

impl Options {
    fn read(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--quick" => options.effort = Effort::quick(),
                "--full" => options.effort = Effort::full(),
                "--no-peer" => options.is_without_peer = true,
                "--keep" => options.keep = Some(rest.next().context("--keep needs a directory")?.into()),
                other => bail!("unknown option {other}: --quick, --full, --no-peer and --keep DIRECTORY are known"),
            }
        }
        Ok(options)
    }
}

/// The published package, or nothing where it cannot be had.
fn peer() -> Option<Peer> {
    Peer::install().inspect_err(|error| say(&format!("Without the published package: {error:#}"))).ok()
}

impl Bench {
    fn run(&self) -> anyhow::Result<()> {
        say(&machine::describe(self.peer.as_ref()).context("failed to describe the machine")?);
        let sessions = sessions::generate(&self.directory, self.effort.megabytes)?;
        for session in &sessions {
            say(&contexts::describe(self, session)?);
        }
        let mut report = Report::default();
        self.measure(&sessions, &mut report)?;
        say(&format!("\n{report}"));
        say(&machine::load());
        Ok(())
    }

    fn measure(&self, sessions: &[SessionFile], report: &mut Report) -> anyhow::Result<()> {
        start::measure(self, report)?;
        contexts::measure(self, sessions, report)?;
        preparations::measure(self, sessions, report)?;
        overheads::measure(self, sessions, report)?;
        ledgers::measure(self, sessions, report)?;
        indexes::measure(self, sessions, report)?;
        appends::measure(self, sessions, report)?;
        syncs::measure(self, report)?;
        chains::measure(self, report)?;
        lists::measure(self, report)
    }
}

/// Tells the user something.
#[expect(clippy::print_stdout, reason = "a measuring program reports to a terminal")]
fn say(line: &str) {
    println!("{line}");
}
