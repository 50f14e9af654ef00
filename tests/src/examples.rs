//! The exchanges that the reference shows: recorded while the cases of `conformance/examples.json` are played, with
//! everything that differs from run to run put in its place.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context as _, anyhow};
use regex_lite::Regex;
use serde_json::{Map, Value, json};

use crate::conformance::{Exchanged, codes, directory, load, record};

/// Plays the cases and gives their exchanges: `methods` with `params` and `result`, `clientMethods` likewise,
/// `notifications` and `clientNotifications` with their `params`, `errors` by kind with the request. The first exchange
/// of each kind counts.
///
/// # Errors
/// When a case fails.
pub fn examples(binary: &Path) -> anyhow::Result<Value> {
    let topics = load(&directory())?;
    let topic = topics.iter().find(|topic| topic.name == "examples").context("there is no examples.json")?;
    let mut examples = Examples::default();
    for case in &topic.cases {
        let (exchanges, root) = record(binary, case).map_err(|report| anyhow!("{}: {report}", case.name))?;
        let mut names = Names::new(&root);
        for exchanged in exchanges {
            examples.add(&exchanged.server, exchanged.is_sent, &names.replaced(&exchanged));
        }
        examples.waiting.clear();
    }
    Ok(examples.into_json())
}

#[derive(Debug, Default)]
struct Examples {
    methods: BTreeMap<String, Value>,
    client_methods: BTreeMap<String, Value>,
    notifications: BTreeMap<String, Value>,
    client_notifications: BTreeMap<String, Value>,
    errors: BTreeMap<String, Value>,
    /// Requests without a reply, by who sent them (true: the client), server and id.
    waiting: HashMap<(bool, String, String), Value>,
    /// What was sent last and is no JSON-RPC request.
    odd: Option<Value>,
}

impl Examples {
    fn add(&mut self, server: &str, is_sent: bool, message: &Value) {
        if let Value::Array(batch) = message {
            batch.iter().for_each(|message| self.add(server, is_sent, message));
            return;
        }
        let id = message.get("id").map(Value::to_string);
        let method = message.get("method").and_then(Value::as_str);
        match (method, id) {
            (Some(_), Some(id)) => drop(self.waiting.insert((is_sent, server.to_owned(), id), message.clone())),
            (Some(method), None) => {
                let notifications = if is_sent { &mut self.client_notifications } else { &mut self.notifications };
                notifications.entry(method.to_owned()).or_insert_with(|| message["params"].clone());
            }
            (None, Some(id)) if is_sent && message.get("result").is_none() && message.get("error").is_none() => {
                drop(self.waiting.insert((true, server.to_owned(), id), message.clone()));
            }
            (None, Some(id)) => self.answer(&(!is_sent, server.to_owned(), id), message),
            (None, None) => self.odd = Some(message.clone()),
        }
    }

    fn answer(&mut self, asked: &(bool, String, String), message: &Value) {
        let is_of_client = asked.0;
        let request = self.waiting.remove(asked).or_else(|| self.odd.take()).unwrap_or(Value::Null);
        if let Some(result) = message.get("result").filter(|_| request.get("method").is_some()) {
            let methods = if is_of_client { &mut self.methods } else { &mut self.client_methods };
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            methods.entry(method).or_insert_with(|| json!({ "params": request["params"], "result": result }));
        }
        if let Some(error) = message.get("error").filter(|_| is_of_client) {
            let kind = error["data"]["kind"].as_str().unwrap_or_default().to_owned();
            self.errors.entry(kind).or_insert_with(|| json!({ "request": request, "error": error }));
        }
    }

    fn into_json(mut self) -> Value {
        if let Some(document) = self.methods.get_mut("rpc.discover") {
            document["result"] =
                json!({ "openrpc": document["result"]["openrpc"], "info": document["result"]["info"] });
        }
        json!({
            "methods": self.methods,
            "clientMethods": self.client_methods,
            "notifications": self.notifications,
            "clientNotifications": self.client_notifications,
            "errors": self.errors,
        })
    }
}

/// What is called otherwise in every run, and its names in the examples.
struct Names {
    root: String,
    ids: Vec<String>,
}

static UUID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("it is right"));
/// Ids of entries that the server made; those of the laid out sessions are written otherwise.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| Regex::new("\"([0-9a-f]{8})\"").expect("it is right"));
/// Times of this run, in entries, texts and names of files.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("20[0-9]{2}-[0-9]{2}-[0-9]{2}T([0-9]{2})([:-])[0-9]{2}[:-][0-9]{2}([.-])[0-9]{3}Z").expect("it is right")
});
/// Who has a session open, in the text of an error.
static HOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("process [0-9]+ on [A-Za-z0-9._-]+").expect("it is right"));
const MILLISECONDS: u64 = 1_772_355_600_000;

/// Whether the server made up this id: it is in none of the sessions that are laid out.
fn is_made(id: &str) -> bool {
    ["a00000", "b00000", "c00000", "ee0000", "aaaaaa", "ffffff"].iter().all(|start| !id.starts_with(start))
}

impl Names {
    fn new(root: &str) -> Self {
        Self { root: root.to_owned(), ids: Vec::new() }
    }

    fn replaced(&mut self, exchanged: &Exchanged) -> Value {
        let text = exchanged.text.trim_end().replace(&self.root, "/home/ada");
        // So do names of directories that are made of it.
        let text = text.replace(&self.root.replace('/', "-"), "-home-ada");
        let text = UUID.replace_all(&text, |found: &regex_lite::Captures<'_>| {
            format!("0198c0de-0000-7000-8000-{:012x}", self.number(&found[0]))
        });
        let mut text = text.into_owned();
        let made: Vec<String> =
            ENTRY.captures_iter(&text).map(|found| found[1].to_owned()).filter(|id| is_made(id)).collect();
        for id in &made {
            self.number(id);
        }
        for (place, id) in self.ids.iter().enumerate().filter(|(_, id)| id.len() == 8) {
            text = text.replace(id.as_str(), &format!("c{:07x}", place + 1));
        }
        let text = TIME.replace_all(&text, |found: &regex_lite::Captures<'_>| {
            let (is_laid_out, between, end) = (found[0].starts_with("2026-01-01"), &found[2], &found[3]);
            if is_laid_out { found[0].to_owned() } else { format!("2026-03-01T09{between}00{between}00{end}000Z") }
        });
        let text = HOLDER.replace_all(&text, "process 4711 on workstation");
        let mut value = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
        settle(&mut value);
        value
    }

    /// The number of an id, in the order in which ids appear.
    fn number(&mut self, id: &str) -> usize {
        let known = self.ids.iter().position(|known| known == id);
        1 + known.unwrap_or_else(|| {
            self.ids.push(id.to_owned());
            self.ids.len() - 1
        })
    }
}

/// Gives numbers and names of this machine and of this run their values in the examples.
fn settle(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| settle_member(name, value)),
        _ => {}
    }
}

fn settle_member(name: &str, value: &mut Value) {
    match (name, &*value) {
        ("processId" | "pid", Value::Number(_)) => *value = json!(4711),
        ("uptimeMs", Value::Number(_)) => *value = json!(1500),
        ("residentBytes", Value::Number(_)) => *value = json!(14_680_064),
        ("host", Value::String(_)) => *value = json!("workstation"),
        ("timestamp", Value::Number(number)) if number.as_u64().is_some_and(|time| time / 100_000_000 != 17_672) => {
            *value = json!(MILLISECONDS);
        }
        // An address of the process, if it has a limit.
        ("limitBytes", _) => *value = Value::Null,
        _ => settle(value),
    }
}

/// The kinds of errors that no example shows.
pub fn kinds_without(examples: &Value) -> Vec<String> {
    let shown = examples["errors"].as_object().cloned().unwrap_or_else(Map::new);
    codes().into_iter().filter(|kind| !shown.contains_key(kind)).collect()
}
