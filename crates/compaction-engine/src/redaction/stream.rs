//! Redaction of a text while it is being written.

use std::sync::Arc;

use super::Redactor;

/// Lines that are held back, since a secret may stand on the line after its name.
const HELD_LINES: usize = 2;
/// Bytes without a line break from which on words are told.
const LONG_LINE: usize = 4096;
/// Bytes of such a line that are held back.
const HELD_BYTES: usize = 1024;
/// Bytes before what is told next that are kept, as names of secrets may stand there.
const CONTEXT: usize = 1024;

/// A text that is told in pieces, each when it is clear that no secret goes on behind it.
#[derive(Debug)]
pub(crate) struct RedactedStream {
    redactor: Arc<Redactor>,
    /// The end of what was told, and what was not.
    text: String,
    /// Bytes of it that were told.
    told: usize,
    /// Bytes from which on it is worth to look at it again.
    worth_looking: usize,
}

impl RedactedStream {
    /// Nothing was written yet.
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, text: String::new(), told: 0, worth_looking: 0 }
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Forgets all, for the next text.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        (self.told, self.worth_looking) = (0, 0);
    }

    /// What can be told now, without secrets; at the end, all that is left.
    pub(crate) fn take(&mut self, is_end: bool) -> String {
        if !is_end && self.text.len() < self.worth_looking {
            return String::new();
        }
        let mut until = if is_end { self.text.len() } else { self.settled() };
        if until <= self.told {
            return String::new();
        }
        let found = self.redactor.find(&self.text);
        if !is_end {
            let goes_on = |range: &std::ops::Range<usize>| range.start < until && range.end > until.saturating_sub(1);
            if let Some((_, range)) = found.iter().find(|(_, range)| goes_on(range)) {
                until = self.text[..range.start].rfind('\n').map_or(range.start, |at| at + 1).max(self.told);
            }
        }
        if until <= self.told {
            // A long secret is not looked at again with every word of it.
            self.worth_looking = self.text.len() + self.text.len() / 4;
            return String::new();
        }
        let mut out = String::new();
        let mut done = self.told;
        for (rule, range) in found.iter().filter(|(_, range)| range.end > self.told && range.start < until) {
            out.push_str(&self.text[done..range.start.max(done)]);
            out.push_str(&self.redactor.mark(*rule));
            done = range.end;
        }
        out.push_str(self.text.get(done..until).unwrap_or_default());
        self.forget(until);
        self.redactor.redact(&out).text.into_owned()
    }

    /// Up to where lines are whole and followed by as many as are held back.
    fn settled(&self) -> usize {
        let untold = &self.text[self.told..];
        match untold.rmatch_indices('\n').nth(HELD_LINES) {
            Some((at, _)) => self.told + at + 1,
            None if untold.len() > LONG_LINE && !untold.contains('\n') => {
                let end = self.text.floor_char_boundary(self.text.len() - HELD_BYTES);
                self.text[..end].rfind(' ').unwrap_or(0)
            }
            None => 0,
        }
    }

    fn forget(&mut self, until: usize) {
        let start = self.text.floor_char_boundary(until.saturating_sub(CONTEXT));
        self.text.drain(..start);
        self.told = until - start;
        self.worth_looking = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    /// What is told of `text`, written in pieces of so many characters.
    fn told(text: &str, size: usize) -> String {
        let mut stream = RedactedStream::new(Redactor::shared());
        let characters: Vec<char> = text.chars().collect();
        let mut told = String::new();
        for piece in characters.chunks(size) {
            stream.push(&piece.iter().collect::<String>());
            told.push_str(&stream.take(false));
        }
        told + &stream.take(true)
    }

    #[test]
    fn pieces_tell_no_secret() {
        let samples: Vec<_> = samples::secrets().into_iter().chain(samples::later_secrets()).collect();
        for size in [1, 7, 64] {
            let missed: Vec<_> = samples
                .iter()
                .map(|sample| (sample, told(&format!("before\n{}\nafter\n\nand\nmore\nlines\n", sample.text), size)))
                .filter_map(|(sample, told)| sample.left_in(&told, 0).first().map(|left| format!("{left:?}: {told:?}")))
                .collect();
            assert!(missed.len() * 20 <= samples.len(), "{}:\n{}", missed.len(), missed.join("\n"));
        }
    }

    #[test]
    fn all_else_is_told_as_it_came() {
        for sample in samples::harmless() {
            let text = format!("before\n{}\nafter\n\nand\nmore\nlines", sample.text);
            assert_eq!(told(&text, 5), text);
        }
        let long = "word ".repeat(5000);
        assert_eq!(told(&long, 100), long);
    }

    #[test]
    fn lines_are_told_before_the_end() {
        let mut stream = RedactedStream::new(Redactor::shared());
        stream.push("one\ntwo\nthree\nfo");
        assert_eq!(stream.take(false), "one\n");
        stream.push("ur\n");
        assert_eq!(stream.take(false), "two\n");
        assert_eq!(stream.take(true), "three\nfour\n");
    }
}
