//! Keys without a form of their own, behind the name of the service that issued them: `deepgram = …`, `Plivo("…")`,
//! `my heroku key is …`.
//!
//! Hundreds of names as keywords would cost each conversation time. Keys are much rarer than names: here each long word
//! with digits is looked at, and then what stands before it.

use std::ops::Range;

use compaction_core::phrases::listed;

use super::check::{self, Drawn, TABLES};

/// The rule of these keys, which is that of values behind names.
pub(super) const RULE: &str = "secret";

/// Names of services that issue such keys. The lists that names are looked up in are in order.
const SERVICES: &[&str] = listed!(TABLES, "services");
/// Names of services that are words of other meanings too. They need a word for a key beside them.
const COMMON_SERVICES: &[&str] = listed!(TABLES, "common words as services");
/// Words for keys.
const KEYS: &[&str] = listed!(TABLES, "service keys");
/// Ends of the names of calls that make a client of a service or tell it the key.
const CALLS: &[&str] = listed!(TABLES, "service calls");
/// Words for values that are no keys.
const OPEN_VALUES: &[&str] = listed!(TABLES, "open values");
/// Names of blocks of which each value is secret.
const SECRET_BLOCKS: &[&str] = listed!(TABLES, "secret blocks");

/// Minimum and maximum bytes of a key.
const MIN_KEY: usize = 20;
const MAX_KEY: usize = 128;
/// Bytes before a key in which the service is named.
const BEFORE: usize = 128;
/// Bytes of a name.
const NAME: usize = 48;
/// Bytes of a word that are compared with the lists. None of these has a longer one.
const LONGEST: usize = 24;
/// Words of a sentence that may stand between the name of a service and its key.
const SAID_WORDS: usize = 6;

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The keys in `text`. The time is proportional to its length.
pub(super) fn keys(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut start = 0;
    // A word that is long enough has no gap up to its shortest end. The last gap before that is found first.
    while start + MIN_KEY <= bytes.len() {
        if let Some(gap) = bytes[start..start + MIN_KEY].iter().rposition(|byte| !is_part(*byte)) {
            start += gap + 1;
            continue;
        }
        let rest = &bytes[start + MIN_KEY..];
        let length = MIN_KEY + rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
        let key = start..start + length;
        start = key.end;
        if length <= MAX_KEY && is_key(text, &key) {
            found.push(key);
        }
    }
    found
}

/// Whether a byte may be part of a key.
fn is_part(byte: u8) -> bool {
    const PARTS: [bool; 256] = {
        let mut parts = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            parts[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'-');
            byte += 1;
        }
        parts
    };
    PARTS[usize::from(byte)]
}

fn is_key(text: &str, key: &Range<usize>) -> bool {
    let (value, after) = (&text[key.clone()], &text[key.end..]);
    // The name of a file, a function or a host, and a name that a value follows.
    let goes_on = || {
        after.starts_with(['/', '(', '[', '{', '@', '%', '+'])
            || after.starts_with(['.', '=', ':']) && after[1..].starts_with(|next: char| next.is_alphanumeric())
    };
    let is_value = || {
        text[..key.start]
            .ends_with(|before: char| before.is_whitespace() || QUOTES.contains(&before) || "=:,(>".contains(before))
    };
    // Ids, the commonest long words of conversations in JSON.
    let is_id = || ["\"id\":\"", "Id\":\""].iter().any(|name| text[..key.start].ends_with(name));
    // Few long words stand behind such names, and what stands there tells that sooner than the word does.
    is_value()
        && !is_id()
        && value.bytes().filter(u8::is_ascii_digit).count() >= 2
        && !goes_on()
        && named_before(&text[..key.start])
            .is_some_and(|least| check::drawn_key(value).is_some_and(|form| form >= least))
}

/// The forms, from the returned one on, that are keys behind a text. The text names the service: it is assigned to, called,
/// or spoken of. A UUID needs a word for a key too. A key of letters of both cases needs no service where its name says
/// what it is the key of.
fn named_before(before: &str) -> Option<Drawn> {
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(BEFORE))..];
    let line = before.rsplit('\n').find(|line| !line.trim_ascii().is_empty())?;
    let unquoted = line.trim_end_matches(QUOTES);
    let open = unquoted.trim_end();
    let is_quoted = unquoted.len() < line.len();
    if let Some(name) = assigned(open) {
        let name = value_of(before, name).unwrap_or(name);
        let own = Named::read(&name[name.len() - name_length(name)..]);
        let is_assigned = !open.ends_with(',');
        return match own.service {
            _ if own.is_open => None,
            Some(_) if own.is_key => Some(Drawn::Short),
            Some(false) if is_assigned => Some(if is_quoted && own.words == 1 { Drawn::Short } else { Drawn::Hex }),
            // A word of other meanings, alone before a value of no other meaning.
            Some(true) if is_assigned && own.words == 1 => Some(Drawn::Letters),
            None if own.is_key && Named::read(name).service.is_some() => Some(Drawn::Short),
            None if own.is_key && own.words == 1 && is_block_of_service(before, line) => Some(Drawn::Short),
            None if own.is_key && own.words == 1 && is_quoted && !Named::read(name).is_open => Some(Drawn::Letters),
            None if own.is_key => Some(Drawn::Mixed),
            None if is_block_of_secrets(before, line) => Some(Drawn::Hex),
            _ => None,
        };
    }
    if is_quoted && open.ends_with(['(', ',']) {
        return is_call(open).then_some(Drawn::Hex);
    }
    (open.len() < unquoted.len() && is_said(open)).then_some(Drawn::Short)
}

/// The name of a pair of a name and a value whose value follows: `- name: PLIVO`, `value: `.
fn value_of<'t>(before: &'t str, own: &str) -> Option<&'t str> {
    let is_value = own.trim_end_matches(QUOTES).ends_with("value");
    let start = before.rfind("value").filter(|_| is_value)?;
    let pair = before[..start].trim_end_matches(QUOTES).trim_end().trim_end_matches(',');
    let name = pair.trim_end_matches(QUOTES);
    let (introduction, _) = name.rsplit_once([':', '=']).filter(|(_, name)| !name.contains('\n'))?;
    introduction.trim_end_matches(QUOTES).ends_with("name").then_some(name)
}

/// Whether `line`, the last one of `before`, belongs to a block that has the name of a service: `plivo:` above `  token: `.
fn is_block_of_service(before: &str, line: &str) -> bool {
    block(before, line).is_some_and(|name| Named::read(name).service.is_some())
}

/// Whether it belongs to a block of secrets.
fn is_block_of_secrets(before: &str, line: &str) -> bool {
    block(before, line).is_some_and(|name| SECRET_BLOCKS.contains(&name))
}

/// The name of the block of YAML that `line`, the last one of `before`, belongs to.
fn block<'t>(before: &'t str, line: &str) -> Option<&'t str> {
    let indentation = |line: &str| line.len() - line.trim_ascii_start().len();
    let own = indentation(line);
    let mut above = before.lines().rev().skip_while(|above| above.trim_ascii().is_empty()).skip(1);
    let owner = above.find(|above| !above.trim_ascii().is_empty() && indentation(above) < own)?;
    owner.trim_ascii().strip_suffix(':')
}

/// What stands before the operator at the end of `text`, if there is one. A comma is one behind a name in quotes or in a
/// table.
fn assigned(text: &str) -> Option<&str> {
    let name = text.trim_end_matches([':', '=', '>', '|', '?', '.', '+', ' ', '\t']);
    let operator = &text[name.len()..];
    if operator.is_empty() {
        let name = text.strip_suffix(',')?;
        let word = name.trim_end_matches(QUOTES);
        let is_whole = word.ends_with(|last: char| last.is_ascii_alphanumeric()) && !word.ends_with([' ', '\t']);
        let own = &word[word.len() - name_length(word)..];
        return (is_whole && !own.contains(' ') && check::drawn_key(own).is_none()).then_some(word);
    }
    // A path or the end of a sentence is none.
    let is_operator = operator.contains(['=', ':']) || operator == ">";
    is_operator.then_some(name)
}

/// The bytes of the name at the end of `text`, with its quotes and brackets.
fn name_length(text: &str) -> usize {
    let is_name =
        |byte: &u8| is_part(*byte) || matches!(byte, b' ' | b'\t' | b'.' | b'"' | b'\'' | b'`' | b')' | b']' | b'$');
    text.bytes().rev().take(NAME).take_while(is_name).count()
}

/// Whether the text ends within the arguments of a call that makes a client of a service or tells it the key:
/// `Plivo(`, `Twitter(auth=OAuth(`.
fn is_call(text: &str) -> bool {
    let Some((name, _)) = text.rsplit_once('(').filter(|(_, arguments)| !arguments.contains(')')) else { return false };
    let own = &name[name.len() - name_length(name)..];
    let last = &own[own.rfind(|character: char| !character.is_ascii_alphanumeric()).map_or(0, |at| at + 1)..];
    let tells_key = |word: &str| CALLS.iter().any(|call| word.to_ascii_lowercase().ends_with(call));
    let (last_named, all) = (Named::read(last), Named::read(name));
    all.service == Some(false)
        && !Named::read(own).is_open
        && (last_named.service.is_some() || last_named.is_key || tells_key(last))
}

/// Whether a sentence names a service and its key right before what follows: `my heroku key is`, `snyk auth`.
fn is_said(text: &str) -> bool {
    let sentence = text.rsplit([';', '(', '{', '[', '<', '=']).next().unwrap_or_default();
    let sentence = sentence.rsplit(". ").next().unwrap_or_default();
    let mut words = sentence.split_ascii_whitespace().rev().skip_while(|word| matches!(*word, "is" | "to" | "are"));
    let last = words.next().map(Named::read).unwrap_or_default();
    if last.is_open || !last.is_key && last.service.is_none() {
        return false;
    }
    let rest = words.take(SAID_WORDS).map(Named::read).fold(Named::default(), Named::and);
    !rest.is_open && if last.is_key { last.service.or(rest.service).is_some() } else { rest.is_key }
}

/// What the words of a name tell.
#[derive(Debug, Clone, Copy, Default)]
struct Named {
    /// Whether they name a service, and whether its name is a word of other meanings too.
    service: Option<bool>,
    is_key: bool,
    /// Whether they name a value that is no key.
    is_open: bool,
    words: usize,
}

impl Named {
    fn read(text: &str) -> Self {
        let mut named = Self::default();
        let bytes = text.as_bytes();
        let mut start = 0;
        for end in 0..=bytes.len() {
            // `heroku_key`, `herokuKey`, `herokuKEY`
            let is_end = end == bytes.len()
                || !bytes[end].is_ascii_alphanumeric()
                || end > start && bytes[end].is_ascii_uppercase() && bytes[end - 1].is_ascii_lowercase();
            if !is_end {
                continue;
            }
            if end > start {
                named = named.and(Self::word(&text[start..end]));
            }
            start = end + usize::from(bytes.get(end).is_some_and(|byte| !byte.is_ascii_alphanumeric()));
        }
        named
    }

    fn word(word: &str) -> Self {
        let mut lower = [0; LONGEST];
        let length = word.len().min(LONGEST);
        lower[..length].copy_from_slice(&word.as_bytes()[..length]);
        lower.make_ascii_lowercase();
        let word = &lower[..length];
        let is_in = |list: &[&str]| list.binary_search_by(|known| known.as_bytes().cmp(word)).is_ok();
        if is_in(OPEN_VALUES) {
            return Self { is_open: true, words: 1, ..Self::default() };
        }
        // `algoliasearch`
        let begins = |known: &str| known.as_bytes() == word || known.len() >= 6 && word.starts_with(known.as_bytes());
        let at = SERVICES.partition_point(|known| known.as_bytes() <= word);
        let is_service = at.checked_sub(1).is_some_and(|at| begins(SERVICES[at]));
        let service = if is_service { Some(false) } else { is_in(COMMON_SERVICES).then_some(true) };
        Self { service, is_key: is_in(KEYS), is_open: false, words: 1 }
    }

    fn and(self, other: Self) -> Self {
        let service = match (self.service, other.service) {
            (Some(one), Some(another)) => Some(one && another),
            (one, another) => one.or(another),
        };
        Self {
            service,
            is_key: self.is_key || other.is_key,
            is_open: self.is_open || other.is_open,
            words: self.words + other.words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order() {
        for list in [SERVICES, COMMON_SERVICES, KEYS, OPEN_VALUES] {
            assert!(list.is_sorted(), "{list:?}");
            assert!(list.iter().all(|word| word.len() < LONGEST && !word.contains(char::is_uppercase)), "{list:?}");
        }
    }
}
