//! The compiler of the members of the workspace. One call compiles a crate, lints it and writes its documentation.
//!
//! `cargo clippy` and `cargo doc` check the members, and all crates that these depend on, for themselves. A build cannot use
//! what they checked, and checking everything is a quarter of the time of a first `cargo xtask test`. The program that
//! lints is a complete compiler, so it compiles the tests, too. Rustdoc then gets the arguments of the compiler.
//!
//! Cargo calls this program in place of the compiler of members (`RUSTC_WORKSPACE_WRAPPER`), with the path of the compiler
//! and the arguments for it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use anyhow::{Context as _, anyhow, bail};

use crate::workspace::root;

/// Makes the cargo command `command` compile the members of the workspace with this program.
///
/// # Errors
/// When the program cannot be copied.
pub(crate) fn lint_while_building(command: &mut Command) -> anyhow::Result<()> {
    static COPY: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| copy_self().map_err(|error| format!("{error:#}")));
    let compiler = COPY.as_ref().map_err(|error| anyhow!("{error}"))?;
    command.env("RUSTC_WORKSPACE_WRAPPER", compiler).env("CLIPPY_ARGS", LINT_ARGUMENTS);
    Ok(())
}

/// A copy of this program. Cargo replaces the original while it builds the workspace. The copy has the same path each time,
/// because cargo compiles everything again for another one.
fn copy_self() -> anyhow::Result<PathBuf> {
    let original = std::env::current_exe()?;
    let directory = root().join("target/compiler");
    std::fs::create_dir_all(&directory)?;
    let unfinished = directory.join(format!("copy-{}", std::process::id()));
    let copied = std::fs::copy(&original, &unfinished);
    copied.with_context(|| format!("failed to copy {} to {}", original.display(), unfinished.display()))?;
    let copy = directory.join(format!("xtask{}", std::env::consts::EXE_SUFFIX));
    std::fs::rename(&unfinished, &copy)?;
    Ok(copy)
}

/// The arguments `--deny warnings`, in the form in which the linter reads them.
const LINT_ARGUMENTS: &str = "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Whether cargo called this program with `arguments` in place of the compiler.
pub fn is_compiler_call(arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|first| Path::new(first).file_stem() == Some(OsStr::new("rustc")))
}

/// Compiles and lints the crate that `arguments` are about. Writes its documentation, if it is a library or a program and
/// not a test.
///
/// # Errors
/// When a part fails. It has printed why, in the form that cargo reads.
pub fn compile(arguments: &[OsString]) -> anyhow::Result<()> {
    let mut of_compiler = arguments.to_vec();
    if std::env::var_os("CI").is_some() && is_worth_optimising(arguments) {
        of_compiler.extend(["-C".into(), "opt-level=1".into()]);
    }
    let compiler = arguments.first().map_or(Path::new(""), Path::new);
    run_tool(compiler, "clippy-driver", &of_compiler)?;
    match arguments_of_rustdoc(arguments) {
        Some(arguments) => run_tool(compiler, "rustdoc", &arguments),
        None => Ok(()),
    }
}

/// Whether tests spend most of their time in this crate. Where all is built once, optimising it is worth the time. Where a
/// person edits the crate, it is not. Its own tests are short, and compiling them takes as long as the crate.
fn is_worth_optimising(arguments: &[OsString]) -> bool {
    arguments.windows(2).any(|two| two[0] == "--crate-name" && two[1] == "compaction_core")
        && !arguments.iter().any(|argument| argument == "--test")
}

/// Runs a tool of the toolchain. It lies beside the compiler, or where `PATH` leads.
fn run_tool(compiler: &Path, tool: &str, arguments: &[OsString]) -> anyhow::Result<()> {
    let beside = compiler.with_file_name(format!("{tool}{}", std::env::consts::EXE_SUFFIX));
    let program = if compiler.is_absolute() && beside.is_file() { beside } else { tool.into() };
    let status = Command::new(program).args(arguments).status().with_context(|| format!("failed to start {tool}"))?;
    if status.success() { Ok(()) } else { bail!("{tool} ended with {status}") }
}

/// Options that rustdoc does not get, each with its value in the next argument.
const WITH_NEXT: [&str; 2] = ["-C", "--out-dir"];
/// How the options begin that rustdoc does not get and that are one argument. Levels of lints are for the linter.
const ALONE: [&str; 5] = ["--emit=", "--warn=", "--deny=", "--forbid=", "--allow="];

/// The arguments with which rustdoc documents the crate that the compiler gets `arguments` for. `None` for tests, build
/// scripts and questions about the compiler itself.
fn arguments_of_rustdoc(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let arguments: Vec<&str> = arguments.iter().skip(1).map(|argument| argument.to_str()).collect::<Option<_>>()?;
    let value = |name: &str| arguments.iter().skip_while(|argument| **argument != name).nth(1).copied();
    let kind = value("--crate-type").filter(|kind| ["lib", "bin"].contains(kind))?;
    let has_source = arguments.iter().any(|argument| argument.ends_with(".rs"));
    let is_build_script = value("--crate-name").is_some_and(|name| name.starts_with("build_script_"));
    if !has_source || is_build_script || arguments.contains(&"--test") {
        return None;
    }
    let mut kept: Vec<OsString> = Vec::new();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        if WITH_NEXT.contains(&argument) {
            rest.next();
        } else if !ALONE.iter().any(|start| argument.starts_with(start)) {
            kept.push(argument.into());
        }
    }
    // Nobody uses the items of a program from outside. Cargo documents its private ones.
    if kind == "bin" {
        kept.push("--document-private-items".into());
    }
    kept.extend(["--deny=warnings".into(), "--out-dir".into(), root().join("target/doc").into()]);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rustdoc(arguments: &str) -> Option<String> {
        let arguments: Vec<OsString> = arguments.split(' ').map(Into::into).collect();
        let arguments = arguments_of_rustdoc(&arguments)?;
        Some(arguments.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn rustdoc_gets_what_it_understands() {
        let common =
            "rustc --crate-name one --edition=2024 src/lib.rs --error-format=json --json=artifacts --crate-type";
        let library = format!(
            "{common} lib --emit=dep-info,metadata,link -C opt-level=1 --forbid=unsafe_code --cfg feature=\"a\" -C metadata=2 \
             --out-dir /target/debug -L dependency=/target/deps --extern two=/target/deps/libtwo.rlib"
        );
        let end = format!("--deny=warnings --out-dir {}", root().join("target/doc").display());
        let kept = "--cfg feature=\"a\" -L dependency=/target/deps --extern two=/target/deps/libtwo.rlib";
        let common_of_rustdoc = common.strip_prefix("rustc ").expect("the compiler comes first");
        assert_eq!(rustdoc(&library), Some(format!("{common_of_rustdoc} lib {kept} {end}")));
        let program = format!("{common} bin");
        assert_eq!(rustdoc(&program), Some(format!("{common_of_rustdoc} bin --document-private-items {end}")));
    }

    #[test]
    fn tests_and_build_scripts_are_not_documented() {
        for arguments in [
            "rustc -vV",
            "rustc --crate-name one src/lib.rs --emit=link --test",
            "rustc --crate-name build_script_build build.rs --crate-type bin",
            "rustc - --crate-name ___ --print=file-names --crate-type bin --crate-type rlib",
            "rustc --crate-name one src/lib.rs --crate-type proc-macro",
        ] {
            assert_eq!(rustdoc(arguments), None, "{arguments}");
        }
    }

    #[test]
    fn the_core_is_optimised_but_for_its_tests() {
        let is_worth = |arguments: &str| is_worth_optimising(&arguments.split(' ').map(Into::into).collect::<Vec<_>>());
        assert!(is_worth("rustc --crate-name compaction_core --edition=2024 src/lib.rs"));
        assert!(!is_worth("rustc --crate-name compaction_core --edition=2024 src/lib.rs --test"));
        assert!(!is_worth("rustc --crate-name rpc_server --extern compaction_core=a.rlib"));
    }

    #[test]
    fn cargo_calls_with_the_path_of_the_compiler() {
        let is_call = |first: &str| is_compiler_call(&[first.into(), "-vV".into()]);
        assert!(is_call("rustc") && is_call("/toolchain/bin/rustc"));
        assert!(!is_call("test") && !is_compiler_call(&[]));
    }
}
