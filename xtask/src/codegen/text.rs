//! Small help with text.

/// Breaks a text into lines of at most `width` characters, at spaces.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrap_line(line, width)).collect()
}

fn wrap_line(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split_whitespace() {
        let fits = |last: &String| last.is_empty() || last.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut().filter(|last| fits(last)) {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) => *last = format!("{last} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text as a JSON string, which is also one of TypeScript and of Python.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The first letter as a capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Columns that a line of shown JSON has at most, where it can be broken.
const COLUMNS: usize = 110;

/// JSON for readers: what fits stands on one line.
pub(super) fn shown_json(value: &serde_json::Value) -> String {
    shown_at(value, 0, 0)
}

fn shown_at(value: &serde_json::Value, depth: usize, before: usize) -> String {
    use serde_json::Value;
    let line = on_one_line(value);
    if 2 * depth + before + line.chars().count() <= COLUMNS {
        return line;
    }
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(|item| inner.clone() + &shown_at(item, depth + 1, 0)).collect();
            format!("[\n{}\n{outer}]", items.join(",\n"))
        }
        Value::Object(members) if !members.is_empty() => {
            let member = |(name, value): (&String, &Value)| {
                let name = format!("{}: ", Value::from(name.as_str()));
                let value = shown_at(value, depth + 1, name.chars().count());
                format!("{inner}{name}{value}")
            };
            format!("{{\n{}\n{outer}}}", members.iter().map(member).collect::<Vec<_>>().join(",\n"))
        }
        _ => line,
    }
}

fn on_one_line(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(on_one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{}: {}", Value::from(name.as_str()), on_one_line(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
