//! Keeps quoted text inside its block.

use std::borrow::Cow;

/// Names of blocks that quote text, in prompts and around or inside summaries.
const NAMES: [&str; 7] = [
    "previous-answer",
    "conversation",
    "previous-summary",
    "summary",
    "read-files",
    "modified-files",
    "retained-facts",
];

/// Escapes closing tags of blocks: `</conversation`, `</previous-summary`, `</summary`, `</read-files`,
/// `</modified-files` and `</retained-facts`, in any case and with any space around the slash, become
/// `<\/…`.
///
/// The change is visible on purpose: a reader sees what was written and that it was changed, and no
/// invisible characters reach the model. Text without such tags and text that is escaped already are
/// returned unchanged.
pub fn escape_tags(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for at in memchr::memchr_iter(b'<', text.as_bytes()) {
        if let Some(slash) = closing_slash(&text[at + 1..]) {
            let slash = at + 1 + slash;
            out.push_str(&text[done..slash]);
            out.push('\\');
            done = slash;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Offset of the slash behind a `<`, if it closes one of the blocks.
fn closing_slash(after: &str) -> Option<usize> {
    let slash = after.len() - after.trim_start().len();
    let name = after[slash..].strip_prefix('/')?.trim_start().as_bytes();
    let is_named =
        |wanted: &str| name.get(..wanted.len()).is_some_and(|name| name.eq_ignore_ascii_case(wanted.as_bytes()));
    NAMES.iter().any(|wanted| is_named(wanted)).then_some(slash)
}
