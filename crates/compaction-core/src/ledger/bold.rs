//! Marks of bold text. Summaries omit them, but `**` is also part of globs, powers and names of arguments, which stay
//! as they are.

use std::borrow::Cow;

/// The mark.
const MARK: &str = "**";

/// `text`, which is one sentence or line, without the marks of bold words. Marks between backticks stay, and so do
/// those of globs (`src/**/*.rs`), powers (`2**10`) and arguments (`**kwargs`). Bold text may begin or end outside
/// `text`.
pub(crate) fn without_bold(text: &str) -> Cow<'_, str> {
    let (mut marks, mut open) = (Vec::new(), None);
    for at in places(text) {
        match (open, side(text, at)) {
            (Some(start), Side::End | Side::Both) => {
                marks.extend([start, at]);
                open = None;
            }
            // It began before this sentence, or its mark was mistaken for that of a list.
            (None, Side::End) if marks.is_empty() || is_last(text, at) => marks.push(at),
            (_, Side::Start | Side::Both) => {
                marks.extend(open.filter(|start| begins_sentence(text, *start)));
                open = Some(at);
            }
            _ => {}
        }
    }
    // It ends after this sentence.
    marks.extend(open.filter(|start| begins_sentence(text, *start)));
    if marks.is_empty() {
        return Cow::Borrowed(text);
    }
    marks.sort_unstable();
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for at in marks {
        out.push_str(&text[from..at]);
        from = at + MARK.len();
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The places of marks outside backticks. A backtick without a second one does not begin code.
fn places(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut is_open = false;
    std::iter::from_fn(move || {
        while let Some(next) = memchr::memchr2(b'*', b'`', &bytes[at.min(bytes.len())..]).map(|next| at + next) {
            at = next + 1;
            if bytes[next] == b'`' {
                if !is_open && let Some(close) = memchr::memchr(b'`', &bytes[at..]) {
                    at += close + 1;
                } else {
                    is_open = true;
                }
            } else if bytes.get(at) == Some(&b'*') {
                // In a longer run, the inner marks are those of italics.
                let end = bytes[at..].iter().position(|byte| *byte != b'*').map_or(bytes.len(), |length| at + length);
                at = end;
                if end - next <= MARK.len() + 1 {
                    return Some(next);
                }
            }
        }
        None
    })
}

/// What a mark can do.
enum Side {
    Start,
    End,
    Both,
    None,
}

fn side(text: &str, at: usize) -> Side {
    let before = text[..at].chars().next_back();
    let behind = text[at..].trim_start_matches('*').chars().next();
    let is_space = |one: Option<char>| one.is_none_or(char::is_whitespace);
    // In scripts without spaces, bold words are between other characters.
    let is_word = |one: Option<char>| one.is_some_and(|one| one.is_ascii_alphanumeric() || one == '_');
    let is_path = |one: Option<char>| one.is_some_and(|one| matches!(one, '/' | '\\'));
    if is_path(before) || is_path(behind) {
        return Side::None;
    }
    let starts =
        !is_space(behind) && !is_word(before) && behind.is_some_and(|one| !matches!(one, ',' | ')' | ';' | '*'));
    let ends = !is_space(before) && !is_word(behind) && before.is_some_and(|one| !matches!(one, '(' | ',' | '*'));
    match (starts, ends) {
        (true, true) => Side::Both,
        (true, false) => Side::Start,
        (false, true) => Side::End,
        (false, false) => Side::None,
    }
}

/// Whether only marks follow the mark at a place.
fn is_last(text: &str, at: usize) -> bool {
    !text[at..].contains(char::is_alphanumeric)
}

/// Whether a mark without a second one comes before a sentence, and not before the name of an argument.
fn begins_sentence(text: &str, at: usize) -> bool {
    let behind = text[at..].trim_start_matches('*');
    !behind.starts_with(|one: char| one.is_ascii_lowercase() || matches!(one, '_' | '.' | ','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_bold_words_go_and_all_others_stay() {
        for (text, expected) in [
            ("**Fixed**: the **parser** reads `a`.", "Fixed: the parser reads `a`."),
            ("Parser**: it reads.", "Parser: it reads."),
            ("**All is done.", "All is done."),
            ("the last words of it.**", "the last words of it."),
            ("(**a**, **b**) and \"**c**\"", "(a, b) and \"c\""),
            ("**`src/a.rs`** is new", "`src/a.rs` is new"),
            ("这是**重点**内容，**完成**。", "这是重点内容，完成。"),
            ("***very*** new", "*very* new"),
            ("use src/**/*.rs and **/*.ts here", "use src/**/*.rs and **/*.ts here"),
            ("include `**/dist/**` and \"lib/**\", 'a/**'", "include `**/dist/**` and \"lib/**\", 'a/**'"),
            ("it is 2**10 or x**2, not y ** 3", "it is 2**10 or x**2, not y ** 3"),
            ("pass **kwargs and **options to f(*args, **kw)", "pass **kwargs and **options to f(*args, **kw)"),
            ("**The glob** is src/**/*.py", "The glob is src/**/*.py"),
            ("`a ** b` and **c**", "`a ** b` and c"),
            ("it's a ` and **b**", "it's a ` and b"),
            ("****", "****"),
            ("none", "none"),
        ] {
            assert_eq!(without_bold(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_marks_goes(text in "[a ./`*(,B中]{0,24}") {
            let bare = |text: &str| text.replace('*', "");
            proptest::prop_assert_eq!(bare(&without_bold(&text)), bare(&text));
        }
    }
}
