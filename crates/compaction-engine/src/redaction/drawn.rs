//! Random keys without a form that a rule knows: `ACME_TOKEN=…`, `Acme("…")`, `my acme key is …`.
//!
//! Such keys are much rarer than words for them. So each long word that looks random is found first, and then its
//! surroundings are examined: the name that it is assigned to, the call, the sentence, the head of its column, the
//! prefix of an issuer. The more these suggest a key, the less its form has to. Names of services reveal keys that look
//! like hashes and have no word for a key beside them: `deepgram = …`.

use std::ops::Range;

use compaction_core::phrases::listed;

use super::check::{self, Drawn, VERBS, WORD_TABLE};

/// The rule of these keys, which is also that of values after names.
pub(super) const RULE: &str = "secret";

/// Names of services that issue such keys. The lists that names are looked up in are in order.
const SERVICES: &[&str] = listed!(WORD_TABLE, "services");
/// Names of services that are words of other meanings too. They need a word for a key beside them.
const COMMON_SERVICES: &[&str] = listed!(WORD_TABLE, "common words as services");
/// Words for keys, and those in other scripts.
const KEYS: &[&str] = listed!(WORD_TABLE, "service keys");
const OTHER_KEYS: &[&str] = listed!(WORD_TABLE, "keys in other scripts");
/// Parts of prefixes that show the kind of a key, besides words for keys.
const KINDS: &[&str] = listed!(WORD_TABLE, "kinds of keys");
/// Endings of the names of calls that create a client of a service or pass it the key.
const CALLS: &[&str] = listed!(WORD_TABLE, "service calls");
/// Words for values that are not keys.
const OPEN_VALUES: &[&str] = listed!(WORD_TABLE, "open values");
/// Names of blocks in which every value is secret.
const SECRET_BLOCKS: &[&str] = listed!(WORD_TABLE, "secret blocks");
/// The beginnings of encoded files.
const FILES: &[&str] = listed!(WORD_TABLE, "encoded files");

/// Minimum and maximum bytes of a key.
const MIN_KEY: usize = 20;
const MAX_KEY: usize = 128;
/// Bytes before a key in which its name must be.
const BEFORE: usize = 128;
/// Bytes after a key in which a sentence may mention it.
const AFTER: usize = 96;
/// Bytes before a key in which the head of its table must be.
const TABLE: usize = 2048;
/// Bytes of a name.
const NAME: usize = 48;
/// Bytes of a word that are compared with the lists. None of these has a longer one.
const LONGEST: usize = 24;
/// Number of words of a sentence that may come between the name of a service and its key.
const SAID_WORDS: usize = 6;
/// Number of words on the line of a value that may mention a key.
const SPOKEN_WORDS: usize = 8;
/// Number of words right before the value, which say what it is.
const CLOSE_WORDS: usize = 4;
/// Minimum bytes of a key after the prefix of an issuer.
const ISSUED: usize = 30;
/// Bytes before the last part of a value that may belong to it.
const BEGINNING: usize = 24;

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
        // A hyphen begins an option or is the sign of a diff.
        let signs = bytes[start..start + length].iter().take_while(|byte| **byte == b'-').count();
        let key = start + signs..start + length;
        start = key.end;
        if (MIN_KEY..=MAX_KEY).contains(&key.len()) {
            found.extend(key_at(text, key));
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

/// The key whose longest part is at `part`.
fn key_at(text: &str, part: Range<usize>) -> Option<Range<usize>> {
    let (value, after) = (&text[part.clone()], &text[part.end..]);
    if !may_be_drawn(value) {
        return None;
    }
    if let Some(line) = alone(text, &part) {
        return Some(line);
    }
    // The name of a file, a function or a host, and a name that a value follows.
    let goes_on = after.starts_with(['/', '(', '[', '{', '@', '%', '+'])
        || after.starts_with(['.', '=', ':']) && after[1..].starts_with(|next: char| next.is_alphanumeric());
    let start = beginning(text, &part);
    let is_value = is_hook(text, start)
        || text[..start].ends_with(|before: char| {
            before.is_whitespace() || QUOTES.contains(&before) || "=:,(>|".contains(before) || !before.is_ascii()
        });
    if goes_on || !is_value || is_id(&text[..start]) {
        return None;
    }
    // Few long words follow such names, and the name is a better sign than the word.
    let form = check::drawn_key(value)?;
    let whole = start..part.end;
    let least = named_before(&text[..start]);
    let is_named = || least.is_some_and(|least| form >= least) && (least != Some(Drawn::Mixed) || !is_content(value));
    ((is_named() || is_unnamed(text, &whole, value, form)) && !check::is_for_show(value)).then_some(whole)
}

/// Whether a text ends in the name of an id in JSON. The ids of calls are the commonest long words of conversations.
fn is_id(before: &str) -> bool {
    let name = before.strip_suffix('"').and_then(|before| before.trim_end_matches(' ').strip_suffix("\":"));
    name.is_some_and(|name| name.ends_with("Id") || name.ends_with("\"id") || name.ends_with("_id"))
}

/// Whether a value is encoded text, or the beginning of an encoded file.
fn is_content(value: &str) -> bool {
    let is_text = |bytes: Vec<u8>| {
        bytes.len() + 2 >= value.len() / 4 * 3
            && bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    };
    FILES.iter().any(|start| value.starts_with(start)) || is_text(super::keys::decoded(value.as_bytes()))
}

/// Whether a value is the last part of the address of a hook, which is known to nobody else.
fn is_hook(text: &str, start: usize) -> bool {
    if !text[..start].ends_with('/') {
        return false;
    }
    let before = &text[text.ceil_char_boundary(start.saturating_sub(BEFORE))..start];
    let address = before
        .rsplit(|character: char| character.is_whitespace() || QUOTES.contains(&character))
        .next()
        .unwrap_or_default();
    address.contains("://") && address.contains("hook")
}

/// Whether a word has the digits or the changes of case that a drawn one has.
fn may_be_drawn(word: &str) -> bool {
    let (mut digits, mut capitals, mut pairs) = (0, 0, 0);
    let mut is_behind_capital = false;
    for byte in word.bytes() {
        let is_capital = byte.is_ascii_uppercase();
        digits += usize::from(byte.is_ascii_digit());
        capitals += usize::from(is_capital);
        pairs += usize::from(is_capital && is_behind_capital);
        is_behind_capital = is_capital;
    }
    digits >= 2 || pairs >= 2 && capitals * 4 <= word.len() * 3
}

/// Where the value begins whose last part is `key`. It may include a prefix such as `acme.`.
fn beginning(text: &str, key: &Range<usize>) -> usize {
    let before = &text.as_bytes()[key.start.saturating_sub(BEGINNING)..key.start];
    if !before.ends_with(b".") && !before.ends_with(b"+") {
        return key.start;
    }
    key.start - before.iter().rev().take_while(|byte| is_part(**byte) || matches!(**byte, b'.' | b'+')).count()
}

/// Whether a value is a key without the name of one right before it: words of its sentence, of its call or of the head
/// of its table speak of keys, or it has the prefix of an issuer.
fn is_unnamed(text: &str, key: &Range<usize>, value: &str, form: Drawn) -> bool {
    if form < Drawn::Hex {
        return false;
    }
    let before = &text[text.ceil_char_boundary(key.start.saturating_sub(BEFORE))..key.start];
    let after = &text[key.end..text.floor_char_boundary(key.end + AFTER)];
    let line = before.rsplit('\n').next().unwrap_or_default();
    let rest = after.split('\n').next().unwrap_or_default();
    let is_told = speaks_of_key(line, rest).is_some_and(|least| form >= least)
        || is_issued(value, form) && !is_assigned_to_open(line)
        || form >= Drawn::Letters && (is_literal(line) || is_hook(text, key.start))
        || line.trim_end_matches(' ').ends_with(['|', '\t', ',']) && !line.ends_with(", ") && is_in_column(text, key);
    is_told && !is_content(value)
}

/// The weakest form that is a key here, if the words on the line mention a key and nothing else.
fn speaks_of_key(line: &str, rest: &str) -> Option<Drawn> {
    let near = line.trim_end_matches(QUOTES).rsplit("\":").next().unwrap_or_default();
    let near = near.rsplit([';', '{', '[']).next().unwrap_or_default();
    let near = near.rsplit("> ").next().unwrap_or_default();
    let near = near.rsplit(". ").next().unwrap_or_default();
    // The name that the value is assigned to is examined elsewhere.
    let near = match assigned(near.trim_end()) {
        Some(name) => name.trim_end().rsplit_once(' ').map_or("", |(before, _)| before),
        None => near,
    };
    let mut words = near.split_ascii_whitespace().rev().take(SPOKEN_WORDS);
    let closest = words.by_ref().take(CLOSE_WORDS).map(Named::read).fold(Named::default(), Named::and);
    let said = words.map(Named::read).fold(closest, Named::and);
    if closest.is_open {
        return None;
    }
    if said.is_key || names_key(near) {
        return Some(Drawn::Letters);
    }
    let rest = rest.trim_start_matches(QUOTES).strip_prefix(' ')?;
    let following = rest.split(". ").next().unwrap_or_default();
    let words = following.split_ascii_whitespace().take(SPOKEN_WORDS);
    let following_words = words.map(Named::read).fold(Named::default(), Named::and);
    let is_key = !following_words.is_open && (following_words.is_key || names_key(following));
    is_key.then_some(if following.starts_with("as ") { Drawn::Hex } else { Drawn::Letters })
}

/// Whether a text has a word for a key in a script that [`Named`] does not read.
fn names_key(text: &str) -> bool {
    !text.is_ascii() && OTHER_KEYS.iter().any(|word| text.contains(word))
}

/// The line of `part`, if it is a drawn value and nothing else, and the text before announces it.
fn alone(text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let is_encoded = |byte: &u8| is_part(*byte) || matches!(byte, b'+' | b'/' | b'=');
    let start = part.start
        - text.as_bytes()[..part.start].iter().rev().take(MAX_KEY).take_while(|byte| is_encoded(byte)).count();
    let end = part.end + text.as_bytes()[part.end..].iter().take(MAX_KEY).take_while(|byte| is_encoded(byte)).count();
    let before = text[..start].trim_end_matches([' ', '\t']).strip_suffix('\n')?;
    let after = text[end..].trim_start_matches([' ', '\t', '\r']);
    let next = after.strip_prefix('\n').unwrap_or(after);
    let next = next[..next.floor_char_boundary(MAX_KEY)].lines().next().unwrap_or_default();
    let ends = after.is_empty() || after.starts_with('\n') && (next.len() < MIN_KEY || next.contains(' '));
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(BEFORE))..];
    let line = before.trim_ascii_end().rsplit('\n').next().unwrap_or_default();
    let named = Named::read(line);
    let is_announced = line.contains(' ')
        && !line.starts_with("--")
        && (line.ends_with(':') || line.starts_with("$ ") || named.is_key || names_key(line))
        && !named.is_open;
    let value = &text[start..end];
    let is_drawn = || {
        (MIN_KEY..=MAX_KEY).contains(&value.len())
            && !value.starts_with('/')
            && check::drawn_key(value.trim_end_matches('=')).is_some_and(|form| form >= Drawn::Letters)
            && !check::is_for_show(value)
    };
    (ends && is_announced && is_drawn()).then_some(start..end)
}

/// Whether a value has the prefix of an issuer: `acme_` before many letters of both cases and digits, or before the kind
/// of a key.
fn is_issued(value: &str, form: Drawn) -> bool {
    let mut parts = value.split(['_', '-']);
    let prefix = parts.next().unwrap_or_default();
    let is_prefix = (2..=12).contains(&prefix.len())
        && (prefix.bytes().all(|byte| byte.is_ascii_lowercase())
            || prefix.bytes().all(|byte| byte.is_ascii_uppercase()));
    let last = parts.next_back().unwrap_or_default();
    let kind = parts.next().unwrap_or_default();
    let has_kind = last.len() >= MIN_KEY
        && (KINDS.iter().any(|known| known.eq_ignore_ascii_case(kind)) || Named::word(kind).is_key);
    is_prefix
        && (has_kind && !Named::read(value).is_open || form == Drawn::Mixed && kind.is_empty() && last.len() >= ISSUED)
}

/// Whether a text ends in an environment variable and its operator: `ACME=`.
fn is_variable(text: &str) -> bool {
    let Some(name) = text.strip_suffix('=') else { return false };
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let length = name.bytes().rev().take_while(is_name).count();
    length >= 3
        && !name[..name.len() - length].ends_with(|before: char| before.is_alphanumeric() || "-.$%".contains(before))
}

/// Whether a line ends in the beginning of a text in quotes that a program assigns to a variable.
fn is_literal(line: &str) -> bool {
    let open = line.trim_end_matches(QUOTES);
    open.len() < line.len() && open.trim_ascii_end().ends_with('=') && !open.contains('<') && !is_assigned_to_open(line)
}

/// Whether the name assigned at the end of a line is known not to be a key.
fn is_assigned_to_open(line: &str) -> bool {
    let open = line.trim_end_matches(QUOTES).trim_end();
    assigned(open).is_some_and(|name| Named::read(&name[name.len() - name_length(name)..]).is_open)
}

/// Whether a value is in a table column whose head names a key.
fn is_in_column(text: &str, key: &Range<usize>) -> bool {
    let before = &text[text.ceil_char_boundary(key.start.saturating_sub(TABLE))..key.start];
    let mut lines = before.rsplit('\n');
    let row = lines.next().unwrap_or_default();
    let Some(separator) = row.trim_end_matches(' ').chars().next_back() else { return false };
    let column = row.matches(separator).count();
    let is_row = |line: &&str| line.matches(separator).count() >= column || line.starts_with("+-");
    let head = lines.take_while(is_row).filter(|line| line.contains(char::is_alphabetic)).last();
    let name = head.and_then(|head| head.split(separator).nth(column)).unwrap_or_default();
    let named = Named::read(name);
    named.is_key && !named.is_open && name.trim_ascii().split(' ').count() <= 2
}

/// The weakest form that is a key after a text that names it: the value is assigned to a name, passed to a call, or
/// mentioned in a sentence. The more the name suggests a key, the less its form has to.
fn named_before(before: &str) -> Option<Drawn> {
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(BEFORE))..];
    let line = before.rsplit('\n').find(|line| !line.trim_ascii().is_empty())?;
    let unquoted = line.trim_end_matches(QUOTES);
    let open = unquoted.trim_end();
    let is_quoted = unquoted.len() < line.len();
    // The first of a list of texts.
    let open = if is_quoted { without_literal_prefix(open).trim_end_matches(['[', ' ']) } else { open };
    let flag = open.trim_end_matches([',', '"', '\'', ' ']);
    if flag.len() < line.len() && is_flag(flag) {
        return Some(if Named::read(flag).is_key { Drawn::Hex } else { Drawn::Mixed });
    }
    if let Some(name) = assigned(open) {
        let name = without_type(name);
        let name = value_of(before, name).unwrap_or(name);
        let own_length = name_length(name);
        let own = unquoted_end(&name[name.len() - own_length..]);
        let is_attribute = name[..name.len() - own_length].ends_with('<');
        let own = Named::read(if is_attribute { own.rsplit(' ').next().unwrap_or_default() } else { own });
        let own = if !own.is_key && names_key(name.rsplit(['.', ',', ';']).next().unwrap_or_default()) {
            Named { is_key: true, words: 2, ..own }
        } else {
            own
        };
        let is_assigned = !open.ends_with(',');
        let is_parameter = name[..name.len() - own_length].ends_with(['?', '&']) && open.ends_with('=');
        return match own.service {
            _ if own.is_open => None,
            Some(_) if own.is_key => Some(Drawn::Short),
            Some(false) if is_assigned => Some(if is_quoted && own.words == 1 { Drawn::Short } else { Drawn::Hex }),
            // A word of other meanings, alone before a value of no other meaning.
            Some(true) if is_assigned && own.words == 1 => Some(Drawn::Letters),
            None if own.is_key && Named::read(name).service.is_some() => Some(Drawn::Short),
            None if own.is_key && own.words == 1 && is_block_of_key(before, line) => Some(Drawn::Short),
            None if own.is_key && own.words == 1 && is_named_object(name, block(before, line)) => Some(Drawn::Hex),
            // Programs use such an attribute to distinguish the rows of a list.
            None if is_attribute && own.words == 1 => None,
            None if own.is_key && is_parameter => Some(Drawn::Short),
            None if own.is_key && own.words == 1 || name.ends_with(')') => own.is_key.then_some(Drawn::Letters),
            None if own.is_key => Some(Drawn::Short),
            None if is_block_of_secrets(before, line) => Some(Drawn::Hex),
            None if is_variable(open) => Some(Drawn::Letters),
            _ => None,
        };
    }
    if is_quoted && open.ends_with(['(', ',']) {
        return is_call(open);
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

/// Whether `line`, which is a part of `before`, belongs to a block with the name of a service or of a key, or follows a
/// comment with one: `plivo:` above `  token: `.
fn is_block_of_key(before: &str, line: &str) -> bool {
    let above = before[..offset_in(before, line)].trim_ascii_end().rsplit('\n').next().unwrap_or_default();
    let comment = above.trim_ascii_start().starts_with(['#', ';', '/']).then_some(above);
    let mut names = [block(before, line), comment].into_iter().flatten().map(Named::read);
    names.any(|named| named.service.is_some() || named.is_key)
}

/// Whether a name is the first in an object, or belongs to a block with a name that does not rule out a key.
fn is_named_object(name: &str, block: Option<&str>) -> bool {
    let own = name[..name.len() - name_length(name)].strip_suffix('{').map(str::trim_ascii_end);
    let owner = own.and_then(|own| own.strip_suffix([':', '=', '(']));
    let owner = owner.map(|owner| &owner[owner.len() - name_length(owner)..]).or(block).map(Named::read);
    owner.is_some_and(|owner| owner.words > 0 && !owner.is_open)
}

/// Whether `line` belongs to a block of secrets, or to an item of one.
fn is_block_of_secrets(before: &str, line: &str) -> bool {
    let item = before.lines().rev().find(|line| line.trim_ascii_start().starts_with("- "));
    let mut blocks = [Some(line), item].into_iter().flatten().filter_map(|line| block(before, line));
    blocks.any(|name| SECRET_BLOCKS.contains(&name))
}

/// The name of the block of YAML or of a configuration that `line`, which is a part of `before`, belongs to.
fn block<'t>(before: &'t str, line: &str) -> Option<&'t str> {
    let indentation = |line: &str| line.len() - line.trim_ascii_start().len();
    let mut above = before[..offset_in(before, line)].lines().rev();
    let is_section = |line: &str| line.starts_with('[') && line.trim_ascii_end().ends_with(']');
    let is_owner =
        |above: &str| is_section(above) || !above.trim_ascii().is_empty() && indentation(above) < indentation(line);
    let owner = above.find(|above| is_owner(above))?.trim_ascii();
    owner.strip_suffix([':', ']'])
}

/// The place of `part`, which is a part of `text`.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The text before the operator at the end of `text`, if there is one. A comma is an operator after a name in quotes or
/// in a table.
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
    // A path or the end of a sentence is not a name.
    let is_operator = operator.contains(['=', ':']) || operator == ">";
    is_operator.then_some(name)
}

/// Whether a text ends in an option of one letter.
fn is_flag(text: &str) -> bool {
    let option = text.strip_suffix(|letter: char| letter.is_ascii_alphabetic()).and_then(|text| text.strip_suffix('-'));
    option.is_some_and(|before| before.ends_with([' ', '"', '\'']))
}

/// `text` without the letters that programs write before a text in quotes: `= b`, `= r`.
fn without_literal_prefix(text: &str) -> &str {
    let before = text.trim_end_matches(['b', 'r', 'u', 'f', '@', 'L']);
    let is_prefix = text.len() - before.len() <= 2 && before.ends_with(['=', ':', '(', ',', ' ']);
    if is_prefix { before.trim_end() } else { text }
}

/// The name of a variable or a property without its type and its methods: `key: &str`, `Key { get; set; }`.
fn without_type(name: &str) -> &str {
    let name = if name.ends_with('}') { name.rsplit_once(" {").map_or(name, |(own, _)| own) } else { name };
    let is_type = |text: &str| {
        text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'&' | b'\'' | b'[' | b']' | b'<' | b'>' | b'_' | b';' | b' ')
        })
    };
    match name.rsplit_once(": ") {
        Some((own, of_type)) if own.ends_with(|last: char| last.is_ascii_alphanumeric()) && is_type(of_type) => own,
        _ => name,
    }
}

/// The end of a name from its last opening quote on: `X-Key` of `--header "X-Key`.
fn unquoted_end(name: &str) -> &str {
    let end = name.trim_end_matches(['"', '\'', '`', ')', ']', ' ', '\t']).len();
    &name[name[..end].rfind(QUOTES).map_or(0, |quote| quote + 1)..]
}

/// The bytes of the name at the end of `text`, with its quotes and brackets.
fn name_length(text: &str) -> usize {
    let is_name =
        |byte: &u8| is_part(*byte) || matches!(byte, b' ' | b'\t' | b'.' | b'"' | b'\'' | b'`' | b')' | b']' | b'$');
    text.bytes().rev().take(NAME).take_while(is_name).count()
}

/// Whether the text ends within the arguments of a call that creates a client of a service or passes it the key:
/// `Plivo(`, `Twitter(auth=OAuth(`.
fn is_call(text: &str) -> Option<Drawn> {
    let (name, _) = text.rsplit_once('(').filter(|(_, arguments)| !arguments.contains(')'))?;
    let own = &name[name.len() - name_length(name)..];
    let last = &own[own.rfind(|character: char| !character.is_ascii_alphanumeric()).map_or(0, |at| at + 1)..];
    let tells_key = |word: &str| CALLS.iter().any(|call| word.to_ascii_lowercase().ends_with(call));
    let (last_named, all) = (Named::read(last), Named::read(name));
    if Named::read(own).is_open {
        return None;
    }
    let takes_key = last_named.service.is_some() || last_named.is_key || tells_key(last);
    if takes_key && (last_named.is_key || all.service == Some(false)) {
        return Some(Drawn::Hex);
    }
    if takes_key || all.is_key || names_client(name) {
        return Some(Drawn::Letters);
    }
    // `Orbital(`, `orbital.New(`
    last.starts_with(|first: char| first.is_ascii_uppercase()).then_some(Drawn::Mixed)
}

/// Whether a statement assigns to a variable that is named as a client: `plivoClient = new Plivo(`.
fn names_client(statement: &str) -> bool {
    let target = statement.split('=').next().unwrap_or_default().trim_end();
    target.len() < statement.len() && CALLS.iter().any(|call| target.to_ascii_lowercase().ends_with(call))
}

/// Whether a sentence names a service and its key right before the value: `my heroku key is`, `snyk auth`.
fn is_said(text: &str) -> bool {
    let own = text.rsplit("\":").next().unwrap_or_default();
    let sentence = own.rsplit([';', '(', '{', '[', '<', '=']).next().unwrap_or_default();
    let sentence = sentence.rsplit(". ").next().unwrap_or_default();
    let mut words = sentence.split_ascii_whitespace().rev().peekable();
    let is_verb = words.next_if(|word| matches!(*word, "to" | "are") || VERBS.contains(word)).is_some();
    let read = |word: &str| {
        let named = Named::read(word);
        Named { is_key: named.is_key || names_key(word), ..named }
    };
    let last = words.next().map(read).unwrap_or_default();
    let rest = words.take(SAID_WORDS).map(read).fold(Named::default(), Named::and);
    if last.is_open || rest.is_open {
        return false;
    }
    match last.is_key {
        true => {
            is_verb
                || last.words > 1
                || !sentence.is_ascii()
                || is_owned(sentence)
                || last.service.or(rest.service).is_some()
        }
        false => rest.is_key && (is_verb || last.service.is_some()),
    }
}

/// Whether the last word of a sentence, a word for a key, follows the name of the key's service.
fn is_owned(sentence: &str) -> bool {
    let owner = sentence.split_ascii_whitespace().rev().nth(1);
    owner.is_some_and(|owner| {
        owner.ends_with(|last: char| last.is_ascii_alphanumeric()) && !check::is_sentence_word(owner)
    })
}

/// What the words of a name mean.
#[derive(Debug, Clone, Copy, Default)]
struct Named {
    /// Whether they name a service, and whether its name is a word of other meanings too.
    service: Option<bool>,
    is_key: bool,
    /// Whether they name a value that is not a key.
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
