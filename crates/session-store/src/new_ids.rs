//! What makes a session or an entry unlike others: ids (docs/session-format.md, "Ids") and the time.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use compaction_core::entry::EntryId;
use uuid::Uuid;

use crate::error::StoreError;

/// Short ids that are tried before a long one is taken.
const SHORT_ID_TRIES: usize = 100;

/// Whether `id` may name a session: letters, digits and, not at its ends, `.`, `_` and `-`.
pub fn is_valid_session_id(id: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_end(id.as_bytes().first()) && is_end(id.as_bytes().last()) && id.bytes().all(is_inner)
}

/// The id of a new session: `custom` if it is valid, else a UUIDv7.
pub(crate) fn session_id(custom: Option<&str>) -> Result<String, StoreError> {
    match custom {
        None => Ok(Uuid::now_v7().to_string()),
        Some(id) if is_valid_session_id(id) => Ok(id.to_owned()),
        Some(id) => Err(StoreError::InvalidSessionId { id: id.to_owned() }),
    }
}

/// An id that `is_taken` does not know.
pub(crate) fn entry_id(is_taken: impl Fn(&str) -> bool) -> EntryId {
    let short = std::iter::repeat_with(short_id).take(SHORT_ID_TRIES).find(|id| !is_taken(id));
    short.map_or_else(long_entry_id, EntryId::new)
}

/// Eight hexadecimal digits that nobody foresees. They need not be secret, only seldom the same: a
/// number that counts up is hashed under keys that the system drew once for this process.
fn short_id() -> String {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let hash = KEYS.hash_one(COUNT.fetch_add(1, Ordering::Relaxed));
    format!("{:08x}", hash >> 32)
}

/// An id that no entry has, whatever ids there are.
pub(crate) fn long_entry_id() -> EntryId {
    EntryId::new(Uuid::new_v4().to_string())
}

/// The present time in epoch milliseconds.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
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
    fn entry_ids_are_short_until_all_are_taken() {
        let id = entry_id(|_| false);
        assert!(id.as_str().len() == 8 && id.as_str().bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        assert_eq!(entry_id(|id| id.len() == 8).as_str().len(), 36);
    }
}
