//! Whole sessions through JSON-RPC libraries of others; see `tests/habits`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use compactd_tests::programs::{available, command, find, install_npm, install_python, run};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("habits")
}

/// The Python that has the libraries, if they can be installed.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("habits-venv");
    PYTHON.get_or_init(|| available(install_python(&directory(), &environment))).as_deref()
}

/// Plays a session, which says `ok` at its end.
#[track_caller]
fn check(program: &Path, arguments: &[&str]) {
    let command = command(&directory(), program, arguments).expect("the server is built");
    let output = run(command).unwrap_or_else(|why| panic!("{why:#}"));
    assert!(output.lines().any(|line| line == "ok"), "{output}");
}

#[track_caller]
fn check_python(script: &str) {
    if let Some(python) = python() {
        check(python, &[script]);
    }
}

#[test]
fn vscode_jsonrpc() {
    if available(install_npm(&directory())).is_some() {
        check(Path::new("node"), &["vscode_jsonrpc.mjs"]);
    }
}

#[test]
fn python_lsp_jsonrpc() {
    check_python("lsp_jsonrpc.py");
}

#[test]
fn pygls() {
    check_python("pygls_client.py");
}

#[test]
fn pylspclient() {
    check_python("pylspclient_session.py");
}

#[test]
fn vim_lsp_rpc() {
    if let Some(python) = python() {
        let session = ["--headless", "--clean", "-l", "vim_lsp_rpc.lua"];
        check(&python.with_file_name("nvim"), &session);
    }
}

/// Where there is no Emacs, `cargo xtask hosts` installs it and plays the session.
#[test]
fn jsonrpc_el() {
    match find("emacs") {
        Ok(()) => check(Path::new("emacs"), &["--batch", "-Q", "-l", "jsonrpc_el.el"]),
        Err(why) => eprintln!("skipped: {why:#}"),
    }
}
