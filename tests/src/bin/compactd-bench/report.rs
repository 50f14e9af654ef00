//! What was measured, as a table that can be pasted.

use std::fmt;
use std::time::Duration;

use crate::times::{Times, shown};

const TITLES: [&str; 7] = ["figure", "ours", "peer", "peer/ours", "goal", "ok", "runs (ours/peer), remarks"];

/// Rows in the order in which they were measured.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Row>);

/// One figure.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    cells: [String; 7],
}

impl Report {
    /// Adds a row, and tells whoever waits what it says.
    #[expect(clippy::print_stderr, reason = "a run takes minutes; standard output is for the table alone")]
    pub(crate) fn add(&mut self, row: Row) {
        let [figure, ours, peer, ..] = &row.cells;
        eprintln!("{figure}: {ours}{}{peer}", if peer.is_empty() { "" } else { ", peer " });
        self.0.push(row);
    }
}

impl Row {
    /// The medians of a figure, and how they compare.
    pub(crate) fn medians(figure: impl Into<String>, ours: &Times, peer: Option<&Times>) -> Self {
        Self::quantiles(figure, 0.5, ours, peer)
    }

    /// Other quantiles than the medians.
    pub(crate) fn quantiles(figure: impl Into<String>, part: f64, ours: &Times, peer: Option<&Times>) -> Self {
        let time = ours.quantile(part);
        let mut row = Self::value(figure, shown(time));
        let mut runs = ours.runs().to_string();
        if let Some(peer) = peer {
            row.cells[2] = shown(peer.quantile(part));
            row.cells[3] = format!("{:.1}", peer.quantile(part).as_secs_f64() / time.as_secs_f64());
            runs = format!("{runs}/{}", peer.runs());
        }
        row.remark(runs)
    }

    /// A figure that is no time.
    pub(crate) fn value(figure: impl Into<String>, ours: impl Into<String>) -> Self {
        let mut row = Self::default();
        row.cells[0] = figure.into();
        row.cells[1] = ours.into();
        row
    }

    /// What the peer shows, where it is no time.
    pub(crate) fn peer(mut self, peer: Option<String>) -> Self {
        self.cells[2] = peer.unwrap_or_default();
        self
    }

    /// A time that is at most `goal`.
    pub(crate) fn at_most(self, time: Duration, goal: Duration) -> Self {
        self.goal(format!("≤ {}", shown(goal).replace(".00", "").replace(".0", "")), time <= goal)
    }

    /// A goal, and whether it is reached.
    pub(crate) fn goal(mut self, goal: impl Into<String>, is_reached: bool) -> Self {
        self.cells[4] = goal.into();
        self.cells[5] = if is_reached { "yes" } else { "NO" }.to_owned();
        self
    }

    /// More to be known about the row.
    pub(crate) fn remark(mut self, remark: impl AsRef<str>) -> Self {
        let remarks = &mut self.cells[6];
        if !remarks.is_empty() {
            remarks.push_str("; ");
        }
        remarks.push_str(remark.as_ref());
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles = Row { cells: TITLES.map(str::to_owned) };
        let widths: [usize; 7] = std::array::from_fn(|column| {
            let cells = self.0.iter().chain([&titles]).map(|row| row.cells[column].chars().count());
            cells.max().unwrap_or_default()
        });
        let rule = Row { cells: widths.map(|width| "-".repeat(width)) };
        for row in [&titles, &rule].into_iter().chain(&self.0) {
            for (cell, width) in row.cells.iter().zip(widths) {
                write!(formatter, "| {cell:<width$} ")?;
            }
            writeln!(formatter, "|")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(times: &[u64]) -> Times {
        Times::new(times.iter().copied().map(Duration::from_millis).collect())
    }

    #[test]
    fn rows_line_up_and_say_what_is_missed() {
        let mut report = Report::default();
        let ours = milliseconds(&[3, 1, 2]);
        let row = Row::medians("start", &ours, Some(&milliseconds(&[300])));
        report.add(row.at_most(ours.median(), Duration::from_millis(4)));
        report.add(Row::value("memory", "80.0 MB").goal("≤ 64 MiB", false).remark("RssAnon").remark("once"));
        let expected = "\
| figure | ours    | peer     | peer/ours | goal     | ok  | runs (ours/peer), remarks |
| ------ | ------- | -------- | --------- | -------- | --- | ------------------------- |
| start  | 2.00 ms | 300.0 ms | 150.0     | ≤ 4 ms   | yes | 3/1                       |
| memory | 80.0 MB |          |           | ≤ 64 MiB | NO  | RssAnon; once             |
";
        assert_eq!(report.to_string(), expected);
    }
}
