//! The first line of a session.

use compaction_core::json::{self, RawObject};
use compaction_core::migrate::{CURRENT_VERSION, Migration};
use serde_json::value::RawValue;

/// What the first line of a session says of it.
#[derive(Debug, Clone)]
pub struct SessionHeader {
    /// The session's id.
    pub id: String,
    /// The version of the format that the session is seen in; older ones are seen as the current
    /// one.
    pub version: u32,
    /// When the session began, ISO 8601.
    pub timestamp: String,
    /// The working directory of the conversation; empty where an old file names none.
    pub cwd: String,
    /// The session that this one was forked from: a path, as a rule.
    pub parent_session: Option<String>,
    /// The whole line, in the current version.
    pub raw: Box<RawValue>,
}

/// A header as it was found, with the migration that its entries need.
#[derive(Debug)]
pub(crate) struct FoundHeader {
    pub(crate) header: SessionHeader,
    pub(crate) migration: Option<Migration>,
    /// Whether the version is one that this project knows.
    pub(crate) is_known_version: bool,
}

impl SessionHeader {
    /// The header of a new session.
    pub(crate) fn new(id: &str, timestamp: &str, cwd: &str, parent_session: Option<&str>) -> Self {
        let mut object = RawObject::default();
        object.set("type", "\"session\"");
        object.set("version", CURRENT_VERSION.to_string());
        object.set("id", json::encode_string(id));
        object.set("timestamp", json::encode_string(timestamp));
        object.set("cwd", json::encode_string(cwd));
        if let Some(parent) = parent_session {
            object.set("parentSession", json::encode_string(parent));
        }
        Self {
            id: id.to_owned(),
            version: CURRENT_VERSION,
            timestamp: timestamp.to_owned(),
            cwd: cwd.to_owned(),
            parent_session: parent_session.map(str::to_owned),
            raw: json::raw_value(object.to_json()).expect("an object of encoded members is JSON"),
        }
    }
}

impl FoundHeader {
    /// Reads the first parsed line of a file. The error says why it is no header.
    pub(crate) fn read(line: &str) -> Result<Self, &'static str> {
        let object = RawObject::parse(line).map_err(|_| "its first line is no JSON object")?;
        if object.string("type").as_deref() != Some("session") {
            return Err("its first line is no session header");
        }
        let id = object.string("id").ok_or("its header has no id")?;
        let (version, is_known_version) = read_version(object.get("version"));
        let migration = Migration::new(version, &id);
        let line = match &migration {
            Some(migration) => migration.header(line).map_err(|_| "its header is broken")?,
            None => line.to_owned(),
        };
        let header = SessionHeader {
            id,
            version: version.max(CURRENT_VERSION),
            timestamp: object.string("timestamp").unwrap_or_default(),
            cwd: object.string("cwd").unwrap_or_default(),
            parent_session: object.string("parentSession"),
            raw: json::raw_value(line).map_err(|_| "its header is broken")?,
        };
        Ok(Self { header, migration, is_known_version })
    }
}

/// The version, and whether this project knows it. What is no number may mean anything, so it is
/// not known.
fn read_version(json: Option<&str>) -> (u32, bool) {
    let Some(json) = json.filter(|json| *json != "null") else {
        return (1, true);
    };
    match json.parse::<f64>() {
        Ok(number) if number <= f64::from(CURRENT_VERSION) => ((number as u32).max(1), true),
        Ok(number) => (number as u32, false),
        Err(_) => (CURRENT_VERSION, false),
    }
}
