//! `compactd tree FILE`: the branches of a session, drawn.

mod drawing;
mod outline;

use std::io::Write;

use serde_json::{Value, json};

use super::arguments::TreeOptions;
use super::failure::Failure;
use super::source::Source;
use super::terminal::{Terminal, one_line};
use super::text::count;

pub(super) use outline::Outline;

/// Runs the command and writes the drawing to `output`.
pub(super) async fn run(options: &TreeOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let (connection, session) = source.open(true).await?;
    let tree = connection.call("getTree", &json!({ "sessionId": session["sessionId"] })).await;
    let ended = connection.shutdown().await;
    let tree = tree?;
    let drawn = match options.json {
        true => writeln!(output, "{tree}"),
        false => draw(&session, &tree, options.all, terminal, output),
    };
    drawn.map_err(Failure::Output)?;
    ended.map(|_| ())
}

/// Draws the result of `getTree`, with a title and what was odd about the file.
pub(super) fn draw(
    session: &Value,
    tree: &Value,
    all: bool,
    terminal: Terminal,
    output: &mut dyn Write,
) -> std::io::Result<()> {
    let outline = Outline::read(tree, all);
    writeln!(output, "{}", terminal.bold(&title(session, &outline)))?;
    for line in outline.lines() {
        writeln!(output, "{}", drawing::line(&line, terminal))?;
    }
    if outline.lines().iter().any(|line| matches!(line.shown, outline::Shown::Folded(_))) {
        writeln!(output, "{}", terminal.dim("Entries without branches are folded; --all shows them."))?;
    }
    for diagnostic in session["diagnostics"].as_array().into_iter().flatten() {
        let line = diagnostic["line"].as_u64().map(|line| format!("line {line}: ")).unwrap_or_default();
        let message = one_line(diagnostic["message"].as_str().unwrap_or_default());
        writeln!(output, "{}", terminal.yellow(&format!("! {line}{message}")))?;
    }
    Ok(())
}

fn title(session: &Value, outline: &Outline) -> String {
    let path = one_line(session["path"].as_str().unwrap_or("session in memory"));
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let version = session["migratedFrom"].as_u64().map(|version| format!(", version {version}")).unwrap_or_default();
    let (entries, ends) = (count(outline.len() as u64, "entry"), count(outline.ends() as u64, "branch"));
    format!("{name}: {entries}, {ends}{version}")
}

#[cfg(test)]
mod tests;
