//! Normalises error texts: undoes what clients, gateways and their JSON did to them.

/// `text` in lower case, with plain quotation marks and single spaces, without the escapes of nested
/// JSON and the white space of indented JSON.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().flat_map(char::to_lowercase).peekable();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.peek().copied() } else { None };
        match (character, escaped) {
            ('\\', Some('n' | 'r' | 't')) => {
                characters.next();
                push_space(&mut out);
            }
            ('\\', Some('u')) => out.push('\\'),
            ('\\', _) => {}
            ('\u{2018}' | '\u{2019}', _) => out.push('\''),
            ('\u{201c}' | '\u{201d}', _) => out.push('"'),
            _ if character.is_whitespace() => push_space(&mut out),
            _ => push(&mut out, character),
        }
    }
    out
}

fn push_space(out: &mut String) {
    if !out.ends_with(' ') && !out.ends_with("\":") {
        out.push(' ');
    }
}

fn push(out: &mut String, character: char) {
    if character == ':' && out.ends_with("\" ") {
        out.pop();
    }
    out.push(character);
}
