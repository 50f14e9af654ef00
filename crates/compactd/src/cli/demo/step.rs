//! One step of the demo: request, notifications, reply, and what it means.

use std::io::{self, Write};
use std::time::Duration;

use compactd_client::{Direction, Notification};
use serde_json::Value;

use super::replies::{essentials, notification_lines};
use crate::cli::connection::Frame;
use crate::cli::terminal::{Terminal, cut, one_line, width};
use crate::cli::text::time;

/// Characters of a string in a request that is shown shortened.
const SHOWN_STRING: usize = 24;

/// A call that was made.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) number: usize,
    pub(super) method: &'static str,
    pub(super) purpose: &'static str,
    pub(super) params: Value,
    pub(super) result: Value,
    pub(super) notifications: Vec<Notification>,
    pub(super) frames: Vec<Frame>,
    pub(super) took: Duration,
    pub(super) meaning: String,
}

/// Writes the step; `full` shows the messages as they went over the pipes.
pub(super) fn print(step: &Step, full: bool, terminal: Terminal, output: &mut dyn Write) -> io::Result<()> {
    let name = format!("{}. {}", step.number, step.method);
    writeln!(output, "{}: {}", terminal.bold(&name), step.purpose)?;
    if full {
        print_frames(step, terminal, output)?
    } else {
        print_essentials(step, terminal, output)?
    }
    writeln!(output, "   {}\n", terminal.dim(&step.meaning))
}

fn print_frames(step: &Step, terminal: Terminal, output: &mut dyn Write) -> io::Result<()> {
    for (direction, message) in &step.frames {
        let arrow = match direction {
            Direction::Sent => terminal.cyan("→"),
            Direction::Received => terminal.green("←"),
        };
        writeln!(output, " {arrow} {}", one_line(message))?;
    }
    Ok(())
}

fn print_essentials(step: &Step, terminal: Terminal, output: &mut dyn Write) -> io::Result<()> {
    let columns = terminal.columns().saturating_sub(3);
    let request = format!("{} {}", step.method, shortened(&step.params));
    writeln!(output, " {} {}", terminal.cyan("→"), cut(&request, columns))?;
    for line in notification_lines(&step.notifications) {
        writeln!(output, " {} {}", terminal.yellow("~"), cut(&line, columns))?;
    }
    let took = time(step.took);
    let reply = cut(&essentials(step.method, &step.result), columns.saturating_sub(width(&took) + 2));
    writeln!(output, " {} {reply}  {}", terminal.green("←"), terminal.dim(&took))
}

/// The parameters on one line, long strings cut in their middle's favour: paths end with what
/// tells them apart.
fn shortened(params: &Value) -> String {
    let mut params = params.clone();
    let mut open = vec![&mut params];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => shorten(text),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values_mut()),
            _ => {}
        }
    }
    one_line(&params.to_string())
}

fn shorten(text: &mut String) {
    let length = text.chars().count();
    if length > SHOWN_STRING {
        let end: String = text.chars().skip(length - SHOWN_STRING + 1).collect();
        *text = format!("…{end}");
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    fn step() -> Step {
        let params = RawValue::from_string(r#"{"tokensBefore":43552}"#.to_owned()).expect("it is JSON");
        Step {
            number: 5,
            method: "compact",
            purpose: "now for real",
            params: json!({ "sessionId": "s", "path": format!("/{}/session.jsonl", "long/".repeat(20)) }),
            result: json!({ "entryId": "0a1b2c3d", "tokensBefore": 43552, "tokensAfter": 21806, "summarizer": "extractive" }),
            notifications: vec![Notification { method: "compactionStart".to_owned(), params }],
            frames: vec![
                (Direction::Sent, r#"{"id":1}"#.to_owned()),
                (Direction::Received, r#"{"result":{}}"#.to_owned()),
            ],
            took: Duration::from_micros(12_400),
            meaning: "One line was added.".to_owned(),
        }
    }

    fn printed(full: bool) -> String {
        let mut output = Vec::new();
        print(&step(), full, Terminal::plain(100), &mut output).expect("memory takes everything");
        String::from_utf8(output).expect("it is text")
    }

    #[test]
    fn the_essentials_of_a_step() {
        expect![[r#"
            5. compact: now for real
             → compact {"path":"…ong/long//session.jsonl","sessionId":"s"}
             ~ compactionStart: 43,552 tokens
             ← entry 0a1b2c3d, 43,552 → 21,806 tokens, written by extractive  12 ms
               One line was added.

        "#]]
        .assert_eq(&printed(false));
    }

    #[test]
    fn the_frames_of_a_step() {
        expect![[r#"
            5. compact: now for real
             → {"id":1}
             ← {"result":{}}
               One line was added.

        "#]]
        .assert_eq(&printed(true));
    }
}
