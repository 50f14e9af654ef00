//! The published package, in a Node process per measurement.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use compactd_tests::published_package;
use serde::Deserialize;

use crate::times::Times;

/// The package, installed.
#[derive(Debug)]
pub(crate) struct Peer {
    script: PathBuf,
    /// What `node --version` says.
    pub(crate) node: String,
    /// The package's version.
    pub(crate) version: String,
}

/// What one process of the peer measured; what it did not is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Measured {
    /// Nanoseconds of the runs.
    times: Vec<u64>,
    /// The same with one message added each time.
    grown: Vec<u64>,
    /// Bytes that no file backs.
    pub(crate) anonymous: u64,
    /// The most bytes at once.
    pub(crate) peak: u64,
    /// Sessions that it found.
    pub(crate) count: u64,
    /// Tokens of the context.
    pub(crate) tokens: u64,
}

impl Measured {
    pub(crate) fn times(&self) -> Times {
        Times::new(self.durations())
    }

    /// The runs in their order.
    pub(crate) fn durations(&self) -> Vec<Duration> {
        self.times.iter().copied().map(Duration::from_nanos).collect()
    }

    pub(crate) fn grown(&self) -> Times {
        Times::new(self.grown.iter().copied().map(Duration::from_nanos).collect())
    }
}

impl Peer {
    /// Installs the package where it is missing. Fails without node, npm or network.
    pub(crate) fn install() -> anyhow::Result<Self> {
        published_package::install()?;
        let node = Command::new("node").arg("--version").output().context("failed to start node")?;
        Ok(Self {
            script: Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/peer.mjs"),
            node: String::from_utf8_lossy(&node.stdout).trim().to_owned(),
            version: published_package::version()?,
        })
    }

    /// Starts a process and returns what it measured.
    pub(crate) fn measure(&self, arguments: &[&str], home: &Path) -> anyhow::Result<Measured> {
        self.run(arguments, home).map(|(measured, _)| measured)
    }

    /// Times from the start of a process until it says that it is done, several processes one after
    /// the other.
    pub(crate) fn times_from_spawn(&self, runs: usize, arguments: &[&str], home: &Path) -> anyhow::Result<Times> {
        Times::of(runs, || self.run(arguments, home).map(|(_, elapsed)| elapsed))
    }

    fn run(&self, arguments: &[&str], home: &Path) -> anyhow::Result<(Measured, Duration)> {
        let mut command = Command::new("node");
        command.arg(&self.script).args(arguments).env("HOME", home).env("PI_CODING_AGENT_DIR", home);
        let started = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("failed to start node")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("standard output is piped")?).read_line(&mut line)?;
        let elapsed = started.elapsed();
        let status = child.wait()?;
        ensure!(status.success(), "the published package ended with {status} when asked for {arguments:?}");
        let measured = serde_json::from_str(&line).with_context(|| format!("the published package said {line:?}"))?;
        Ok((measured, elapsed))
    }
}
