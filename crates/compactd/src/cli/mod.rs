//! The command line: commands for people, and the options of the server.
//!
//! Every command runs the server on a thread of this process and talks to it over pipes, as any other client does. Only
//! `mcp` starts this program as a server, once for each call. Output goes to a writer that is passed around.

mod arguments;
mod compact;
mod connection;
mod demo;
mod export;
mod failure;
mod hook;
mod import;
mod in_process;
mod inspect;
mod mcp;
mod terminal;

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Command;
pub(crate) use arguments::{FramingOption, Invocation, ServerOptions};
use failure::Failure;
use terminal::Terminal;

/// Runs a command. Its output goes to standard output, a failure to standard error.
pub(crate) fn run(command: &Command) -> ExitCode {
    // `mcp` writes from another thread, which would wait for a lock of standard output.
    let mut output = io::stdout();
    let outcome = execute(command, &mut output).and_then(|()| output.flush().map_err(Failure::Output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` that closes the pipe has read enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            let written = match command.is_for_programs() {
                true => writeln!(output, "{}", failure.to_json()).and_then(|()| output.flush()).is_ok(),
                false => false,
            };
            if !written {
                // If the failure cannot be written, the exit code still reports it.
                let _written = writeln!(io::stderr(), "compactd: {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn execute(command: &Command, output: &mut dyn Write) -> Result<(), Failure> {
    let terminal = Terminal::of_stdout();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Failure::System { doing: "start the runtime", source })?;
    let outcome = runtime.block_on(async {
        match command {
            Command::Demo(options) => demo::run(options, terminal, output).await,
            Command::Compact(options) => compact::run(options, terminal, output).await,
            Command::Undo(options) => compact::undo(options, terminal, output).await,
            Command::Show(options) => inspect::show(options, terminal, output).await,
            Command::List(options) => inspect::list(options, terminal, output).await,
            Command::Search(options) => inspect::search(options, terminal, output).await,
            Command::Recall(options) => inspect::recall(options, terminal, output).await,
            Command::Import(options) => import::run(options, terminal, output).await,
            Command::Export(options) => export::run(options, output).await,
            Command::Tree(options) => inspect::run(options, terminal, output).await,
            Command::Mcp(options) => mcp::run(options).await,
            Command::Hook => hook::run(output).await,
            Command::Completions(options) => arguments::completions(options, output),
            Command::Man(options) => arguments::manual(options, output),
        }
    });
    // Dropping the runtime would wait for a thread that reads standard input.
    runtime.shutdown_background();
    outcome
}
