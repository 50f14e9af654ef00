//! Tables of phrases: one text for each language. A line with a name in brackets begins a list. The lines after it
//! hold its phrases, between commas, in lower case. A line that begins with `#` is a comment.
//!
//! The tables of this folder (`phrases/*.txt`) hold the words that the modules of the crate look for, as lists with the
//! name of their module: `[answers: refusals]`. They are read while the crate is compiled. A new language is a new table
//! in [`SPACED`] or [`UNSPACED`] and in [`EVERY`].

/// A table: its lists by their names, each with the text of its phrases.
pub(crate) type Table = &'static [(&'static str, &'static str)];

/// The table in a file, whose path begins at the folder of the module.
macro_rules! table {
    ($file:literal) => {{
        const TEXT: &str = include_str!($file);
        const LISTS: [(&str, &str); $crate::phrases::lists::<0>(TEXT).1] = $crate::phrases::lists(TEXT).0;
        &LISTS
    }};
}
pub(crate) use table;

pub(crate) const ENGLISH: Table = table!("phrases/english.txt");
pub(crate) const GERMAN: Table = table!("phrases/german.txt");
pub(crate) const FRENCH: Table = table!("phrases/french.txt");
pub(crate) const SPANISH: Table = table!("phrases/spanish.txt");
pub(crate) const PORTUGUESE: Table = table!("phrases/portuguese.txt");
pub(crate) const ITALIAN: Table = table!("phrases/italian.txt");
pub(crate) const RUSSIAN: Table = table!("phrases/russian.txt");
pub(crate) const DUTCH: Table = table!("phrases/dutch.txt");
/// Languages of which few words are known.
const OTHERS: Table = table!("phrases/others.txt");
const CHINESE: Table = table!("phrases/chinese.txt");
const JAPANESE: Table = table!("phrases/japanese.txt");
const KOREAN: Table = table!("phrases/korean.txt");

/// The languages with spaces between words.
pub(crate) const SPACED: [Table; 9] = [ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, DUTCH, OTHERS];
/// The languages without, or with long endings. Their phrases are searched for as pieces of text.
pub(crate) const UNSPACED: [Table; 3] = [CHINESE, JAPANESE, KOREAN];
/// All languages.
pub(crate) const EVERY: [Table; 12] =
    [ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, DUTCH, OTHERS, CHINESE, JAPANESE, KOREAN];

/// The phrases of a list in some of the tables, as a constant `&[&str]`. A list that none of them has does not compile.
macro_rules! listed {
    ($tables:expr, $list:literal) => {{
        const COUNT: usize = $crate::phrases::read::<0>(&$tables, $list).1;
        const { assert!(COUNT > 0, "no table has this list") };
        const PHRASES: [&str; COUNT] = $crate::phrases::read(&$tables, $list).0;
        &PHRASES
    }};
}
pub(crate) use listed;

/// The first `N` phrases of a list in `tables`, and the number of all.
pub(crate) const fn read<const N: usize>(tables: &[Table], list: &str) -> ([&'static str; N], usize) {
    let (mut phrases, mut count, mut table) = ([""; N], 0, 0);
    while table < tables.len() {
        let mut rest = phrases_of(tables[table], list);
        while !rest.is_empty() {
            let is_comment = rest.as_bytes()[0] == b'#';
            let (phrase, behind) = split(rest, if is_comment { b'\n' } else { b',' }, b'\n');
            let phrase = phrase.trim_ascii();
            if !is_comment && !phrase.is_empty() {
                if count < N {
                    phrases[count] = phrase;
                }
                count += 1;
            }
            rest = behind;
        }
        table += 1;
    }
    (phrases, count)
}

/// The text of the phrases of a list; empty if the table has no such list.
const fn phrases_of(table: Table, list: &str) -> &'static str {
    let mut at = 0;
    while at < table.len() {
        if is_same(table[at].0, list) {
            return table[at].1;
        }
        at += 1;
    }
    ""
}

/// The first `N` lists of a table, and the number of all.
pub(crate) const fn lists<const N: usize>(table: &'static str) -> ([(&'static str, &'static str); N], usize) {
    let (mut lists, mut count, mut rest) = ([("", ""); N], 0, split(table, b'[', b'[').1);
    while !rest.is_empty() {
        let (list, behind) = split(rest, b'[', b'[');
        if count < N {
            lists[count] = split(list, b']', b']');
        }
        count += 1;
        rest = behind;
    }
    (lists, count)
}

/// The phrases in the text of a list.
pub(crate) fn each(phrases: &'static str) -> impl Iterator<Item = &'static str> {
    phrases.split([',', '\n']).map(str::trim).filter(|phrase| !phrase.is_empty())
}

/// The text before the first of two ASCII characters, and the text behind it.
const fn split(text: &'static str, one: u8, other: u8) -> (&'static str, &'static str) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != one && bytes[at] != other {
        at += 1;
    }
    let (before, behind) = text.split_at(at);
    (before, if behind.is_empty() { "" } else { behind.split_at(1).1 })
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while one.len() == other.len() && at < one.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && one.len() == other.len()
}

/// A phrase of a table, and the list that contains it.
pub(crate) type Listed<T> = (T, &'static str);

/// The phrases of `table` in their order. `list` knows the lists by their names.
///
/// # Errors
/// In place of a phrase, the number of a line (from 1) that holds something else: a list without a name or with an
/// unknown one, phrases before the first list, an empty phrase, or one that is not in lower case.
pub(crate) fn phrases<T: Copy>(
    table: &'static str,
    list: impl Fn(&str) -> Option<T>,
) -> impl Iterator<Item = Result<Listed<T>, usize>> {
    let mut current = None;
    let mut read = Vec::new();
    for (line, number) in table.lines().zip(1..) {
        if let Some(name) = line.strip_prefix('[') {
            current = name.strip_suffix(']').and_then(&list);
            read.extend(current.is_none().then_some(Err(number)));
        } else if !line.is_empty() && !line.starts_with('#') {
            let phrases = line.strip_suffix(',').unwrap_or(line).split(',').map(str::trim);
            read.extend(phrases.map(|phrase| match current {
                Some(list) if is_phrase(phrase) => Ok((list, phrase)),
                _ => Err(number),
            }));
        }
    }
    read.into_iter()
}

fn is_phrase(text: &str) -> bool {
    !text.is_empty() && !text.contains(['[', ']']) && !text.contains("  ") && text.to_lowercase() == text
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

    #[test]
    fn tables_are_well_formed_and_every_list_of_them_is_used() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let sources = texts(&folder, "rs").concat();
        let tables = [texts(&folder.join("phrases"), "txt"), texts(&folder.join("overflow"), "txt")].concat();
        assert_eq!(tables.len(), EVERY.len() + 1);
        for table in tables {
            let mut names = HashSet::new();
            let is_used = |name: &str| sources.contains(&format!("\"{name}\")")).then_some(());
            let wrong: Vec<usize> = phrases(table.clone().leak(), is_used).filter_map(Result::err).collect();
            let again: Vec<&str> = table.lines().filter(|line| line.starts_with('[') && !names.insert(*line)).collect();
            assert!(wrong.is_empty() && again.is_empty(), "lines {wrong:?} are wrong or of unused lists, {again:?}");
        }
    }

    #[test]
    fn lists_of_several_tables_are_joined_in_their_order() {
        const ONE: Table = &[("a: words", "\ntake, go for,\npick\n\n"), ("a: more", "\nno longer\n")];
        const OTHER: Table = &[("a: words", "\nnimm\n")];
        assert_eq!(listed!([ONE, OTHER], "a: words"), &["take", "go for", "pick", "nimm"]);
        assert_eq!(listed!([ONE, OTHER], "a: more"), &["no longer"]);
        assert_eq!(read::<1>(&[OTHER], "a: more"), ([""], 0));
        let commented = [("a: words", "\n# one, two\ntake\n#\npick\n# three")].as_slice();
        assert_eq!(read::<2>(&[commented], "a: words"), (["take", "pick"], 2));
        let text = "[a: words]\ntake, go for,\npick\n\n[a: more]\nno longer\n";
        assert_eq!(lists::<2>(text), ([ONE[0], ONE[1]], 2));
    }

    fn list(name: &str) -> Option<u8> {
        ["verbs", "no more"].into_iter().zip(1..).find_map(|(known, list)| (known == name).then_some(list))
    }

    #[test]
    fn phrases_belong_to_the_list_before_them() {
        let read: Vec<_> = phrases("[verbs]\ntake, go for,\npick\n\n[no more]\nno longer\n", list).collect();
        assert_eq!(read, [Ok((1, "take")), Ok((1, "go for")), Ok((1, "pick")), Ok((2, "no longer"))]);
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
        ] {
            assert_eq!(phrases(table, list).find_map(Result::err), Some(wrong), "{table}");
        }
    }
}
