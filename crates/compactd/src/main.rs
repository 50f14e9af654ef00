//! `compactd`: the server, and commands for people.

mod cli;
mod log;

use std::io::{ErrorKind, IsTerminal as _, Write as _, stderr, stdin, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use rpc_server::run::{Options, serve};
use rpc_server::transport::Framing;
use signal_hook::consts::SIGXFSZ;

use cli::{FramingOption, Invocation, ServerOptions};

/// The hint for a person who starts the server in a terminal.
const TERMINAL_HINT: &str = "compactd is a server and waits for JSON-RPC messages on standard input, one on a line. \
                             End it with Ctrl-D; `compactd --help` shows the commands for people.";

fn main() -> ExitCode {
    // A file that reaches the limit of its size is an error of the write then, as one on a full disk is.
    if let Err(error) = signal_hook::flag::register(SIGXFSZ, Arc::default()) {
        let _ = writeln!(stderr(), "compactd: handle the signal of a file that is too large: {error}");
    }
    match Invocation::read(std::env::args_os()) {
        Ok(Invocation::Serve(options)) => {
            if stdin().is_terminal() && stderr().is_terminal() {
                let _ = writeln!(stderr(), "{TERMINAL_HINT}");
            }
            run_server(&options)
        }
        Ok(Invocation::Run(command)) => cli::run(&command),
        Err(error) => {
            // Without standard error, the exit code reports wrong usage.
            let printed = error.print().and_then(|()| stdout().flush());
            match printed {
                Err(failed) if !error.use_stderr() && failed.kind() != ErrorKind::BrokenPipe => {
                    let _ = writeln!(stderr(), "compactd: write the output: {failed}");
                    ExitCode::FAILURE
                }
                _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
            }
        }
    }
}

fn run_server(options: &ServerOptions) -> ExitCode {
    let log = match log::start(options.log_file.as_deref(), options.log_level) {
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
    log.flush(log::FLUSH_LIMIT);
    code
}
