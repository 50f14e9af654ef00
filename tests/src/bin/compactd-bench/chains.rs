//! Contexts of very many small entries: what they take in memory.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::Bench;
use crate::appends::message;
use crate::memory;
use crate::pipe::Pipe;
use crate::report::{Report, Row};
use crate::times::shown;

const ID: &str = "chain";
const TIME: &str = "2025-11-20T23:33:01.000Z";
const MEMORY_GOAL: u64 = 1_000_000_000;

/// A chain of entries without a compaction: its first context, an append, and its context again.
pub(crate) fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let entries = bench.effort.chain;
    let path = bench.directory.join("chain.jsonl");
    write(&path, entries)?;
    let mut pipe = Pipe::initialized(&bench.binary, &bench.directory)?;
    let of = json!({ "sessionId": ID });
    let started = Instant::now();
    pipe.timed("openSession", &json!({ "path": path }))?;
    pipe.timed("getContext", &of)?;
    let first = started.elapsed();
    pipe.timed("appendMessage", &json!({ "sessionId": ID, "message": message(0) }))?;
    pipe.timed("getContext", &of)?;
    if let Some(peak) = pipe.memory("VmHWM") {
        let row = Row::value(format!("peak memory with a context of {entries} entries"), memory::shown(peak));
        let row = row.goal("≤ 1 GB", peak <= MEMORY_GOAL).remark("VmHWM");
        report.add(row.remark(format!("its first context took {}", shown(first))));
    }
    Ok(std::fs::remove_file(path)?)
}

fn write(path: &Path, entries: usize) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, r#"{{"type":"session","version":3,"id":"{ID}","timestamp":"{TIME}","cwd":"/project"}}"#)?;
    let mut parent = "null".to_owned();
    for number in 0..entries {
        let content = match number % 2 {
            0 => format!(r#"{{"role":"user","content":"message {number}","timestamp":0}}"#),
            _ => format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"answer {number}"}}],"timestamp":0}}"#
            ),
        };
        let members = format!(r#""parentId":{parent},"timestamp":"{TIME}","message":{content}"#);
        writeln!(file, r#"{{"type":"message","id":"{number:08x}",{members}}}"#)?;
        parent = format!(r#""{number:08x}""#);
    }
    Ok(file.flush()?)
}
