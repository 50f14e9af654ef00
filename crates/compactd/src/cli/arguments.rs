//! The definition of the command line, and `completions` and `man`: the command line as shells and the manual know it.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use compaction_core::transcripts::Agent;
use session_store::SearchQuery;
use tracing_subscriber::filter::LevelFilter;

use super::failure::Failure;

/// Default for the maximum bytes of a message: 64 MiB (protocol, Framing).
pub(crate) const DEFAULT_MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// The task of this process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Invocation {
    /// Serve JSON-RPC on standard input and output.
    Serve(ServerOptions),
    /// Run one command and end.
    Run(Command),
}

impl Invocation {
    /// Reads the arguments of this process. The first one is the name of the program.
    ///
    /// Editors start the server without arguments and wait for it, so this case does not build the parser.
    ///
    /// # Errors
    /// A text for the terminal with an exit code, also for `--help` and `--version`.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        if arguments.len() < 2 {
            return Ok(Self::Serve(ServerOptions::default()));
        }
        let arguments = Arguments::try_parse_from(arguments)?;
        Ok(arguments.command.map_or(Self::Serve(arguments.server), Self::Run))
    }
}

/// The definition of the command line for generators of completions and manual pages.
pub(crate) fn definition() -> clap::Command {
    Arguments::command()
}

const AFTER_HELP: &str = "\
Examples:
  compactd                                    serve JSON-RPC on stdin and stdout
  compactd demo                               watch a sample session being compacted
  compactd compact session.jsonl --dry-run    what a compaction would do
  compactd compact session.jsonl              do it
  compactd undo session.jsonl                 take it back
  compactd show session.jsonl summary         read the last summary
  compactd tree session.jsonl                 draw the branches of a session
  compactd import ~/.claude/projects          make sessions of the transcripts of another agent

FILE may be - for standard input, where nothing is written.

Exit codes: 0 done, 1 the operation failed, 2 wrong usage, 3 nothing to do.";

/// Keeps an agent's conversation tree on disk and compacts it.
#[derive(Debug, Parser)]
#[command(
    name = "compactd",
    version,
    about = "Keeps an agent's conversation tree on disk and compacts it.",
    long_about = "Keeps an agent's conversation tree on disk and compacts it.\n\n\
                  Without a command it is a server that speaks JSON-RPC 2.0 on standard input and output.\n\
                  The commands start such a server by themselves and talk to it.",
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(flatten)]
    server: ServerOptions,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options of the server.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Server options")]
pub(crate) struct ServerOptions {
    /// How messages are separated; auto decides by the first byte
    #[arg(long, value_enum, default_value_t = FramingOption::Auto, value_name = "FRAMING")]
    pub(crate) framing: FramingOption,
    /// Refuse larger messages; takes KiB, MiB and GiB
    #[arg(long, value_parser = parse_bytes, default_value = "64MiB", value_name = "N")]
    pub(crate) max_message_bytes: usize,
    /// Append the log to a file instead of writing it to stderr
    #[arg(long, value_name = "PATH")]
    pub(crate) log_file: Option<PathBuf>,
    /// How much to log
    #[arg(long, value_parser = level_parser(), default_value_t = LevelFilter::WARN, value_name = "LEVEL")]
    pub(crate) log_level: LevelFilter,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            framing: FramingOption::Auto,
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
            log_file: None,
            log_level: LevelFilter::WARN,
        }
    }
}

/// How messages are separated (protocol, Framing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FramingOption {
    /// The first byte that is not white space decides.
    Auto,
    /// One JSON text per line.
    Lines,
    /// `Content-Length` headers, as in LSP.
    Headers,
}

/// The names of the levels of the log, the most severe ones first.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Reads the name of a level.
fn level_parser() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(LEVELS).try_map(|level| level.parse::<LevelFilter>())
}

/// The commands for people.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub(crate) enum Command {
    /// Watch a sample session being opened, compacted and navigated
    Demo(DemoOptions),
    /// Compact a session file, or say what would happen
    Compact(CompactOptions),
    /// Take back the last compaction of a session file
    Undo(UndoOptions),
    /// Show the context, the last summary or an entry of a session file
    Show(ShowOptions),
    /// List the sessions of this directory, newest activity first
    List(ListOptions),
    /// Find entries by their words, in one session file or in all sessions
    Search(SearchOptions),
    /// Find what compactions removed from the context
    Recall(RecallOptions),
    /// Draw the tree of a session file
    Tree(TreeOptions),
    /// Import transcripts of other agents as sessions
    Import(ImportOptions),
    /// Print the messages of a session in the shape of a model interface
    Export(ExportOptions),
    /// Serve recall, search and compaction as MCP tools on stdin and stdout
    Mcp(McpOptions),
    /// Handle a hook of Claude Code, whose JSON is on standard input
    Hook,
    /// Print the completions for a shell
    Completions(CompletionsOptions),
    /// Print the manual page of the program or of a command
    Man(ManOptions),
}

impl Command {
    /// Whether programs read the output. A failure is JSON then too.
    pub(crate) fn is_for_programs(&self) -> bool {
        match self {
            Self::Demo(_) | Self::Mcp(_) | Self::Hook | Self::Completions(_) | Self::Man(_) => false,
            Self::Compact(options) => options.json,
            Self::Undo(options) => options.json,
            Self::Show(options) => options.json,
            Self::List(options) => options.json,
            Self::Search(options) => options.json,
            Self::Recall(options) => options.json,
            Self::Tree(options) => options.json,
            Self::Import(options) => options.json,
            Self::Export(_) => false,
        }
    }
}

/// Options of `undo`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    long_about = "Brings back the context from before a compaction, with what came later, on a new branch. Nothing is\n\
                  deleted."
)]
pub(crate) struct UndoOptions {
    /// The session file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The compaction to undo, instead of the last one of the branch
    #[arg(long, value_name = "ID")]
    pub(crate) entry: Option<String>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The parts of a session that `show` can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shown {
    /// What the model sees
    Context,
    /// The summary of the last compaction
    Summary,
    /// One entry
    Entry,
}

/// Options of `show`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ShowOptions {
    /// The session file, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What to show
    #[arg(value_enum, default_value_t = Shown::Context, value_name = "WHAT")]
    pub(crate) what: Shown,
    /// The id of the entry, after `entry`
    #[arg(value_name = "ID", required_if_eq("what", "entry"))]
    pub(crate) entry: Option<String>,
    /// Print it as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `list`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ListOptions {
    /// List the sessions of all directories
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of sessions
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one())]
    pub(crate) limit: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `search`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct SearchOptions {
    /// Words that must all occur; a phrase in double quotes counts as one
    #[arg(value_name = "QUERY", value_parser = parse_query)]
    pub(crate) query: String,
    /// The session file, or - for standard input; all sessions without it
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Maximum number of hits, 1000 at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) limit: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `recall`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct RecallOptions {
    /// The session file, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The question
    #[arg(value_name = "QUERY", value_parser = parse_query)]
    pub(crate) query: String,
    /// Maximum tokens of the passages
    #[arg(long, value_name = "TOKENS", default_value_t = 2000, value_parser = at_least_one())]
    pub(crate) max_tokens: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `demo`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(long_about = "Starts this program as a server and drives it with a copy of a sample session:\n\
                        open, context, dry run, compaction, navigation with a branch summary. No key, no network.")]
pub(crate) struct DemoOptions {
    /// Print every message of the exchange in full
    #[arg(long)]
    pub(crate) full: bool,
}

/// Options of `compact`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    long_about = "Compacts the branch that a session file ends with. The entries stay in the file: one compaction entry\n\
                  is added, and from then on the model sees its summary instead of what was summarised.",
    after_help = "Examples:\n  \
                  compactd compact session.jsonl --dry-run\n  \
                  compactd compact session.jsonl --instructions 'keep every API name'\n  \
                  compactd compact session.jsonl --keep-recent 8000 --summarizer extractive"
)]
pub(crate) struct CompactOptions {
    /// The session file, or - for standard input with --dry-run
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Say what would be done and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What the summary should pay attention to
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// The summarizer, instead of the configured one; extractive needs no model
    #[arg(long, value_name = "NAME")]
    pub(crate) summarizer: Option<String>,
    /// Tokens of recent context that stay as they are
    #[arg(long, value_name = "TOKENS")]
    pub(crate) keep_recent: Option<u64>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `import`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    long_about = "Reads a transcript of Claude Code, Codex, opencode, OpenHands, aider, Cursor, Gemini CLI, Cline,\n\
                        Copilot CLI, Windsurf, Amp or pi, or all of a directory, and makes a session of each. The transcript\n\
                        is not changed, and every line of it is kept in the session.",
    after_help = "Examples:\n  \
                  compactd import ~/.claude/projects/-home-me-shop/5f0d6c0e.jsonl\n  \
                  compactd import ~/.codex/sessions --update\n  \
                  compactd import .aider.chat.history.md --out history.jsonl"
)]
pub(crate) struct ImportOptions {
    /// The transcript, a directory of transcripts, or - for standard input
    #[arg(value_name = "FILE|DIR")]
    pub(crate) path: PathBuf,
    /// The agent that wrote it, instead of what its first bytes tell
    #[arg(long, value_name = "NAME", value_parser = parse_agent)]
    pub(crate) format: Option<Agent>,
    /// The session file, or a directory for it, instead of the sessions of the working directory that it names
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add what is new to a session that was imported before
    #[arg(long)]
    pub(crate) update: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Messages of chat completions
    #[value(name = "openai")]
    OpenAi,
    /// Items of responses
    #[value(name = "openai-responses")]
    OpenAiResponses,
    /// Messages of Anthropic
    Anthropic,
    /// Contents of Gemini
    Gemini,
    /// Model messages of the AI SDK
    AiSdk,
    /// The transcript that was imported, byte for byte
    Transcript,
}

/// Options of `export`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    long_about = "Prints what a model sees of a session as one JSON object with the member `messages`, and `system`\n\
                        where the interface takes the instructions beside the messages."
)]
pub(crate) struct ExportOptions {
    /// The session file, or - for standard input
    #[arg(value_name = "SESSION")]
    pub(crate) file: PathBuf,
    /// The shape of the messages
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) format: ExportFormat,
    /// The entry that the branch ends with, instead of the leaf
    #[arg(long, value_name = "ID")]
    pub(crate) leaf: Option<String>,
    /// All messages of the branch, also those that compactions took out of the context
    #[arg(long)]
    pub(crate) all: bool,
    /// Write to a new file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Reads a number that is not 0.
fn at_least_one() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(1..)
}

/// Reads the words to search for.
fn parse_query(text: &str) -> Result<String, String> {
    let has_words = SearchQuery::parse(text).is_some();
    if has_words { Ok(text.to_owned()) } else { Err("it needs at least one word".to_owned()) }
}

/// Reads the name of an agent.
fn parse_agent(text: &str) -> Result<Agent, String> {
    Agent::from_name(text).ok_or_else(|| format!("one of {}", Agent::names().collect::<Vec<_>>().join(", ")))
}

/// Options of `tree`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    long_about = "Draws the tree of a session file, which is opened for reading only. Stretches without branches,\n\
                        labels or summaries are folded into one line."
)]
pub(crate) struct TreeOptions {
    /// The session file, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Show every entry
    #[arg(long)]
    pub(crate) all: bool,
    /// Print the nodes as JSON, as `getTree` returns them
    #[arg(long, conflicts_with = "all")]
    pub(crate) json: bool,
}

/// Options of `mcp`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(
    long_about = "Serves the Model Context Protocol on standard input and output, for agents that take tools from other\n\
                  programs: recall, search, list_sessions, show_context, compact and undo.",
    after_help = "Example:\n  claude mcp add compactd -- compactd mcp"
)]
pub(crate) struct McpOptions {
    /// The session of tools that name none, instead of the most recent one of the directory
    #[arg(long, value_name = "FILE")]
    pub(crate) session: Option<PathBuf>,
    /// The directory whose sessions and settings count, instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Options of `completions`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:\n  \
                  compactd completions bash > ~/.local/share/bash-completion/completions/compactd\n  \
                  compactd completions fish > ~/.config/fish/completions/compactd.fish\n  \
                  compactd completions zsh > ~/.zfunc/_compactd")]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "Examples:\n  \
                  compactd man | man -l -\n  \
                  compactd man compact > ~/.local/share/man/man1/compactd-compact.1")]
pub(crate) struct ManOptions {
    /// The command, instead of the program
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

/// Parses a number of bytes: `4096`, `64KiB`, `64MiB`, `1GiB`.
fn parse_bytes(text: &str) -> Result<usize, String> {
    let (digits, unit) = text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return Err("a number of bytes, with KiB, MiB or GiB if you like".to_owned()),
    };
    let number: usize = digits.parse().map_err(|error| format!("{error}"))?;
    let bytes = number.checked_mul(1 << shift).ok_or("too large")?;
    if bytes == 0 { Err("it must be at least 1".to_owned()) } else { Ok(bytes) }
}

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
            None => return Err(Failure::Arguments(unknown_command(name, &program))),
        },
    };
    let version = concat!("compactd ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(page).source(version).manual("User Commands").render(output).map_err(Failure::Output)
}

fn unknown_command(name: &str, program: &clap::Command) -> String {
    let commands: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    format!("no command is called {name}; there are {}", commands.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Invocation, clap::Error> {
        Invocation::read(std::iter::once("compactd").chain(arguments.iter().copied()).map(OsString::from))
    }

    fn server(arguments: &[&str]) -> ServerOptions {
        match read(arguments) {
            Ok(Invocation::Serve(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn no_arguments_give_what_the_parser_gives() {
        let parsed = Arguments::try_parse_from(["compactd"]).expect("no argument is right usage");
        assert_eq!(parsed.server, server(&[]));
        assert_eq!(parsed.command, None);
    }

    #[test]
    fn server_options_are_read() {
        let options = server(&["--framing", "headers", "--max-message-bytes", "2KiB", "--log-level", "debug"]);
        assert_eq!(options.framing, FramingOption::Headers);
        assert_eq!(options.max_message_bytes, 2048);
        assert_eq!(options.log_level, LevelFilter::DEBUG);
    }

    #[test]
    fn bytes() {
        let check = |text: &str, expected: Option<usize>| assert_eq!(parse_bytes(text).ok(), expected, "{text}");
        check("1", Some(1));
        check("4096", Some(4096));
        check("64MiB", Some(DEFAULT_MAX_MESSAGE_BYTES));
        check("64 mib", Some(DEFAULT_MAX_MESSAGE_BYTES));
        check("3k", Some(3072));
        check("0", None);
        check("", None);
        check("MiB", None);
        check("-1", None);
        check("1.5MiB", None);
        check("1TiB", None);
        check("99999999999999999999", None);
        check("18446744073709551615GiB", None);
    }

    #[test]
    fn wrong_usage_exits_with_2_and_help_with_0() {
        let check = |arguments: &[&str], code: i32| {
            assert_eq!(read(arguments).expect_err("refused").exit_code(), code, "{arguments:?}");
        };
        check(&["--help"], 0);
        check(&["--version"], 0);
        check(&["compact", "--help"], 0);
        check(&["compact"], 2);
        check(&["show", "a.jsonl", "entry"], 2);
        check(&["show", "a.jsonl", "everything"], 2);
        check(&["tree"], 2);
        check(&["tree", "a.jsonl", "--all", "--json"], 2);
        check(&["--framing", "morse"], 2);
        check(&["--max-message-bytes", "0"], 2);
        check(&["--framing", "lines", "demo"], 2);
        check(&["demos"], 2);
        check(&["list", "--limit", "0"], 2);
        check(&["search", "x", "--limit", "0"], 2);
        check(&["search", "x", "--limit", "1001"], 2);
        check(&["search", " ", "a.jsonl"], 2);
        check(&["recall", "a.jsonl", ""], 2);
        check(&["recall", "a.jsonl", "x", "--max-tokens", "0"], 2);
    }
}
