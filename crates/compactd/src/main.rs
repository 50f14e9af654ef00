//! `compactd`: the server, and commands for people.

mod cli;
mod log;

use std::io::{IsTerminal as _, Write as _, stderr, stdin, stdout};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use rpc_server::run::{Options, serve};
use rpc_server::transport::Framing;
use session_store::append_to_regular_file;

use cli::{FramingOption, Invocation, ServerOptions};
use log::Log;

/// Maximum time to wait for the last lines of the log.
const LOG_FLUSH_LIMIT: Duration = Duration::from_millis(200);

/// The hint for a person who starts the server in a terminal.
const TERMINAL_HINT: &str = "compactd is a server and waits for JSON-RPC messages on standard input, one on a line. \
                             End it with Ctrl-D; `compactd --help` shows the commands for people.";

fn main() -> ExitCode {
    match Invocation::read(std::env::args_os()) {
        Ok(Invocation::Serve(options)) => {
            if stdin().is_terminal() && stderr().is_terminal() {
                let _ = writeln!(stderr(), "{TERMINAL_HINT}");
            }
            run_server(&options)
        }
        Ok(Invocation::Run(command)) => cli::run(&command),
        Err(error) => {
            // Without a terminal, the exit code reports the error.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn run_server(options: &ServerOptions) -> ExitCode {
    let log = match start_log(options) {
        Ok(log) => log,
        Err(error) => {
            // Without a log and standard error, the exit code reports the error.
            let _ = writeln!(stderr(), "error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let framing = match options.framing {
        FramingOption::Auto => None,
        FramingOption::Lines => Some(Framing::Lines),
        FramingOption::Headers => Some(Framing::Headers),
    };
    let served = serve(stdin(), stdout(), Options { framing, max_message_bytes: options.max_message_bytes });
    let code = served.unwrap_or_else(|error| {
        tracing::error!("{error:#}");
        ExitCode::FAILURE
    });
    log.flush(LOG_FLUSH_LIMIT);
    code
}

/// Starts the log, which goes to standard error or a file because standard output carries only the protocol. Panics go
/// to the log too: their default report would block if nobody reads standard error.
fn start_log(options: &ServerOptions) -> anyhow::Result<Log> {
    let log = match &options.log_file {
        None => Log::spawn(stderr()),
        Some(path) => {
            let file = append_to_regular_file(path);
            Log::spawn(file.with_context(|| format!("failed to open the log file {}", path.display()))?)
        }
    };
    let log = log.context("failed to start the log")?;
    let subscriber =
        tracing_subscriber::fmt().with_max_level(options.log_level).with_ansi(false).log_internal_errors(false);
    subscriber.with_writer(log.clone()).init();
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(log)
}
