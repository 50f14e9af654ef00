//! Measures the server as a client sees it: over pipes, in processes of its own.

mod machine;
mod pipe;
mod scenario;
mod table;

use anyhow::Context as _;
use compactd_tests::binary::binary;

use crate::scenario::{Effort, Scenario};
use crate::table::Table;

#[expect(clippy::print_stdout, reason = "a measuring program reports to a terminal")]
fn main() -> anyhow::Result<()> {
    let effort = if std::env::args().any(|argument| argument == "--quick") { Effort::quick() } else { Effort::full() };
    let binary = binary()?;
    let scenario = Scenario::new(binary, effort)?;
    println!("{}", machine::describe().context("failed to describe the machine")?);
    println!("{}\n", scenario.describe()?);
    let mut table = Table::default();
    scenario.measure(&mut table)?;
    println!("{table}");
    Ok(())
}
