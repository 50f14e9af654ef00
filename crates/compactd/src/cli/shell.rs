//! `completions` and `man`: the command line as shells and the manual know it.

use std::io::Write;

use super::arguments::{CompletionsOptions, ManOptions, definition};
use super::failure::Failure;

/// Writes the completions for a shell.
pub(super) fn completions(options: &CompletionsOptions, output: &mut dyn Write) -> Result<(), Failure> {
    // The generator panics if it cannot write, so that it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut definition(), "compactd", &mut script);
    output.write_all(&script).map_err(Failure::Output)
}

/// Writes a manual page in the format of `man`.
pub(super) fn manual(options: &ManOptions, output: &mut dyn Write) -> Result<(), Failure> {
    let mut program = definition();
    // Gives each command its full name.
    program.build();
    let page = match &options.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return Err(Failure::Refused(unknown_command(name, &program))),
        },
    };
    let version = concat!("compactd ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(page).source(version).manual("User Commands").render(output).map_err(Failure::Output)
}

fn unknown_command(name: &str, program: &clap::Command) -> String {
    let commands: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    format!("no command is called {name}; there are {}", commands.join(", "))
}
