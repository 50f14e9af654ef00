//! Terms: words, paths and names that two sentences may share.

/// Whether all of `terms` are among `others`.
pub(super) fn are_in(terms: &[String], others: &[String]) -> bool {
    terms.iter().all(|term| others.iter().any(|other| is_same(term, other)))
}

/// Whether two terms mean the same: names and paths must be spelled alike, words may have different
/// endings.
pub(super) fn is_same(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    if is_name(left) || is_name(right) {
        return ends_path(left, right) || ends_path(right, left);
    }
    let term_is_latin = left.chars().all(|character| character < '\u{370}');
    let common = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    let (left, right) = (left.chars().count(), right.chars().count());
    let (shorter, longer) = (left.min(right), left.max(right));
    // If both words have further letters, more of the beginning must be common.
    let least = if common == shorter { 3 } else { 5 };
    // Scripts with longer endings may differ in more letters.
    let most = if term_is_latin { 3 } else { 2 };
    common >= least && common * (most + 1) >= longer * most
}

/// Whether a term is spelled exactly: a path, a version, a name with digits.
fn is_name(term: &str) -> bool {
    term.chars().any(|character| character.is_ascii_digit() || "/\\._:@#$".contains(character))
}

/// Whether `path` ends with the file name `name`.
fn ends_path(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|before| before.ends_with(['/', '\\'])) && name.contains('.')
}

/// Whether `text` contains the beginning of `term`, ignoring case.
pub(super) fn has_start_of(text: &str, term: &str) -> bool {
    // The last part of a path is enough.
    let name = term.rsplit(['/', '\\']).next().unwrap_or(term);
    let start = name.char_indices().nth(3).map_or(name, |(end, _)| &name[..end]);
    let Some(first) = start.bytes().next() else { return true };
    if !text.is_ascii() || !start.is_ascii() {
        return text.to_lowercase().contains(start);
    }
    let text = text.as_bytes();
    let is_start = |at: usize| {
        text.get(at..at + start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start.as_bytes()))
    };
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), text).any(is_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_the_same_by_their_shape() {
        for (left, right) in [
            ("tab", "tabs"),
            ("dependency", "dependencies"),
            ("пробелы", "пробелов"),
            ("db/schema.sql", "schema.sql"),
            ("neue", "neuen"),
        ] {
            assert!(is_same(left, right) && is_same(right, left), "{left} {right}");
        }
        for (left, right) in [
            ("db/schema.sql", "db/seed.sql"),
            ("react", "reach"),
            ("comment", "commit"),
            ("v1", "v12"),
            ("tab", "table"),
            ("config", "confirm"),
        ] {
            assert!(!is_same(left, right) && !is_same(right, left), "{left} {right}");
        }
    }
}
