//! The command line: commands for people, and the options of the server.
//!
//! Every command starts this program as a server and talks to it over its pipes, as any other
//! client would; none reaches past the protocol. Output goes to a writer that is passed around.

mod arguments;
mod compact;
mod connection;
mod demo;
mod export;
mod failure;
mod import;
mod line_numbers;
mod looking;
mod progress;
mod report;
mod source;
mod terminal;
mod text;
mod tree;
mod wrapped;

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Command;
pub(crate) use arguments::{FramingOption, Invocation, ServerOptions};
use failure::Failure;
use terminal::Terminal;

/// Runs a command to its end: output on standard output, failures on standard error.
pub(crate) fn run(command: &Command) -> ExitCode {
    let mut output = io::stdout().lock();
    let outcome = execute(command, &mut output).and_then(|()| output.flush().map_err(Failure::Output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Who pipes into `head` has read what they wanted.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) if command.is_for_programs() => {
            // Who reads no output has only the exit code.
            let _told = writeln!(output, "{}", failure.to_json()).and_then(|()| output.flush());
            ExitCode::from(failure.exit_code())
        }
        Err(failure) => {
            // Without standard error there is only the exit code.
            let _told = writeln!(io::stderr(), "compactd: {failure}");
            ExitCode::from(failure.exit_code())
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
            Command::Undo(options) => looking::undo(options, terminal, output).await,
            Command::Show(options) => looking::show(options, terminal, output).await,
            Command::List(options) => looking::list(options, terminal, output).await,
            Command::Search(options) => looking::search(options, terminal, output).await,
            Command::Recall(options) => looking::recall(options, terminal, output).await,
            Command::Import(options) => import::run(options, terminal, output).await,
            Command::Export(options) => export::run(options, output).await,
            Command::Tree(options) => tree::run(options, terminal, output).await,
        }
    })
}
