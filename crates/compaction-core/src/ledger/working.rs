//! What a model says while it works, in the same message as its report: what it looks at or does next. Some agents join all
//! that was said in a turn to one message.

use super::closed_requests::leads;
use super::completed::{begins_with_done, is_title_of_done};
use super::cues::is_announcement;
use super::statements::{is_fence, prose, sentences, without_marker};
use super::steps::is_list_item;
use super::text::{WordList, lines, normalised, one_line, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// First words of sentences in which a model says what it does now.
static STARTS: WordList = word_list!("working: starts");
/// The same in languages in which another part of the sentence may come first.
static INVERTED: WordList = word_list!(SPACED, "working: inverted");
/// Words for the present time, which may stand before these beginnings or before a state.
static NOW: WordList = word_list!("cues: now");
/// Marks before such a clause.
const DASHES: [char; 2] = ['\u{2014}', '\u{2013}'];
/// First words of remarks beside a report.
static FOOTNOTES: WordList = word_list!("working: footnotes");
/// Titles of lists of changes, and sentences that lead to one.
static CHANGES: WordList = word_list!("working: changes");
/// Most words of these beginnings.
const WORDS: usize = 6;
/// Longest title of a list of changes, in UTF-16 units.
const LONGEST_TITLE: usize = 80;
/// Most items of such a list that are told.
const MOST_ITEMS: usize = 12;
/// Most paragraphs of an answer that are read.
const MOST_PARAGRAPHS: usize = 256;

/// Whether a sentence says what the model does now or next, or ends with a clause that does: `It is empty \u{2014} I'm checking why`.
pub(super) fn is_at_work(sentence: &str) -> bool {
    let is_said = |clause: &str| STARTS.begins_in(clause, WORDS) && !begins_with_done(clause);
    is_said(sentence) || INVERTED.is_in(&normalised(sentence)) || {
        let mut clauses = sentence.split(DASHES).skip(1);
        clauses.any(|clause| is_said(clause.trim()))
    }
}

/// Whether a sentence is a remark beside a report: what stays as it was, or what to remember.
pub(super) fn is_footnote(sentence: &str) -> bool {
    FOOTNOTES.begins_in(sentence, WORDS)
}

/// The report of an answer that begins with what the model did step by step: what follows the last such paragraph. An answer
/// that begins otherwise is a report as a whole, and a list of changes begins the report.
pub(super) fn report(answer: &str) -> &str {
    let mut start = 0;
    let mut has_begun = false;
    for (paragraph, end) in paragraphs(answer).take(MOST_PARAGRAPHS) {
        let first = paragraph.trim_start();
        if is_list_item(first) || first.starts_with(['#', '*', '|', '>']) || is_fence(first) {
            if has_begun {
                continue;
            }
            break;
        }
        if paragraph.lines().any(is_title_of_changes) {
            break;
        }
        // The last words may tell what came of it, too.
        if is_step(paragraph) && !answer[end..].trim().is_empty() {
            has_begun = true;
            start = end;
        } else if !has_begun {
            break;
        }
    }
    &answer[start..]
}

/// Whether the first or last sentence of a paragraph says what the model does.
fn is_step(paragraph: &str) -> bool {
    // `Now the menu has prices` is a result.
    let is_said = |sentence: &str| {
        let own = behind_now(sentence).unwrap_or(sentence);
        is_at_work(own) || is_announcement(own)
    };
    let mut own = prose(paragraph).flat_map(sentences);
    own.next().is_some_and(|first| is_said(first) || own.last().is_some_and(is_said))
}

/// What follows a word for the present time at the beginning of a sentence.
fn behind_now(sentence: &str) -> Option<&str> {
    let spaced = sentence.split_once(' ').filter(|(first, _)| NOW.has(&first.to_lowercase()));
    let unspaced = || NOW.pieces.iter().find_map(|piece| sentence.strip_prefix(piece));
    spaced.map(|(_, rest)| rest).or_else(unspaced)
}

/// The paragraphs of a text outside of code, each with the offset at which it ends.
fn paragraphs(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let (mut at, mut start, mut is_code) = (0, 0, false);
    let mut breaks = text.split_inclusive('\n');
    std::iter::from_fn(move || {
        loop {
            let Some(line) = breaks.next() else {
                let last = std::mem::replace(&mut start, text.len());
                return (last < text.len()).then(|| (&text[last..], text.len()));
            };
            is_code ^= is_fence(line);
            at += line.len();
            if line.trim().is_empty() && !is_code {
                let paragraph = &text[std::mem::replace(&mut start, at)..at];
                if !paragraph.trim().is_empty() {
                    return Some((paragraph, at));
                }
            }
        }
    })
}

/// Whether a line is the title of a list of changes or leads to one.
fn is_title_of_changes(line: &str) -> bool {
    let text = without_marker(line).trim();
    let last = sentences(text).last().unwrap_or_default();
    let bare = last.trim_matches(|one: char| !one.is_alphanumeric());
    let is_bare = || text.ends_with(char::is_alphanumeric) && last.len() == text.len();
    let is_marked = line.trim_start().starts_with(['#', '*']) || leads(text.trim_end_matches('*')) || is_bare();
    is_title_of_done(line, text)
        || !is_list_item(line)
            && is_marked
            && utf16_len(bare) <= LONGEST_TITLE
            && (CHANGES.begins_in(bare, WORDS) || leads(text) && begins_with_done(bare))
}

/// The items of the first list of an answer below a title of changes: items of a list, or bold headings with numbers, without
/// what stands below them.
pub(super) fn changes(answer: &str) -> Vec<String> {
    let own = lines(answer).skip_while(|line| !is_title_of_changes(line)).skip(1);
    let mut items: Vec<String> = Vec::new();
    // The indentation of the last item that was told.
    let mut depth = None;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_headed = |line: &str| {
        let line = line.trim_start().trim_start_matches(['#', ' ']);
        line.strip_prefix("**").is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()))
            || line.starts_with(|one: char| one.is_ascii_digit()) && line.contains(". **")
    };
    let mut by_heading = None;
    for line in own {
        if line.trim().is_empty() {
            continue;
        }
        let is_item = is_list_item(line) && without_marker(line).len() < line.trim().len();
        let is_head = is_headed(line);
        let by_heading = *by_heading.get_or_insert(is_head);
        match by_heading {
            true if is_head || line.starts_with(|one: char| one.is_ascii_digit()) => {}
            true if line.trim_start().starts_with('#') => break,
            true => continue,
            false if !is_item && indent(line) > 0 => continue,
            false if !is_item => break,
            false if depth.is_some_and(|depth| indent(line) > depth) => continue,
            false => {}
        }
        let text = line.trim_start().trim_start_matches(['#', '*', ' ']);
        let text = one_line(&without_marker(text).replace("**", ""));
        let text = text.trim_end_matches([':', '\u{ff1a}', ' ']);
        // The items below the name of a file say what changed in it.
        if !by_heading && is_name(text) {
            depth = None;
            continue;
        }
        depth = Some(indent(line));
        items.push(text.to_owned());
        if items.len() == MOST_ITEMS {
            break;
        }
    }
    items
}

/// Whether an item is only a name, such as that of a file.
fn is_name(item: &str) -> bool {
    !item.trim_matches('`').contains(' ') && item.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::{changes, is_at_work, is_footnote, report};

    #[test]
    fn the_report_follows_what_was_said_during_the_work() {
        for (answer, expected) in [
            (
                "I'm reading the menu of the shop first.\n\nThe prices are strings. I'm changing the parser now.\n\nThe \
                 menu has its prices now.\n\nReload the page.",
                "The menu has its prices now.\n\nReload the page.",
            ),
            (
                "Ich lese zuerst die Karte.\n\nDie Preise fehlen noch \u{2014} ich prüfe den Grund.\n\nAls Nächstes passe ich \
                 den Import an.\n\nDie Karte hat jetzt Preise.",
                "Die Karte hat jetzt Preise.",
            ),
            ("Проверяю меню:\n\nДобавляю цены.\n\nВ меню теперь есть цены.", "В меню теперь есть цены."),
            ("Voy a leer el menú.\n\nEl menú tiene sus precios.", "El menú tiene sus precios."),
            ("Je vérifie le menu.\n\nLe menu a ses prix.", "Le menu a ses prix."),
            ("我先看一下菜单。\n\n现在开始修改价格。\n\n菜单的价格已经写好了。", "菜单的价格已经写好了。"),
            ("メニューを確認します。\n\nメニューに価格を追加しました。", "メニューに価格を追加しました。"),
            // What is said behind the list of changes is not of interest.
            (
                "Проверяю меню.\n\nГотово. Сделано следующее:\n\n- Цены\n\nПерезапускаю сервер.\n\nСервер работает.",
                "Готово. Сделано следующее:\n\n- Цены\n\nПерезапускаю сервер.\n\nСервер работает.",
            ),
            (
                "The menu has its prices.\n\nI'm adding the rest tomorrow.",
                "The menu has its prices.\n\nI'm adding the rest tomorrow.",
            ),
            ("I'm adding the prices.", "I'm adding the prices."),
        ] {
            assert_eq!(report(answer), expected);
        }
    }

    #[test]
    fn what_is_done_is_no_step_and_what_stays_is_a_footnote() {
        for done in [
            "Ich habe die Karte geändert.",
            "Добавлена цена.",
            "I changed the menu.",
            "现在菜单有价格了。",
            "Adds a menu.",
        ] {
            assert!(!is_at_work(done), "{done}");
        }
        for remark in [
            "Everything else stays as it was.",
            "N'oubliez pas de relancer.",
            "Остальное без изменений.",
            "请注意重启。",
        ] {
            assert!(is_footnote(remark), "{remark}");
        }
    }

    #[test]
    fn changes_are_the_items_below_their_title() {
        for (answer, expected) in [
            (
                "The menu works.\n\nWhat changed\n\n- prices in the menu\n  - of all dishes\n- a column\n\nTry it.",
                &["prices in the menu", "a column"][..],
            ),
            ("**Changes:**\n1. **Prices** in the menu\n2. A column", &["Prices in the menu", "A column"]),
            (
                "Внесены два изменения:\n\n**1. Цены в меню**\nКаждое блюдо.\n- суп\n\n**2. Колонка**\nВ таблице.",
                &["Цены в меню", "Колонка"],
            ),
            (
                "Ho già aggiornato:\n\n- `menu.yaml`\n  - porta -> 8081\n- `shop.json`\n  - aggiunto il menu",
                &["porta -> 8081", "aggiunto il menu"],
            ),
            ("主要改动：\n1. 菜单有价格\n2. 表格多一列\n\n请刷新。", &["菜单有价格", "表格多一列"]),
            ("変更内容：\n- メニューに価格\n", &["メニューに価格"]),
            ("The changes:\n\nnone of them.", &[]),
            ("Three things are left:\n- prices", &[]),
        ] {
            assert_eq!(changes(answer), expected, "{answer}");
        }
    }
}
