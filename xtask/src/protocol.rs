//! Files that are generated from the server's own description of its protocol.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::codegen;
use crate::steps::say;
use crate::workspace::{build_server, root};

/// The longest wait for the description.
const PATIENCE: Duration = Duration::from_secs(30);
const SCHEMAS: &str = "protocol/schemas";
/// Exchanges that the test `examples` records and plays again.
const EXAMPLES: &str = "protocol/examples.json";

/// A file that is generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path under the root of the workspace.
    pub path: PathBuf,
    /// What it must hold.
    pub text: String,
}

/// Builds the server and writes the generated files, or only compares them.
///
/// # Errors
/// When the server cannot be built or asked, a file cannot be written, or, comparing, when files are stale.
pub fn protocol(only_check: bool) -> anyhow::Result<()> {
    let server = build_server("dev")?;
    if only_check { check(&server) } else { write(&root(), &generate(&discover(&server)?)?) }
}

/// Compares the committed files with what the server says.
///
/// # Errors
/// With the names of stale files.
pub fn check(server: &Path) -> anyhow::Result<()> {
    let stale = stale(&root(), &generate(&discover(server)?)?)?;
    if stale.is_empty() {
        say("the generated files are up to date");
        return Ok(());
    }
    let names: Vec<String> = stale.iter().map(|path| path.display().to_string()).collect();
    bail!("stale files, to be written by `cargo xtask protocol`:\n  {}", names.join("\n  "))
}

/// Asks a server for its OpenRPC document.
///
/// # Errors
/// When it does not start or does not answer in time.
pub fn discover(server: &Path) -> anyhow::Result<Value> {
    let mut command = Command::new(server);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().with_context(|| format!("failed to start {}", server.display()))?;
    let mut input = child.stdin.take().context("standard input is piped")?;
    let output = child.stdout.take().context("standard output is piped")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        // Nobody waits any more after a time-out.
        let _ = sender.send(read.map(|_| line));
    });
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}\n")?;
    let line = receiver.recv_timeout(PATIENCE);
    drop(input);
    let _ = child.kill();
    child.wait()?;
    let reply: Value = serde_json::from_str(&line.context("the server did not answer in time")??)?;
    reply.get("result").cloned().with_context(|| format!("the server refused to describe itself: {reply}"))
}

/// All files that follow from an OpenRPC document.
///
/// # Errors
/// When the document cannot be written as JSON, or the examples cannot be read.
pub fn generate(document: &Value) -> anyhow::Result<Vec<GeneratedFile>> {
    let file = |path: &str, text: String| GeneratedFile { path: path.into(), text };
    let examples = std::fs::read_to_string(root().join(EXAMPLES)).context("failed to read the examples")?;
    let document = &codegen::with_examples(document, &serde_json::from_str(&examples)?);
    let mut files = vec![
        file("protocol/openrpc.json", serde_json::to_string_pretty(document)? + "\n"),
        file("protocol/openrpc-client.json", serde_json::to_string_pretty(&codegen::client_openrpc(document))? + "\n"),
        file("protocol/types.json", codegen::json_types(document)),
        file("protocol/reference.md", codegen::markdown_reference(document)),
        file("clients/rust/src/protocol.rs", codegen::rust(document)),
        file("clients/typescript/src/protocol.ts", codegen::typescript(document)),
        file("clients/python/compactd_client/protocol.py", codegen::python(document)),
    ];
    let schemas = codegen::json_schemas(document).into_iter();
    files.extend(schemas.map(|(name, text)| file(&format!("{SCHEMAS}/{name}"), text)));
    Ok(files)
}

/// Files that are missing or differ, and schemas that nothing generates any more.
///
/// # Errors
/// When the directory of the schemas cannot be listed.
pub fn stale(root: &Path, files: &[GeneratedFile]) -> anyhow::Result<Vec<PathBuf>> {
    let differs =
        |file: &&GeneratedFile| std::fs::read_to_string(root.join(&file.path)).ok().as_ref() != Some(&file.text);
    let mut stale: Vec<PathBuf> = files.iter().filter(differs).map(|file| file.path.clone()).collect();
    stale.extend(left_over(root, files)?);
    Ok(stale)
}

/// Writes the stale files and removes schemas that are left over.
///
/// # Errors
/// When the disk does not take it.
pub fn write(root: &Path, files: &[GeneratedFile]) -> anyhow::Result<()> {
    for path in left_over(root, files)? {
        say(&format!("removed {}", path.display()));
        std::fs::remove_file(root.join(path))?;
    }
    let stale: BTreeSet<PathBuf> = stale(root, files)?.into_iter().collect();
    for file in files.iter().filter(|file| stale.contains(&file.path)) {
        let path = root.join(&file.path);
        std::fs::create_dir_all(path.parent().context("a file lies in a directory")?)?;
        std::fs::write(&path, &file.text).with_context(|| format!("failed to write {}", path.display()))?;
        say(&format!("wrote {}", file.path.display()));
    }
    Ok(())
}

fn left_over(root: &Path, files: &[GeneratedFile]) -> anyhow::Result<Vec<PathBuf>> {
    let directory = root.join(SCHEMAS);
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let generated: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let mut left_over = Vec::new();
    for item in std::fs::read_dir(&directory)? {
        let path = Path::new(SCHEMAS).join(item?.file_name());
        if !generated.contains(path.as_path()) {
            left_over.push(path);
        }
    }
    left_over.sort();
    Ok(left_over)
}
