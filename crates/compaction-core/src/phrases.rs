//! Tables of phrases: one text for each language. A line with a name in brackets begins a list. The lines after it
//! contain its phrases, between commas, in lower case. A phrase between backquotes may have capital letters, commas,
//! brackets, and spaces at its ends. A line that begins with `#` is a comment.
//!
//! The tables of this folder (`phrases/*.txt`) contain the words that the modules of the crate search for, as lists
//! with the name of their module: `[answers: refusals]`. Other crates have tables of their own. All are read when the
//! crate is compiled. A new language is a new table in `SPACED` or `UNSPACED` and in `EVERY`.

/// A table: its lists in their order.
pub type Table = &'static [List];

/// A list of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    pub(crate) name: &'static str,
    /// The [`key`] of the name.
    key: u64,
    /// The text of its phrases.
    pub(crate) phrases: &'static str,
}

/// The table in a file, whose path begins at the folder of the module.
#[doc(hidden)]
#[macro_export]
macro_rules! table {
    ($file:literal) => {{
        const TEXT: &str = include_str!($file);
        const LISTS: [$crate::phrases::List; $crate::phrases::lists::<0>(TEXT).1] = $crate::phrases::lists(TEXT).0;
        &LISTS
    }};
}
pub use table;

pub(crate) const ENGLISH: Table = table!("phrases/english.txt");
pub(crate) const GERMAN: Table = table!("phrases/german.txt");
pub(crate) const FRENCH: Table = table!("phrases/french.txt");
pub(crate) const SPANISH: Table = table!("phrases/spanish.txt");
pub(crate) const PORTUGUESE: Table = table!("phrases/portuguese.txt");
pub(crate) const ITALIAN: Table = table!("phrases/italian.txt");
pub(crate) const RUSSIAN: Table = table!("phrases/russian.txt");
pub(crate) const DUTCH: Table = table!("phrases/dutch.txt");
/// Languages with few known words.
const OTHERS: Table = table!("phrases/others.txt");
const CHINESE: Table = table!("phrases/chinese.txt");
const JAPANESE: Table = table!("phrases/japanese.txt");
const KOREAN: Table = table!("phrases/korean.txt");
/// Words of command lines and of what programs print.
pub(crate) const PROGRAMS: [Table; 1] = [table!("phrases/programs.txt")];
/// Texts that the harnesses of agents put into messages.
pub(crate) const HARNESSES: [Table; 1] = [table!("phrases/harnesses.txt")];

/// The languages with spaces between words.
pub(crate) const SPACED: [Table; 9] = [ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, DUTCH, OTHERS];
/// The languages without spaces, or with long endings, like Korean. Their phrases are searched for as substrings.
pub(crate) const UNSPACED: [Table; 3] = [CHINESE, JAPANESE, KOREAN];
/// All languages.
pub(crate) const EVERY: [Table; 12] =
    [ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, DUTCH, OTHERS, CHINESE, JAPANESE, KOREAN];

/// The phrases of a list in some of the tables, as a constant `&[&str]`. A list that is in none of them does not
/// compile.
#[doc(hidden)]
#[macro_export]
macro_rules! listed {
    ($tables:expr, $list:literal) => {{
        const COUNT: usize = $crate::phrases::read::<0>(&$tables, $list).1;
        const { assert!(COUNT > 0, "no table has this list") };
        const PHRASES: [&str; COUNT] = $crate::phrases::read(&$tables, $list).0;
        &PHRASES
    }};
}
pub use listed;

// The compiler interprets these functions in every build, and most of that time goes into calls. So they loop over
// bytes and positions, and split texts only to keep a phrase.

/// The first `N` phrases of a list in `tables`, and the number of all its phrases.
pub const fn read<const N: usize>(tables: &[Table], list: &str) -> ([&'static str; N], usize) {
    let (mut phrases, mut count, mut table, key) = ([""; N], 0, 0, key(list.as_bytes()));
    while table < tables.len() {
        let text = phrases_of(tables[table], list, key);
        let bytes = text.as_bytes();
        let (mut start, mut end, mut rest) = next(bytes, 0);
        while start < end {
            if count < N {
                phrases[count] = part(text, start, end);
            }
            count += 1;
            (start, end, rest) = next(bytes, rest);
        }
        table += 1;
    }
    (phrases, count)
}

/// The phrases in the text of a list.
pub(crate) fn each(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let (start, end, behind) = next(text.as_bytes(), rest);
        rest = behind;
        (start < end).then(|| &text[start..end])
    })
}

/// Where the first phrase at or after a position in the text of a list starts and ends, and the position after it. At
/// the end of the text, the phrase is empty.
const fn next(text: &[u8], mut at: usize) -> (usize, usize, usize) {
    let length = text.len();
    while at < length {
        if text[at] == b'#' {
            at = find(text, at, b'\n', b'\n') + 1;
            continue;
        }
        let mut start = at;
        while start < length && matches!(text[start], b' ' | b'\t' | b'\n' | b'\r') {
            start += 1;
        }
        if start < length && text[start] == b'`' {
            let end = find(text, start + 1, b'`', b'`');
            return (start + 1, end, end + 1);
        }
        let behind = find(text, at, b',', b'\n');
        let mut end = behind;
        while start < end && matches!(text[end - 1], b' ' | b'\t' | b'\r') {
            end -= 1;
        }
        if start < end {
            return (start, end, behind + 1);
        }
        at = behind + 1;
    }
    (length, length, length)
}

/// The text of the phrases of a list, whose [`key`] is given; empty if the table has no such list.
const fn phrases_of(table: Table, list: &str, key: u64) -> &'static str {
    let (length, mut at) = (table.len(), 0);
    while at < length {
        if table[at].key == key && is_same(table[at].name.as_bytes(), list.as_bytes()) {
            return table[at].phrases;
        }
        at += 1;
    }
    ""
}

/// The first `N` lists of a table, and the number of all its lists.
pub const fn lists<const N: usize>(table: &'static str) -> ([List; N], usize) {
    let bytes = table.as_bytes();
    let (mut lists, mut count) = ([List { name: "", key: 0, phrases: "" }; N], 0);
    let mut start = list_from(bytes, 0);
    while start < bytes.len() {
        let end = list_from(bytes, start + 1);
        if count < N {
            let bracket = find(bytes, start, b']', b']');
            let name = part(table, start + 1, bracket);
            lists[count] = List { name, key: key(name.as_bytes()), phrases: part(table, bracket + 1, end) };
        }
        count += 1;
        start = end;
    }
    (lists, count)
}

/// The position of the first bracket that begins a line, at a position or after it; otherwise that of the end.
const fn list_from(text: &[u8], mut at: usize) -> usize {
    let length = text.len();
    while at < length && !(text[at] == b'[' && (at == 0 || text[at - 1] == b'\n')) {
        at += 1;
    }
    at
}

/// The position of the first of two bytes, at a position or after it; otherwise that of the end.
const fn find(text: &[u8], mut at: usize, one: u8, other: u8) -> usize {
    let length = text.len();
    while at < length && text[at] != one && text[at] != other {
        at += 1;
    }
    at
}

/// The text between two positions.
const fn part(text: &'static str, start: usize, end: usize) -> &'static str {
    text.split_at(end).0.split_at(start).1
}

/// A hash of a name; few names share one.
const fn key(name: &[u8]) -> u64 {
    let (length, mut key, mut at) = (name.len(), 0, 0_usize);
    while at < length {
        key = (key ^ name[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    key
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while one.len() == other.len() && at < one.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && one.len() == other.len()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The texts of the files with an ending in a folder and those within it.
    fn texts(folder: &Path, ending: &str) -> Vec<String> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: std::path::PathBuf| match path.extension() {
            _ if path.is_dir() => texts(&path, ending),
            Some(found) if found == ending => vec![fs::read_to_string(path).unwrap()],
            _ => Vec::new(),
        };
        paths.flat_map(read).collect()
    }

    /// The numbers of the wrong lines of a table (from 1): a list without a name or with an unknown one, phrases before
    /// the first list, an empty phrase, or one without backquotes that is not in lower case.
    fn wrong_lines(table: &str, is_known: impl Fn(&str) -> bool) -> Vec<usize> {
        let mut has_list = false;
        let mut is_right = |line: &str| {
            if let Some(name) = line.strip_prefix('[') {
                has_list = name.strip_suffix(']').is_some_and(&is_known);
                return has_list;
            }
            let mut rest = line.strip_suffix(',').unwrap_or(line);
            let is_free = line.is_empty() || line.starts_with('#');
            while !is_free && !rest.is_empty() {
                let phrase = match rest.trim_start().strip_prefix('`') {
                    Some(quoted) => quoted.split_once('`').map(|(_, behind)| ("quoted", behind)),
                    None => Some(rest.split_at(rest.find(',').unwrap_or(rest.len()))),
                };
                let Some((phrase, behind)) = phrase.map(|(phrase, behind)| (phrase.trim(), behind)) else {
                    return false;
                };
                let is_phrase = !phrase.is_empty() && !phrase.contains(['[', ']']) && !phrase.contains("  ");
                if !is_phrase || phrase.to_lowercase() != phrase || !behind.is_empty() && !behind.starts_with(',') {
                    return false;
                }
                rest = behind.get(1..).unwrap_or_default();
            }
            is_free || has_list
        };
        table.lines().zip(1..).filter(|(line, _)| !is_right(line)).map(|(_, number)| number).collect()
    }

    #[test]
    fn tables_are_well_formed_and_every_list_of_them_is_used() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let sources = texts(&folder, "rs").concat();
        // Every text between two quotation marks.
        let quoted: HashSet<&str> = sources.split('"').collect();
        let folders = ["phrases", "overflow", "ledger/constraints", "ledger/withdrawals"];
        let tables = folders.map(|tables| texts(&folder.join(tables), "txt"));
        assert_eq!(tables[0].len(), EVERY.len() + PROGRAMS.len() + HARNESSES.len());
        for table in tables.into_iter().flatten() {
            let mut names = HashSet::new();
            let wrong = wrong_lines(&table, |name| quoted.contains(name));
            let again: Vec<&str> = table.lines().filter(|line| line.starts_with('[') && !names.insert(*line)).collect();
            // A constraint can be negated in several ways, each with its lists.
            let may_repeat = table.contains("\n[negation]\n");
            let start = table.lines().next().unwrap_or_default();
            assert!(wrong.is_empty(), "lines {wrong:?} of the table \"{start}\" are wrong or of unused lists");
            assert!(again.is_empty() || may_repeat, "{again:?}");
        }
    }

    #[test]
    fn lists_of_several_tables_are_joined_in_their_order() {
        const fn list(name: &'static str, phrases: &'static str) -> List {
            List { name, key: key(name.as_bytes()), phrases }
        }
        const ONE: Table = &[list("a: words", "\ntake, go for,\npick\n\n"), list("a: more", "\nno longer\n")];
        const OTHER: Table = &[list("a: words", "\nnimm\n")];
        assert_eq!(listed!([ONE, OTHER], "a: words"), &["take", "go for", "pick", "nimm"]);
        assert_eq!(listed!([ONE, OTHER], "a: more"), &["no longer"]);
        assert_eq!(read::<1>(&[OTHER], "a: more"), ([""], 0));
        const COMMENTED: Table = &[list("a: words", "\n# one, two\ntake\n#\npick\n# three")];
        assert_eq!(read::<2>(&[COMMENTED], "a: words"), (["take", "pick"], 2));
        let text = "[a: words]\ntake, go for,\npick\n\n[a: more]\nno longer\n";
        assert_eq!(lists::<2>(text), ([ONE[0], ONE[1]], 2));
    }

    #[test]
    fn phrases_between_backquotes_stand_as_they_are() {
        let text = "[a: words]\n`[x], y `, z,\n`# A`\n# no, phrase\n`b`\n";
        let (lists, count) = lists::<1>(text);
        assert_eq!((lists[0].name, count), ("a: words", 1));
        assert_eq!(each(lists[0].phrases).collect::<Vec<_>>(), ["[x], y ", "z", "# A", "b"]);
    }

    #[test]
    fn malformed_lines_have_numbers() {
        for (table, wrong) in [
            ("take\n[verbs]\npick", 1),
            ("[verbs]\ntake\n[nouns]", 3),
            ("[verbs\ntake", 1),
            ("[verbs]\n\ntake,, pick", 3),
            ("[verbs]\ntake\nPick", 3),
            ("[verbs]\ntake [no more]", 2),
            ("[verbs]\ngo  for", 2),
            ("[verbs]\n`Take`, `go", 2),
        ] {
            let known = |name: &str| ["verbs", "no more"].contains(&name);
            assert_eq!(wrong_lines(table, known).first(), Some(&wrong), "{table}");
        }
    }
}
