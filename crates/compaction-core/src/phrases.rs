//! Tables of phrases: one text for each language. A line with a name in brackets begins a list. The lines after it
//! contain its phrases, between commas, in lower case. A phrase between backquotes may have capital letters, commas,
//! brackets, and spaces at its ends. A line that begins with `#` is a comment.
//!
//! The tables of this folder (`phrases/*.txt`) contain the words that the modules of the crate search for, as lists
//! with the name of their module: `[answers: refusals]`. The build script reads them. A new language is a new table in
//! `SPACED` or `UNSPACED` of the build script. Other crates have tables of their own, which the compiler reads.

pub mod reading;

/// A table: its lists in their order.
pub type Table = &'static [List];

/// A list of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    pub(crate) name: &'static str,
    /// The [`reading::key`] of the name.
    key: u64,
    pub(crate) phrases: &'static [&'static str],
}

impl List {
    /// A list with its name and its phrases.
    pub const fn new(name: &'static str, phrases: &'static [&'static str]) -> Self {
        Self { name, key: reading::key(name.as_bytes()), phrases }
    }
}

/// A table that the build script has read. Its path begins at the folder `src`.
macro_rules! built {
    ($file:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $file, ".rs"))
    };
}
pub(crate) use built;

/// The table in a file that the compiler reads. Its path begins at the folder of the module. The compiler interprets what
/// reads it in every build, so this is for small tables.
#[doc(hidden)]
#[macro_export]
macro_rules! table {
    ($file:literal) => {{
        use $crate::phrases::{List, lists, reading};
        const TEXT: &str = include_str!($file);
        const PHRASES: [&str; reading::phrases::<0>(TEXT).1] = reading::phrases(TEXT).0;
        const LISTS: [List; lists::<0>(TEXT, &PHRASES).1] = lists(TEXT, &PHRASES).0;
        &LISTS
    }};
}
pub use table;

pub(crate) const ENGLISH: Table = built!("phrases/english.txt");
pub(crate) const GERMAN: Table = built!("phrases/german.txt");
pub(crate) const FRENCH: Table = built!("phrases/french.txt");
pub(crate) const SPANISH: Table = built!("phrases/spanish.txt");
pub(crate) const PORTUGUESE: Table = built!("phrases/portuguese.txt");
pub(crate) const ITALIAN: Table = built!("phrases/italian.txt");
pub(crate) const RUSSIAN: Table = built!("phrases/russian.txt");
pub(crate) const DUTCH: Table = built!("phrases/dutch.txt");
/// Words of command lines and of what programs print.
pub(crate) const PROGRAMS: Table = built!("phrases/programs.txt");
/// Texts that the harnesses of agents put into messages.
pub(crate) const HARNESSES: Table = built!("phrases/harnesses.txt");
/// The languages with spaces between words, joined.
pub(crate) const SPACED: Table = built!("spaced");
/// The languages without spaces, or with long endings, like Korean, joined. Their phrases are searched for as substrings.
pub(crate) const UNSPACED: Table = built!("unspaced");
/// All languages, joined.
pub(crate) const EVERY: Table = built!("every");

/// The phrases of a list of a table, as a constant `&[&str]`. A list that is not in it does not compile.
#[doc(hidden)]
#[macro_export]
macro_rules! listed {
    ($table:expr, $list:literal) => {{
        const PHRASES: &[&str] = $crate::phrases::phrases_of($table, $list);
        const { assert!(!PHRASES.is_empty(), "the table has no such list") };
        PHRASES
    }};
}
pub use listed;

/// The function words of the languages that have a list of them, English first.
pub(crate) const FUNCTION_WORDS: [&[&str]; 8] = [
    listed!(ENGLISH, "question: function words"),
    listed!(GERMAN, "question: function words"),
    listed!(FRENCH, "question: function words"),
    listed!(SPANISH, "question: function words"),
    listed!(PORTUGUESE, "question: function words"),
    listed!(ITALIAN, "question: function words"),
    listed!(RUSSIAN, "question: function words"),
    listed!(DUTCH, "question: function words"),
];

/// The phrases of a list; none if the table has no such list.
pub const fn phrases_of(table: Table, list: &str) -> &'static [&'static str] {
    let (length, key, mut at) = (table.len(), reading::key(list.as_bytes()), 0);
    while at < length {
        if table[at].key == key && reading::is_same(table[at].name.as_bytes(), list.as_bytes()) {
            return table[at].phrases;
        }
        at += 1;
    }
    &[]
}

/// The first `N` lists of a table whose [`reading::phrases`] are given, and the number of all its lists.
pub const fn lists<const N: usize>(text: &'static str, mut phrases: &'static [&'static str]) -> ([List; N], usize) {
    let (mut lists, mut count) = ([List::new("", &[]); N], 0);
    let (mut list, mut rest) = reading::next_list(text);
    while let Some((name, of_list)) = list {
        if count < N {
            let (own, others) = phrases.split_at(reading::count(of_list));
            lists[count] = List::new(name, own);
            phrases = others;
        }
        count += 1;
        (list, rest) = reading::next_list(rest);
    }
    (lists, count)
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
        let own = |table| phrases_of(table, "cues: trivial");
        let joined = [own(ENGLISH), own(GERMAN)].concat();
        assert!(!joined.is_empty());
        assert_eq!(own(SPACED)[..joined.len()], joined);
        assert_eq!(own(EVERY), [own(SPACED), own(UNSPACED)].concat());
    }

    #[test]
    fn a_table_has_its_lists_with_their_phrases() {
        const TEXT: &str = "[a: words]\n# one, two\ntake, go for,\npick\n#\n\n[a: more]\nno longer\n# three";
        const PHRASES: [&str; 4] = reading::phrases(TEXT).0;
        const LISTS: [List; 2] = lists(TEXT, &PHRASES).0;
        assert_eq!((reading::phrases::<0>(TEXT).1, lists::<0>(TEXT, &PHRASES).1), (4, 2));
        assert_eq!(listed!(&LISTS, "a: words"), &["take", "go for", "pick"]);
        assert_eq!(listed!(&LISTS, "a: more"), &["no longer"]);
        assert!(phrases_of(&LISTS, "a: none").is_empty());
    }

    #[test]
    fn phrases_between_backquotes_stand_as_they_are() {
        let text = "[a: words]\n`[x], y `, z,\n`# A`\n# no, phrase\n`b`\n";
        assert_eq!(reading::phrases::<5>(text), (["[x], y ", "z", "# A", "b", ""], 4));
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
