//! What was measured, as a table.

use std::fmt;
use std::time::Duration;

/// Rows of a name, a value and a remark.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<[String; 3]>);

impl Table {
    /// A row with the median of `times`.
    pub(crate) fn median(&mut self, name: &str, times: &mut [Duration], remark: &str) {
        let value = shown(quantile(times, 0.5));
        let remark = format!("median of {}{}{remark}", times.len(), if remark.is_empty() { "" } else { "; " });
        self.row(name, value, &remark);
    }

    /// Any row.
    pub(crate) fn row(&mut self, name: &str, value: String, remark: &str) {
        self.0.push([name.to_owned(), value, remark.to_owned()]);
    }
}

/// The value below which the given part of `times` lies; they are sorted by this.
pub(crate) fn quantile(times: &mut [Duration], part: f64) -> Duration {
    times.sort();
    let last = times.len().saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index between 0 and the last one")]
    let index = (part * last as f64).round() as usize;
    times.get(index).copied().unwrap_or_default()
}

/// A time in the unit that suits it.
pub(crate) fn shown(time: Duration) -> String {
    match time.as_nanos() {
        0..10_000_000 => format!("{:.1} µs", time.as_secs_f64() * 1e6),
        _ => format!("{:.1} ms", time.as_secs_f64() * 1e3),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.0.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (names, values) = (width(0), width(1));
        for [name, value, remark] in &self.0 {
            writeln!(formatter, "{name:<names$}  {value:>values$}  {remark}")?;
        }
        Ok(())
    }
}
