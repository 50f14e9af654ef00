//! Reads the tables of phrases, so that the compiler does not have to. For each table, and for the tables of several
//! languages joined, it writes a file with an expression of the type `Table`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, error, fs};

#[path = "src/phrases/reading.rs"]
#[expect(dead_code, unreachable_pub, reason = "the crate uses the other functions")]
mod reading;

/// The folders of the tables, within `src`.
const FOLDERS: [&str; 4] = ["phrases", "overflow", "ledger/constraints", "ledger/withdrawals"];

/// The languages with spaces between words. Those with few known words are in the last table.
const SPACED: [&str; 9] =
    ["english", "german", "french", "spanish", "portuguese", "italian", "russian", "dutch", "others"];
/// The languages without spaces, or with long endings.
const UNSPACED: [&str; 3] = ["chinese", "japanese", "korean"];
/// Tables beside those of languages.
const OTHERS: [&str; 2] = ["programs", "harnesses"];

type Lists<'a> = Vec<(&'a str, Vec<&'a str>)>;

fn main() -> Result<(), Box<dyn error::Error>> {
    let sources = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed=src/{folder}");
        fs::create_dir_all(out.join(folder))?;
        for file in fs::read_dir(sources.join(folder))? {
            let path = file?.path();
            if path.extension().is_some_and(|ending| ending == "txt") {
                let text = fs::read_to_string(&path)?;
                let name = path.strip_prefix(&sources)?.display().to_string();
                fs::write(out.join(format!("{name}.rs")), expression(&lists(&text)))?;
                let table = path.file_stem().unwrap_or_default().to_string_lossy();
                let mut known = SPACED.iter().chain(&UNSPACED).chain(&OTHERS);
                if folder == FOLDERS[0] && !known.any(|known| *known == table) {
                    return Err(format!("{name} is in no list of the build script").into());
                }
            }
        }
    }
    let every = [&SPACED[..], &UNSPACED].concat();
    for (name, languages) in [("spaced", &SPACED[..]), ("unspaced", &UNSPACED), ("every", &every)] {
        let read = |language: &&str| fs::read_to_string(sources.join("phrases").join(format!("{language}.txt")));
        let texts = languages.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        fs::write(out.join(format!("{name}.rs")), expression(&joined(texts.iter().map(|text| lists(text)))))?;
    }
    Ok(())
}

/// The lists of a table, in their order.
fn lists(table: &str) -> Lists<'_> {
    let mut lists = Vec::new();
    let (mut list, mut rest) = reading::next_list(table);
    while let Some((name, of_list)) = list {
        lists.push((name, phrases(of_list)));
        (list, rest) = reading::next_list(rest);
    }
    lists
}

fn phrases(of_list: &str) -> Vec<&str> {
    let mut phrases = Vec::new();
    let (mut start, mut end, mut rest) = reading::next(of_list.as_bytes(), 0);
    while start < end {
        phrases.push(&of_list[start..end]);
        (start, end, rest) = reading::next(of_list.as_bytes(), rest);
    }
    phrases
}

/// The lists of several tables. Those with the same name are one list, in the order of the tables.
fn joined<'a>(tables: impl Iterator<Item = Lists<'a>>) -> Lists<'a> {
    let mut joined: Lists<'a> = Vec::new();
    for (name, phrases) in tables.flatten() {
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(phrases),
            None => joined.push((name, phrases)),
        }
    }
    joined
}

/// A table as an expression.
fn expression(lists: &Lists<'_>) -> String {
    let mut text = "&[\n".to_owned();
    for (name, phrases) in lists {
        // It fails for no text.
        let _ = writeln!(text, "crate::phrases::List::new({name:?}, &{phrases:?}),");
    }
    text + "]\n"
}
