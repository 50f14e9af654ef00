//! Ids as numbers, so that a record takes few bytes.
//!
//! An id of eight lower-case hexadecimal digits, the form of the format, is its own number. The texts of all other
//! ids are stored once, in one string.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;

use compaction_core::entry::EntryId;
use hashbrown::HashTable;

/// Maximum number of ids with a stored text in one session.
pub(super) const MAX_LONG_IDS: usize = u32::MAX as usize - 2;

/// The first number of an id with a stored text. Eight digits are stored as their value plus one.
const FIRST_LONG: u64 = 1 << 33;

/// An id within one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IdKey(NonZeroU64);

/// Hashes keys with random numbers, which writers of files cannot know.
#[derive(Debug)]
pub(super) struct KeyHasher(u64, u64);

impl Default for KeyHasher {
    fn default() -> Self {
        let random = RandomState::new();
        Self(random.hash_one(0), random.hash_one(1) | 1)
    }
}

impl KeyHasher {
    /// Both halves of the product depend on all bits of the key.
    pub(super) fn hash(&self, key: IdKey) -> u64 {
        let product = u128::from(key.0.get() ^ self.0) * u128::from(self.1);
        product as u64 ^ (product >> 64) as u64
    }
}

/// An id that is not in an index yet.
#[derive(Debug)]
pub(super) enum IdText {
    Short(IdKey),
    Long(Box<str>),
}

impl IdText {
    pub(super) fn new(id: &str) -> Self {
        short_key(id.as_bytes()).map_or_else(|| Self::Long(id.into()), Self::Short)
    }
}

/// The ids of one index.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The texts of all long ids, concatenated.
    text: String,
    /// The end of each text.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl Ids {
    /// The key of `id`. Creates it if necessary.
    pub(super) fn key(&mut self, id: &str) -> IdKey {
        self.find(id).unwrap_or_else(|| self.add_long(id))
    }

    /// The key of an id. Creates it if necessary.
    pub(super) fn key_of(&mut self, id: IdText) -> IdKey {
        match id {
            IdText::Short(key) => key,
            IdText::Long(id) => self.key(&id),
        }
    }

    /// The key of `id`; `None` if no entry can have this id.
    pub(super) fn find(&self, id: &str) -> Option<IdKey> {
        if let Some(key) = short_key(id.as_bytes()) {
            return Some(key);
        }
        let number = self.numbers.find(self.hasher.hash_one(id), |&number| self.long_text(number) == id)?;
        Some(long_key(*number))
    }

    /// The id of a key.
    pub(super) fn id(&self, key: IdKey) -> EntryId {
        match key.0.get().checked_sub(FIRST_LONG) {
            Some(number) => EntryId::new(self.long_text(number as u32)),
            None => EntryId::new(format!("{:08x}", key.0.get() - 1)),
        }
    }

    /// Number of ids with a stored text.
    pub(super) fn long_count(&self) -> usize {
        self.ends.len()
    }

    /// Frees memory that was reserved.
    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Bytes of memory that are in use.
    pub(super) fn memory(&self) -> usize {
        let numbers = self.numbers.allocation_size();
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + numbers
    }

    fn add_long(&mut self, id: &str) -> IdKey {
        let number = u32::try_from(self.ends.len()).expect("a scan ends before there are so many ids");
        self.text.push_str(id);
        self.ends.push(self.text.len());
        let Self { text, ends, numbers, hasher } = self;
        let hash_of = |&number: &u32| hasher.hash_one(text_of(text, ends, number));
        numbers.insert_unique(hasher.hash_one(id), number, hash_of);
        long_key(number)
    }

    fn long_text(&self, number: u32) -> &str {
        text_of(&self.text, &self.ends, number)
    }
}

fn text_of<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start..ends[number]]
}

fn long_key(number: u32) -> IdKey {
    IdKey(NonZeroU64::MIN.saturating_add(FIRST_LONG - 1 + u64::from(number)))
}

/// The key of an id of eight lower-case hexadecimal digits.
fn short_key(id: &[u8]) -> Option<IdKey> {
    let digits: &[u8; 8] = id.try_into().ok()?;
    let mut value = 0;
    for digit in digits {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u64::from(digit);
    }
    Some(IdKey(NonZeroU64::MIN.saturating_add(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_comes_back_as_it_was() {
        let mut ids = Ids::default();
        let uuid = "019b0c1e-7c1a-7a3e-8000-000000000000";
        let texts = ["00000000", "ffffffff", "0badcafe", "0BADCAFE", "a", "", "é", uuid, "000000000"];
        let keys = texts.map(|text| ids.key(text));
        for (text, key) in texts.into_iter().zip(keys) {
            assert_eq!((ids.id(key).as_str(), ids.find(text), ids.key(text)), (text, Some(key), key));
        }
        let distinct: std::collections::HashSet<_> = keys.into_iter().collect();
        assert_eq!((distinct.len(), ids.long_count()), (texts.len(), 6));
        assert_eq!(ids.find("nobody"), None);
    }

    #[test]
    fn many_long_ids_are_distinguished() {
        let mut ids = Ids::default();
        let keys: Vec<_> = (0..5000).map(|n| ids.key(&format!("entry-{n}"))).collect();
        for (n, key) in keys.into_iter().enumerate() {
            assert_eq!(ids.find(&format!("entry-{n}")), Some(key));
        }
    }
}
