//! Keys: texts that nobody but their recipient may see (README.md, "Models").

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderValue;

/// A text that is shown by no log, error or `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps `text` without the white space around it, which files and shells leave there.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a header that carries it behind `prefix`; `None` if no header can.
    pub fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Takes secrets out of texts that others wrote: providers echo keys in their errors.
#[derive(Debug, Clone, Default)]
pub(super) struct Scrubber {
    /// Longest first, so that no secret survives as the rest of a shorter one.
    secrets: Vec<Secret>,
}

/// Shorter secrets are placeholders (`x`, `-`) for servers that want any key at all; taking them
/// out would make every text unreadable.
const SHORTEST_SECRET: usize = 4;

impl Scrubber {
    /// A scrubber of these secrets.
    pub(super) fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let is_long = |secret: &Secret| secret.0.len() >= SHORTEST_SECRET;
        let mut secrets: Vec<Secret> = secrets.into_iter().filter(is_long).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self { secrets }
    }

    /// `text` with `[secret]` in place of every secret, also of one of which the end was cut away.
    pub(super) fn scrub(&self, text: &str) -> String {
        let without = |text: String, secret: &Secret| text.replace(&*secret.0, "[secret]");
        let whole = self.secrets.iter().fold(text.to_owned(), without);
        whole.split(CUT).map(|part| self.without_beginning(part)).collect::<Vec<_>>().join(CUT)
    }

    /// A part of a text that may end within a secret: others' long texts are cut before they come here.
    fn without_beginning(&self, part: &str) -> String {
        let beginning = |secret: &Secret| {
            let lengths = (SHORTEST_SECRET..secret.0.len()).rev().filter(|length| secret.0.is_char_boundary(*length));
            lengths.map(|length| &secret.0[..length]).find(|start| part.ends_with(*start)).map(str::len)
        };
        match self.secrets.iter().filter_map(beginning).max() {
            Some(length) => format!("{}[secret]", &part[..part.len() - length]),
            None => part.to_owned(),
        }
    }
}

/// What stands where a text was cut.
const CUT: &str = "…";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_shown_by_nothing() {
        let secret = Secret::new(" sk-12345\n");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        let header = secret.header("Bearer ").unwrap();
        assert_eq!(header.to_str().unwrap(), "Bearer sk-12345");
        assert!(!format!("{header:?}").contains("12345"));
        assert_eq!(Secret::new("two\nlines").header(""), None);
    }

    #[test]
    fn secrets_leave_texts_longest_first() {
        let scrubber = Scrubber::new(["sk-12345", "sk-12345-67890", "x"].map(Secret::new));
        assert_eq!(scrubber.scrub("sk-12345-67890 and sk-12345, x"), "[secret] and [secret], x");
    }

    #[test]
    fn what_a_cut_leaves_of_a_secret_is_none_of_the_text() {
        let scrubber = Scrubber::new(["sk-12345-67890", "schlüssel"].map(Secret::new));
        assert_eq!(scrubber.scrub("key sk-12345-6789… (invalid)"), "key [secret]… (invalid)");
        assert_eq!(scrubber.scrub("a sk-1… b schlü…"), "a [secret]… b [secret]…");
        assert_eq!(scrubber.scrub("sk-… text…"), "sk-… text…");
    }
}
