//! Completions and manual pages, read by the programs that they are for where these are installed.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::harness::Sandbox;

pub(crate) const COMMANDS: [&str; 14] = [
    "demo",
    "compact",
    "undo",
    "show",
    "list",
    "search",
    "recall",
    "tree",
    "import",
    "export",
    "mcp",
    "hook",
    "completions",
    "man",
];

/// Gives `input` to a program and returns its output; `None` if it is not installed.
#[expect(clippy::print_stderr, reason = "a check that is left out is named")]
fn read_by(program: &str, arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("skipped: {program} is not installed");
        return None;
    };
    let mut pipe = child.stdin.take().expect("it was piped");
    pipe.write_all(input.as_bytes()).expect("the program reads its input");
    drop(pipe);
    let output = child.wait_with_output().expect("the program ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{program} {arguments:?}: {}: {stderr}", output.status);
    Some(String::from_utf8(output.stdout).expect("output is UTF-8"))
}

#[test]
fn every_shell_gets_completions_that_it_can_read() {
    for (shell, check) in [
        ("bash", Some(("bash", &["-n"][..]))),
        ("zsh", Some(("zsh", &["-n"]))),
        ("fish", Some(("fish", &["--no-execute"]))),
        ("powershell", None),
        ("elvish", Some(("elvish", &["-compileonly"]))),
    ] {
        let script = Sandbox::new().run(&["completions", shell]).ok();
        for name in COMMANDS.iter().chain(&["--framing", "--keep-recent"]) {
            // fish lists long options without their dashes.
            assert!(script.contains(name.trim_start_matches('-')), "{name} for {shell}");
        }
        if let Some((program, arguments)) = check {
            read_by(program, arguments, &script);
        }
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let script = Sandbox::new().run(&["completions", "bash"]).ok();
    let check = |words: &str, expected: &[&str]| {
        let last = words.split(' ').count() - 1;
        let ask = format!(
            "{script}\nCOMP_WORDS=({words})\nCOMP_CWORD={last}\n_compactd compactd \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{last}-1]}}\"\necho \"${{COMPREPLY[@]}}\"\n"
        );
        if let Some(replies) = read_by("bash", &["--norc", "-s"], &ask) {
            assert_eq!(replies.split_whitespace().collect::<Vec<_>>(), expected, "{words}");
        }
    };
    check("compactd comp", &["compact", "completions"]);
    check("compactd compact --dr", &["--dry-run"]);
    check("compactd completions p", &["powershell"]);
}

#[test]
fn a_shell_that_is_unknown_is_wrong_usage() {
    let stderr = Sandbox::new().run(&["completions", "tcsh"]).failed(2);
    assert!(stderr.contains("powershell"), "{stderr}");
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_every_command() {
    let program = Sandbox::new().run(&["man"]).ok();
    for command in COMMANDS {
        assert!(program.contains(&format!("compactd\\-{command}(1)")), "{command} in\n{program}");
        let page = Sandbox::new().run(&["man", command]).ok();
        assert!(page.contains(&format!(".TH compactd-{command} 1")), "{page}");
    }
    for (page, words) in [(program, "Exit codes"), (Sandbox::new().run(&["man", "compact"]).ok(), "--keep-recent")] {
        if let Some(shown) = read_by("groff", &["-man", "-ww", "-T", "ascii", "-P", "-cbou"], &page) {
            assert!(shown.contains(words), "{words} in\n{shown}");
        }
    }
}

#[test]
fn a_manual_page_of_no_command_is_refused_with_those_that_exist() {
    let stderr = Sandbox::new().run(&["man", "compress"]).failed(2);
    assert!(stderr.contains("compress") && stderr.contains("compact, "), "{stderr}");
}
