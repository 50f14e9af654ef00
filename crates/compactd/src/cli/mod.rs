//! The command line: `demo`, `compact`, `tree`, and the options of the server.
//!
//! Every command starts this program as a server and talks to it over its pipes, as any other
//! client would; none reaches past the protocol. Output goes to a writer that is passed around.

mod arguments;
mod compact;
mod connection;
mod demo;
mod failure;
mod line_numbers;
mod progress;
mod report;
mod terminal;
mod text;
mod tree;

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Command;
pub(crate) use arguments::{FramingOption, Invocation, ServerOptions};
use failure::Failure;
use terminal::Terminal;

/// Exit code of a command that failed.
const FAILED: u8 = 1;

/// Runs a command to its end: output on standard output, failures on standard error.
pub(crate) fn run(command: &Command) -> ExitCode {
    let mut output = io::stdout().lock();
    let outcome = execute(command, &mut output).and_then(|()| output.flush().map_err(Failure::Output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Who pipes into `head` has read what they wanted.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            // Without standard error there is only the exit code.
            let _told = writeln!(io::stderr(), "compactd: {failure}");
            ExitCode::from(FAILED)
        }
    }
}

fn execute(command: &Command, output: &mut dyn Write) -> Result<(), Failure> {
    let terminal = Terminal::of_stdout();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::System { doing: "start the runtime", source })?;
    runtime.block_on(async {
        match command {
            Command::Demo(options) => demo::run(options, terminal, output).await,
            Command::Compact(options) => compact::run(options, terminal, output).await,
            Command::Tree(options) => tree::run(options, terminal, output).await,
        }
    })
}
