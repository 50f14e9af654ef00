//! Tables of phrases: one text for each language. A line with a name in brackets begins a list. The lines after it
//! hold its phrases, between commas, in lower case.

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
        } else if !line.is_empty() {
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
    use super::*;

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
