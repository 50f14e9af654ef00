//! The first line of a session, new ids (docs/session-format.md, "Ids"), and the present time.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use compaction_core::entry::EntryId;
use compaction_core::json;
use compaction_core::json::RawObject;
use compaction_core::migrate::{CURRENT_VERSION, Migration};
use serde_json::value::RawValue;
use uuid::{NoContext, Timestamp, Uuid};

use crate::error::StoreError;

/// The first line of a session.
#[derive(Debug, Clone)]
pub struct SessionHeader {
    /// The session's id.
    pub id: String,
    /// The version of the format. A session of an older version is presented in the current one.
    pub version: u32,
    /// When the session began, ISO 8601.
    pub timestamp: String,
    /// The working directory of the conversation; empty if an old file does not name it.
    pub cwd: String,
    /// The session that this one was forked from, usually a path.
    pub parent_session: Option<String>,
    /// The whole line, in the current version.
    pub raw: Box<RawValue>,
}

/// A header as stored, and the migration that its entries need.
#[derive(Debug)]
pub(crate) struct FoundHeader {
    pub(crate) header: SessionHeader,
    pub(crate) migration: Option<Migration>,
    /// Whether this project knows the version.
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
    /// Reads the first line of a file that is JSON. The error says why it is not a header.
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

/// The version, and whether this project knows it. A version that is not a number may mean anything, so it counts as
/// unknown.
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

/// Number of short ids that are tried before a long one is used.
const SHORT_ID_TRIES: usize = 100;

/// Whether `id` is valid for a session: letters, digits and, not at its ends, `.`, `_` and `-`.
pub fn is_valid_session_id(id: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_end(id.as_bytes().first()) && is_end(id.as_bytes().last()) && id.bytes().all(is_inner)
}

/// The id of a new session: `custom` if it is valid, else a UUIDv7.
pub(crate) fn session_id(custom: Option<&str>) -> Result<String, StoreError> {
    match custom {
        None => Ok(new_uuid()),
        Some(id) if is_valid_session_id(id) => Ok(id.to_owned()),
        Some(id) => Err(StoreError::InvalidSessionId { id: id.to_owned() }),
    }
}

/// An id for which `is_taken` returns `false`.
pub(crate) fn entry_id(is_taken: impl Fn(&str) -> bool) -> EntryId {
    for _ in 0..SHORT_ID_TRIES {
        let digits = short_id();
        if let Some(id) = std::str::from_utf8(&digits).ok().filter(|id| !is_taken(id)) {
            return EntryId::new(id);
        }
    }
    long_entry_id()
}

/// Eight hexadecimal digits that cannot be predicted. They need not be secret, only rarely equal: a counter is hashed
/// with keys that the system chose for this process.
fn short_id() -> [u8; 8] {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let hash = KEYS.hash_one(COUNT.fetch_add(1, Ordering::Relaxed));
    std::array::from_fn(|at| b"0123456789abcdef"[(hash >> (4 * at)) as usize & 0xf])
}

/// An id that is unique whatever other ids exist.
pub(crate) fn long_entry_id() -> EntryId {
    EntryId::new(Uuid::new_v4().to_string())
}

/// A new UUIDv7. A time before 1970, which it cannot represent, counts as the start of 1970.
pub fn new_uuid() -> String {
    uuid_of(SystemTime::now())
}

fn uuid_of(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Uuid::new_v7(Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos())).to_string()
}

/// The present time in epoch milliseconds.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn session_ids_keep_to_their_rules() {
        for id in ["a", "0", "a.b_c-d", "019b0c1e-7c1a-7a3e-8000-000000000000"] {
            assert!(is_valid_session_id(id), "{id}");
        }
        for id in ["", "-a", "a-", ".", "a/b", "a b", "..", "é", "a\n"] {
            assert!(!is_valid_session_id(id), "{id}");
            assert!(session_id(Some(id)).is_err(), "{id}");
        }
    }

    #[test]
    fn uuids_are_made_whatever_the_clock_says() {
        let second = Duration::from_secs(1);
        for (time, start) in [
            (UNIX_EPOCH - second * 1_000_000_000, "00000000-0000-7"),
            (UNIX_EPOCH + second * 1_000_000, "00003b9a-ca00-7"),
        ] {
            let [one, other] = [time; 2].map(uuid_of);
            assert!(one.starts_with(start) && one != other, "{one} {other}");
        }
    }

    #[test]
    fn entry_ids_are_short_until_all_are_taken() {
        let id = entry_id(|_| false);
        assert!(id.as_str().len() == 8 && id.as_str().bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        assert_eq!(entry_id(|id| id.len() == 8).as_str().len(), 36);
    }
}
