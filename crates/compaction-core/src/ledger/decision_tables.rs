//! Tables and lists of decisions: tables of an answer with a column that names one, `Point | Decision`, and lists below a
//! title such as `Decisions I made`. Each row and each item is a decision.

use super::bold::without_bold;
use super::statements::{prose, sentences, without_marker};
use super::steps::is_list_item;
use super::text::{WordList, clip, normalised, one_line, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Headers of such a column.
static HEADERS: WordList = word_list!("decision tables: headers");
/// Cells that leave a decision open.
static OPEN: WordList = word_list!("decision tables: open");
/// Words in the title of a list of decisions, and words that leave them open.
static TITLES: WordList = word_list!("decision tables: titles");
static OPEN_TITLES: WordList = word_list!(SPACED, "decision tables: open titles");
/// Most words of such a title, and longest title in UTF-16 units.
const MOST_WORDS: usize = 9;
const LONGEST_TITLE: usize = 60;
/// Longest item of a list of decisions, in UTF-16 units.
const LONGEST_LISTED: usize = 140;
/// Starts the item of a table.
const SUMMED_UP: &str = "Decided: ";
/// Longest item, in UTF-16 units.
const LONGEST_ITEM: usize = 220;
/// Most rows that are read.
const MOST_ROWS: usize = 12;
/// Longest decision, in UTF-16 units.
const LONGEST: usize = 200;
/// Marks between the cells of a row.
const BARS: [char; 2] = ['|', '\u{2502}'];
/// Marks at the beginning of a border of a drawn table.
const BORDERS: [char; 6] = ['\u{250c}', '\u{251c}', '\u{2514}', '\u{256d}', '\u{2570}', '\u{255e}'];

/// The decisions of these tables in items with several of them; none if there are fewer than two.
pub(super) fn decided(rows: &[String]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for row in rows.iter().filter(|_| rows.len() > 1) {
        match items.last_mut().filter(|item| utf16_len(item) + utf16_len(row) <= LONGEST_ITEM) {
            Some(item) => *item = format!("{item}; {row}"),
            None => items.push(format!("{SUMMED_UP}{row}")),
        }
    }
    items
}

/// Whether a line is a row or a border of a table.
pub(super) fn is_of_table(line: &str) -> bool {
    line.trim_start().starts_with(BARS) || is_border(line)
}

fn is_border(line: &str) -> bool {
    line.trim_start().starts_with(BORDERS)
}

/// The decisions in the lists of an answer below a title of decisions: the first sentence of each item.
pub(super) fn decided_items(answer: &str) -> Vec<String> {
    let mut told = Vec::new();
    let (mut is_below, mut indent) = (false, 0);
    for line in prose(answer).filter(|line| line.contains(char::is_alphanumeric)) {
        let own = line.len() - line.trim_start().len();
        if is_below && is_list_item(line) {
            let is_first = told.is_empty();
            indent = if is_first { own } else { indent };
            // Items within an item explain it.
            let first = sentences(line).next().filter(|_| own <= indent);
            told.extend(first.map(|first| clip(&without_bold(&one_line(first)), LONGEST_LISTED)));
        } else if own == 0 || !is_below {
            is_below = told.is_empty() && is_title(line);
        }
        if told.len() == MOST_ROWS {
            break;
        }
    }
    told.retain(|one| !one.ends_with(['?', '\u{ff1f}']));
    told.iter().map(|one| one.trim_end_matches(['.', ';', '\u{3002}']).to_owned()).collect()
}

/// Whether a line is the title of a list of decisions that were made.
fn is_title(line: &str) -> bool {
    let bare = without_marker(line).trim_matches(['*', '#', ' ', ':', '\u{ff1a}']);
    let bare = bare.split(" (").next().unwrap_or(bare);
    let words = normalised(bare);
    utf16_len(bare) <= LONGEST_TITLE
        && words.split_whitespace().count() <= MOST_WORDS
        && !is_list_item(line)
        && !bare.ends_with(['.', '?', '!', '\u{3002}', '\u{ff1f}'])
        && TITLES.is_said_in(bare, &words)
        && !OPEN_TITLES.is_in(&words)
}

/// The decisions in the tables of an answer: `Store: one file for each user`.
pub(super) fn decided_rows(answer: &str) -> Vec<String> {
    let mut told = Vec::new();
    let mut lines = answer.lines().peekable();
    while let Some(line) = lines.next() {
        let header = cells(line);
        let Some(at) = header.iter().position(|cell| is_header(cell)).filter(|_| header.len() > 1) else {
            // Only the border above a header may come before it.
            if is_of_table(line) && !is_border(line) {
                while lines.next_if(|next| is_of_table(next)).is_some() {}
            }
            continue;
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut body: Vec<&str> = Vec::new();
        while let Some(next) = lines.next_if(|next| is_of_table(next)) {
            body.push(next);
        }
        // Where a border stands between all rows, a row may have several lines.
        let has_borders = body.iter().filter(|line| is_border(line)).count() > 2;
        let mut is_new = true;
        for line in body {
            if is_border(line) {
                is_new = true;
                continue;
            }
            let own = cells(line);
            match rows.last_mut().filter(|_| has_borders && !is_new) {
                Some(row) => row.iter_mut().zip(own).for_each(|(cell, more)| *cell = format!("{cell} {more}")),
                None => rows.push(own.iter().map(|cell| (*cell).to_owned()).collect()),
            }
            is_new = false;
        }
        told.extend(rows.iter().filter_map(|row| decision(row, at)));
    }
    told.truncate(MOST_ROWS);
    told
}

/// The decision in column `at` of a row, behind the cell that names its subject.
fn decision(row: &[String], at: usize) -> Option<String> {
    let decided = row.get(at).map(|cell| one_line(cell))?;
    let says = |cell: &str| cell.contains(char::is_alphabetic);
    let is_open = row.iter().any(|cell| OPEN.has(normalised(cell).trim()) || OPEN.pieces.contains(&cell.trim()));
    if !says(&decided) || decided.ends_with(['?', '\u{ff1f}']) || is_open {
        return None;
    }
    let subject = row.iter().take(at).map(|cell| one_line(cell)).find(|cell| says(cell));
    let item = subject.map_or_else(|| decided.clone(), |subject| format!("{subject}: {decided}"));
    Some(clip(&without_bold(&item), LONGEST))
}

/// The cells of a row; none for another line or the border below a header.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let Some(bar) = line.chars().next().filter(|first| BARS.contains(first)) else { return Vec::new() };
    let inner = line.trim_start_matches(bar).trim_end_matches(bar);
    match inner.contains(char::is_alphanumeric) {
        true => inner.split(bar).map(str::trim).collect(),
        false => Vec::new(),
    }
}

fn is_header(cell: &str) -> bool {
    let cell = cell.trim_matches(['*', ' ']);
    HEADERS.has(normalised(cell).trim()) || HEADERS.pieces.contains(&cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_a_table_of_decisions_is_one() {
        let drawn = "All is clear:\n\u{250c}\u{2500}\u{2510}\n\u{2502} Punkt \u{2502} Entscheidung \u{2502}\n\u{251c}\u{2500}\u{2524}\n\
                     \u{2502} Speicher \u{2502} eine Datei je Person \u{2502}\n\u{251c}\u{2500}\u{2524}\n\u{2502} Start \u{2502} Nein, nur \u{2502}\n\
                     \u{2502} \u{2502} von Hand \u{2502}\n\u{2514}\u{2500}\u{2518}\nGo on?";
        assert_eq!(decided_rows(drawn), ["Speicher: eine Datei je Person", "Start: Nein, nur von Hand"]);
        for (header, decided) in [
            ("| # | Topic | Decision |", "| 1 | **Store** | SQLite |"),
            ("| Sujet | Décision |", "| Store | SQLite |"),
            ("| Tema | Decisión |", "| Store | SQLite |"),
            ("| Tema | Decisão |", "| Store | SQLite |"),
            ("| Tema | Decisione |", "| Store | SQLite |"),
            ("| Onderwerp | Beslissing |", "| Store | SQLite |"),
            ("| 项目 | 决定 |", "| Store | SQLite |"),
            ("| 項目 | 決定事項 |", "| Store | SQLite |"),
            ("| 항목 | 결정 |", "| Store | SQLite |"),
        ] {
            let text = format!("Text\n\n{header}\n|---|---|\n{decided}\n\nMore");
            assert_eq!(decided_rows(&text), ["Store: SQLite"], "{header}");
        }
        let rows = ["Store: SQLite".to_owned(), "Start: by hand".to_owned()];
        assert_eq!(decided(&rows), ["Decided: Store: SQLite; Start: by hand"]);
        assert!(decided(&rows[..1]).is_empty());
        let first = "| Decision | Why |\n|---|---|\n| Use SQLite | small |\n| Locks? | open |";
        assert_eq!(decided_rows(first), ["Use SQLite"]);
        for other in ["| Option | Price |\n|---|---|\n| A | 3 |", "| Decision |\n|---|\n| it |", "Decision: use SQLite"]
        {
            assert!(decided_rows(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn each_item_below_a_title_of_decisions_is_one() {
        let answer = "Done.\n\nDecisions I made (change any you don't like)\n- The list has no border. It is thin.\n  - and no \
                      shadow\n- Is the page needed?\n- One file for each shop\n\nThe rest works.\n- fast";
        assert_eq!(decided_items(answer), ["The list has no border", "One file for each shop"]);
        assert_eq!(decided_items("## Annahmen:\n1. Ein Laden je Datei"), ["Ein Laden je Datei"]);
        assert_eq!(decided_items("**设计决策**\n- 每个商店一个文件"), ["每个商店一个文件"]);
        for answer in
            ["Decisions needed:\n- the border", "Open decisions\n- the border", "I made decisions.\n- the border"]
        {
            assert!(decided_items(answer).is_empty(), "{answer}");
        }
    }
}
