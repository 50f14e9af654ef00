//! JSON text in all the forms that writers of session files use: members in any order, white space
//! or none, characters escaped or not, numbers in every notation.

use super::random::Random;

/// Members of an object in the making, each value JSON text.
#[derive(Debug, Clone, Default)]
pub(super) struct Members(Vec<(String, String)>);

impl Members {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn with(mut self, key: &str, json: impl Into<String>) -> Self {
        self.0.push((plain_string(key), json.into()));
        self
    }

    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.with(key, plain_string(value))
    }

    pub(super) fn maybe(self, present: bool, key: &str, json: impl FnOnce() -> String) -> Self {
        if present { self.with(key, json()) } else { self }
    }

    pub(super) fn and(mut self, others: Members) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The object, now and then with its members in another order or with white space.
    pub(super) fn finish(mut self, random: &mut Random) -> String {
        if random.chance(100) {
            random.shuffle(&mut self.0);
        }
        if random.chance(5) && !self.0.is_empty() {
            // A member twice: the last one counts.
            let (key, _) = random.pick(&self.0).clone();
            self.0.insert(0, (key, "null".to_owned()));
        }
        let space = if random.chance(40) { " " } else { "" };
        self.join(space)
    }

    /// The object with its members as they came and without white space.
    pub(super) fn compact(self) -> String {
        self.join("")
    }

    fn join(self, space: &str) -> String {
        let members: Vec<String> =
            self.0.into_iter().map(|(key, value)| format!("{space}{key}{space}:{space}{value}")).collect();
        format!("{{{}{space}}}", members.join(","))
    }
}

/// A JSON array.
pub(super) fn array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// A JSON string with nothing escaped that need not be.
pub(super) fn plain_string(text: &str) -> String {
    compaction_core::json::encode_string(text)
}

/// A JSON string, its characters plain or escaped as chance has it.
pub(super) fn string(random: &mut Random, text: &str) -> String {
    let escaped_per_thousand = random.weighted(&[(12, 0), (2, 100), (1, 1000)]);
    if escaped_per_thousand == 0 {
        return plain_string(text);
    }
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '/' => out.push_str("\\/"),
            _ if random.chance(escaped_per_thousand) => escape(random, character, &mut out),
            _ => out.push_str(plain_string(character.encode_utf8(&mut [0; 4])).trim_matches_quotes()),
        }
    }
    out.push('"');
    out
}

trait TrimQuotes {
    fn trim_matches_quotes(&self) -> &str;
}

impl TrimQuotes for String {
    /// Without the quotes at both ends; quotes inside are escaped and stay.
    fn trim_matches_quotes(&self) -> &str {
        &self[1..self.len() - 1]
    }
}

fn escape(random: &mut Random, character: char, out: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let digits = if random.chance(500) { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
        out.push_str(&digits);
    }
}

/// A number, in any notation that JSON has. Those of `odd` are the ones that JavaScript cannot hold.
pub(super) fn number(random: &mut Random, odd: bool) -> String {
    const PLAIN: [&str; 16] = [
        "0",
        "1",
        "-1",
        "-0",
        "42",
        "1.0",
        "0.1",
        "1e3",
        "1E+2",
        "-2.50e-3",
        "1e21",
        "1e-7",
        "5e-324",
        "1.7976931348623157e308",
        "0.30000000000000004",
        "123456789012345678901",
    ];
    const ODD: [&str; 4] = ["9007199254740993", "-9007199254740995", "18446744073709551615", "1e400"];
    let numbers = if odd && random.chance(300) { &ODD[..] } else { &PLAIN[..] };
    (*random.pick(numbers)).to_owned()
}
