//! Times of several runs.

use std::time::{Duration, Instant};

/// What each run took, the shortest first.
#[derive(Debug, Clone)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Sorts `times`, of which there is at least one.
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// Does something several times; what it returns are the times.
    pub(crate) fn of(runs: usize, mut run: impl FnMut() -> anyhow::Result<Duration>) -> anyhow::Result<Self> {
        (0..runs).map(|_| run()).collect::<anyhow::Result<_>>().map(Self::new)
    }

    /// The value below which the given part of the times lies.
    pub(crate) fn quantile(&self, part: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let index = (part * last as f64).round() as usize;
        self.0.get(index).copied().unwrap_or_default()
    }

    /// The middle one.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// How many there are.
    pub(crate) fn runs(&self) -> usize {
        self.0.len()
    }

    /// Their sum.
    pub(crate) fn total(&self) -> Duration {
        self.0.iter().sum()
    }
}

/// How long `work` takes. What it returns is kept from being optimised away, and dropped afterwards.
pub(crate) fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let result = std::hint::black_box(work()?);
    let elapsed = started.elapsed();
    drop(result);
    Ok(elapsed)
}

/// A time in the unit that suits it.
pub(crate) fn shown(time: Duration) -> String {
    match time.as_nanos() {
        0..1_000_000 => format!("{:.1} µs", time.as_secs_f64() * 1e6),
        1_000_000..10_000_000 => format!("{:.2} ms", time.as_secs_f64() * 1e3),
        10_000_000..1_000_000_000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", time.as_secs_f64()),
    }
}
