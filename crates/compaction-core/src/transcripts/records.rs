//! Cuts a transcript into records: lines, elements of a JSON document, or files.
//!
//! All records in order have exactly the bytes of the transcript. A session keeps each record as the data of a `custom`
//! entry, which [`KeptRecord`] reads.

use std::fmt::Write as _;

use crate::json::{self, Json, RawObject, check_value_count};

/// Names of the lists of a document whose elements are records.
pub(super) const LISTS: [&str; 6] = ["messages", "conversation", "bubbles", "trajectory", "history", "events"];
/// Maximum length of a member name that is compared with [`LISTS`].
const LONGEST_NAME: usize = 16;
/// End of a record that stores no end.
const LINE_END: &str = "\n";

/// The byte order mark that some programs write at the start of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The bytes after a byte order mark, if they begin with one.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// A record, cut out of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Position of the line, element or file, counted from 1.
    pub(super) number: u64,
    /// Number of lines in it.
    pub(super) lines: u64,
    /// Name of the file, for a transcript of many files.
    pub(super) file: Option<String>,
    /// Bytes before the content: punctuation of the document.
    pub(super) before: Vec<u8>,
    pub(super) content: Vec<u8>,
    /// Bytes after the content: the line end.
    pub(super) end: Vec<u8>,
    /// Whether the transcript ended before the record was complete.
    pub(super) is_partial: bool,
    /// Whether the record replaces what an earlier import kept of it.
    pub(super) is_again: bool,
    /// Whether the record is the rest of a line whose start an earlier import kept.
    pub(super) is_rest: bool,
}

impl Record {
    /// The content as text, if it is UTF-8.
    pub(super) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.content).ok()
    }

    /// The document that begins with this record, without the elements of its list.
    pub(super) fn document(&self) -> Option<Json<'static>> {
        let before = std::str::from_utf8(without_mark(&self.before)).ok().filter(|_| self.number == 1)?;
        Json::parse(&format!("{before}]}}")).ok().map(Json::into_owned)
    }

    /// The members of the `custom` entry that keeps the record.
    pub(super) fn to_members(&self) -> String {
        let mut data = format!("{{\"record\":{}", self.number);
        if self.lines > 1 {
            let _infallible = write!(data, ",\"lines\":{}", self.lines);
        }
        if let Some(file) = &self.file {
            data.push_str(&format!(",\"file\":{}", json::encode_string(file)));
        }
        if self.is_partial {
            data.push_str(",\"partial\":true");
        }
        if self.is_again {
            data.push_str(",\"again\":true");
        }
        if !self.before.is_empty() {
            data.push_str(&text_member("before", &self.before));
        }
        match self.text() {
            Some(text) if is_one_line_of_json(text) => {
                data.push_str(",\"json\":");
                data.push_str(text);
            }
            _ => data.push_str(&text_member("text", &self.content)),
        }
        if self.end != LINE_END.as_bytes() {
            data.push_str(&text_member("end", &self.end));
        }
        format!("{{\"customType\":\"{}\",\"data\":{data}}}}}", super::RECORD_TYPE)
    }
}

/// A member for bytes: a string or, for bytes that are not UTF-8, hexadecimal digits.
fn text_member(name: &str, bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!(",\"{name}\":{}", json::encode_string(text)),
        Err(_) => {
            let mut digits = String::with_capacity(bytes.len() * 2);
            for byte in bytes {
                let _infallible = write!(digits, "{byte:02x}");
            }
            format!(",\"{name}\":{{\"hex\":\"{digits}\"}}")
        }
    }
}

/// Whether a text can be stored as a JSON value. It must be one object on one line because a session line has no line
/// breaks.
fn is_one_line_of_json(text: &str) -> bool {
    text.starts_with('{')
        && text.ends_with('}')
        && !text.contains(['\n', '\r'])
        && check_value_count(text).is_ok()
        && RawObject::parse(text).is_ok()
}

/// A record that a `custom` entry keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRecord {
    /// Bytes before the content. Those of the first record may change when a document is imported again.
    pub before: Vec<u8>,
    /// The content and its end.
    pub content: Vec<u8>,
    /// Position of the record, counted from 1.
    pub number: u64,
    /// Whether the transcript ended before the record was complete.
    pub is_partial: bool,
    /// Whether the entry replaces the bytes before the first record, or a file of that number.
    pub is_again: bool,
    /// Whether the record is one of many files.
    pub is_file: bool,
}

impl KeptRecord {
    /// Reads the record in an entry. `data` is the JSON text of the member `data`. Returns `None` for data of another
    /// kind.
    pub fn read(data: &str) -> Option<Self> {
        let data = RawObject::parse(data).ok()?;
        let number = data.get("record")?.parse().ok()?;
        let bytes = |name: &str| data.get(name).map(bytes_of);
        let mut content = match data.get("json") {
            Some(json) => json.as_bytes().to_vec(),
            None => bytes("text")??,
        };
        content.extend(bytes("end").unwrap_or_else(|| Some(LINE_END.into()))?);
        Some(Self {
            before: bytes("before").unwrap_or(Some(Vec::new()))?,
            content,
            number,
            is_partial: data.get("partial").is_some(),
            is_again: data.get("again").is_some(),
            is_file: data.get("file").is_some(),
        })
    }
}

/// Returns the bytes of the record in a `custom` entry. `data` is the JSON text of the member `data`. Returns `None` for
/// data of another kind.
pub fn original(data: &str) -> Option<Vec<u8>> {
    KeptRecord::read(data).map(|record| [record.before, record.content].concat())
}

fn bytes_of(json: &str) -> Option<Vec<u8>> {
    if let Some(text) = json::decode_string(json) {
        return Some(text.into_bytes());
    }
    let digits = RawObject::parse(json).ok()?.string("hex")?;
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The rule that cuts a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// At the end of each line.
    Lines,
    /// At the end of each element of the lists that [`LISTS`] names, or of a list that is the document.
    Elements,
}

/// Cuts a transcript that arrives in pieces.
#[derive(Debug)]
pub(super) struct Cutter {
    cut: Cut,
    buffer: Vec<u8>,
    /// Start of the next record in `buffer`.
    start: usize,
    /// Number of bytes of `buffer` that were scanned.
    seen: usize,
    scan: Scan,
    number: u64,
}

impl Cutter {
    pub(super) fn new(cut: Cut) -> Self {
        Self { cut, buffer: Vec::new(), start: 0, seen: 0, scan: Scan::default(), number: 0 }
    }

    /// Takes more bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        // One move for all records of the previous piece.
        self.buffer.drain(..self.start);
        self.seen -= self.start;
        self.scan.start = self.scan.start.map(|at| at - self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Number of bytes of the incomplete record.
    pub(super) fn pending(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// The next complete record.
    pub(super) fn next(&mut self) -> Option<Record> {
        let found = match self.cut {
            Cut::Lines => memchr::memchr(b'\n', &self.buffer[self.seen..]).map(|at| (self.start, self.seen + at + 1)),
            Cut::Elements => self.scan.element(&self.buffer, self.seen),
        };
        let Some((content, end)) = found else {
            self.seen = self.buffer.len();
            return None;
        };
        let (start, bytes) = (self.start, std::mem::take(&mut self.buffer));
        let record = self.record(&bytes[start..end], content - start);
        self.buffer = bytes;
        (self.start, self.seen) = (end, end);
        Some(record)
    }

    /// The rest of the transcript, at its end. A last line without a line end is complete if it is JSON or if `is_text`.
    pub(super) fn end(&mut self, is_text: bool) -> Option<Record> {
        let bytes = std::mem::take(&mut self.buffer).split_off(self.start);
        (self.start, self.seen) = (0, 0);
        if bytes.is_empty() {
            return None;
        }
        let is_complete_line = self.cut == Cut::Lines
            && (is_text || std::str::from_utf8(without_mark(&bytes)).is_ok_and(|text| Json::parse(text).is_ok()));
        let record = self.record(&bytes, 0);
        Some(Record { is_partial: !is_complete_line, ..record })
    }

    /// Whether the records are lines.
    pub(super) fn cuts_lines(&self) -> bool {
        self.cut == Cut::Lines
    }

    /// Whether the transcript ended inside a line or inside its document.
    pub(super) fn is_torn(&self) -> bool {
        self.cut == Cut::Lines || self.scan.depth > 0 || self.scan.in_string
    }

    fn record(&mut self, bytes: &[u8], before: usize) -> Record {
        self.number += 1;
        let is_first_line = self.cut == Cut::Lines && self.number == 1;
        let before = if is_first_line { bytes.len() - without_mark(bytes).len() } else { before };
        let end = match self.cut {
            Cut::Lines if bytes.ends_with(b"\r\n") => 2,
            Cut::Lines if bytes.ends_with(b"\n") => 1,
            _ => 0,
        };
        let (content, end) = bytes.split_at(bytes.len() - end);
        let (before, content) = content.split_at(before);
        Record {
            number: self.number,
            lines: 1,
            before: before.to_vec(),
            content: content.to_vec(),
            end: end.to_vec(),
            ..Record::default()
        }
    }
}

/// State of the scan for elements of a JSON document. The scan does not validate the document.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// The last string at depth 1. It is the member name when a list begins.
    name: Vec<u8>,
    /// Depth inside the list whose elements are records, while the scan is in it.
    list: Option<usize>,
    /// Start of the current element in the buffer.
    start: Option<usize>,
}

impl Scan {
    /// Finds the next element. Returns its start and end in `buffer`. The scan continues at `from`.
    fn element(&mut self, buffer: &[u8], from: usize) -> Option<(usize, usize)> {
        for (at, &byte) in buffer.iter().enumerate().skip(from) {
            if self.in_string {
                self.string_byte(byte);
                continue;
            }
            let is_in_list = self.list == Some(self.depth);
            match byte {
                b'"' => {
                    self.in_string = true;
                    if self.depth == 1 {
                        self.name.clear();
                    }
                }
                b'{' | b'[' => {
                    if is_in_list {
                        self.start = self.start.or(Some(at));
                    }
                    let is_list = byte == b'[' && self.list.is_none() && self.begins_list();
                    self.depth += 1;
                    if is_list {
                        self.list = Some(self.depth);
                    }
                }
                b'}' | b']' => {
                    if is_in_list {
                        self.list = None;
                    }
                    self.depth = self.depth.saturating_sub(1);
                    let is_at_end = self.list == Some(self.depth);
                    if let Some(start) = self.start.take_if(|_| is_at_end) {
                        return Some((start, at + 1));
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn string_byte(&mut self, byte: u8) {
        if self.is_escaped {
            self.is_escaped = false;
        } else if byte == b'\\' {
            self.is_escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
            return;
        }
        if self.depth == 1 && self.name.len() <= LONGEST_NAME {
            self.name.push(byte);
        }
    }

    fn begins_list(&self) -> bool {
        self.depth == 0 || (self.depth == 1 && LISTS.iter().any(|list| list.as_bytes() == self.name))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(cut: Cut, bytes: &[u8], step: usize) -> Vec<Record> {
        let mut cutter = Cutter::new(cut);
        let mut records = Vec::new();
        for chunk in bytes.chunks(step.max(1)) {
            cutter.feed(chunk);
            records.extend(std::iter::from_fn(|| cutter.next()));
        }
        records.extend(cutter.end(false));
        records
    }

    fn kept(record: &Record) -> Vec<u8> {
        let members = record.to_members();
        let entry = RawObject::parse(&members).expect("an object");
        original(entry.get("data").expect("data")).expect("a record")
    }

    fn contents(cut: Cut, text: &str) -> Vec<String> {
        let content = |record: &Record| String::from_utf8(record.content.clone()).expect("text");
        records(cut, text.as_bytes(), 3).iter().map(content).collect()
    }

    #[test]
    fn documents_are_cut_into_the_elements_of_their_lists() {
        let check = |text: &str, expected: &[&str]| assert_eq!(contents(Cut::Elements, text), expected, "{text}");
        check(r#"[{"a":[1]}, {"b":"]}"}]"#, &[r#"{"a":[1]}"#, r#"{"b":"]}"}"#, "]"]);
        check(r#"{"info":{"x":[{}]},"messages":[{"m":[]},{}],"z":1}"#, &[r#"{"m":[]}"#, "{}", r#"],"z":1}"#]);
        check(r#"{"other":[{}]}"#, &[r#"{"other":[{}]}"#]);
        check(r#"{"x":"messages","y":[{}],"events":[]}"#, &[r#"{"x":"messages","y":[{}],"events":[]}"#]);
        check(r#"[[1],2,{"q":"\""}]"#, &["[1]", r#"{"q":"\""}"#, "]"]);
        check("", &[]);
    }

    #[test]
    fn a_last_line_is_partial_unless_it_is_json() {
        let is_partial = |text: &str| records(Cut::Lines, text.as_bytes(), 1).pop().expect("a record").is_partial;
        assert!(!is_partial("{}\n"));
        assert!(!is_partial("{}\n{}"));
        assert!(is_partial("{}\n{\"a\":"));
    }

    proptest! {
        #[test]
        fn every_record_is_kept_byte_for_byte(
            bytes in proptest::collection::vec(
                prop_oneof![proptest::sample::select(b"{}[]\",:\n\r\\ a1".to_vec()), any::<u8>()], 0..200),
            step in 1_usize..20,
            elements in any::<bool>(),
        ) {
            let records = records(if elements { Cut::Elements } else { Cut::Lines }, &bytes, step);
            let whole: Vec<u8> = records.iter().flat_map(kept).collect();
            prop_assert_eq!(whole, bytes);
        }

        #[test]
        fn lines_of_json_are_kept_byte_for_byte(
            lines in proptest::collection::vec(r#" ?\{"a[0-9]?": ?("[a-zé\\\\n]*"|[0-9]{1,20}|-?1e400|\[1, 2\])\}"#, 0..8),
            end in proptest::sample::select(vec!["\n", "\r\n"]),
        ) {
            let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
            let whole: Vec<u8> = records(Cut::Lines, text.as_bytes(), 7).iter().flat_map(kept).collect();
            prop_assert_eq!(whole, text.into_bytes());
        }
    }
}
