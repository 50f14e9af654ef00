//! Which files a conversation touched (docs/preparation.md, "File operations").

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::entry::FileLists;
use crate::message::{Block, Body, Message, ToolCall};
use crate::text::cmp_utf16;
use crate::tools::{
    FileAccess, FileUse, ToolAction, classify, files_done, has_failed, is_listed, proposed_edits, reported_edits,
};

pub use crate::tools::FileTools;

/// Maximum number of files in the lists of one entry.
pub const MAX_LISTED_FILES: usize = 2000;
/// Maximum bytes of their paths.
pub const MAX_LISTED_BYTES: usize = 256 * 1024;

/// Paths by operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOperations {
    read: BTreeSet<String>,
    written: BTreeSet<String>,
    edited: BTreeSet<String>,
    /// Calls without a result yet, by id. They count as done.
    open: HashMap<String, ToolAction>,
    /// Files of edits in the text of answers. They count as edited as long as there is no call.
    proposed: BTreeSet<String>,
    /// Whether a tool was called or an answer reported an edit.
    has_calls: bool,
    /// Files counted as the format's own agent counts them: each spelling is a separate file.
    counted: HashSet<String>,
    /// Number of the last touch of each path.
    touches: HashMap<String, usize>,
    /// Number of touches.
    count: usize,
    /// Files that did not fit into earlier lists.
    left_out: u64,
}

impl FileOperations {
    /// Adds the tool calls of a message and the outcome in a tool result. Calls of tools that `tools`
    /// does not name count only if they did not fail.
    pub fn add_message(&mut self, message: &Message, tools: &FileTools) {
        match &*message.read_body() {
            Body::Assistant(assistant) => {
                for block in &assistant.content {
                    match block {
                        Block::ToolCall(call) => self.add_call(call, tools),
                        Block::Text(text) => self.add_text(text),
                        _ => {}
                    }
                }
            }
            Body::ToolResult { tool_call_id, content, is_error, nested_calls, .. } => {
                if let Some(action) = self.open.remove(tool_call_id) {
                    self.settle(&action, &content.text("\n"), *is_error);
                }
                for nested in nested_calls {
                    let action = classify(&nested.call, tools);
                    let is_listed = is_listed(&nested.call, tools);
                    if is_listed || !nested.is_error {
                        self.add_all(action.files());
                    }
                    if is_listed {
                        self.count(action.files());
                    }
                }
            }
            _ => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        for path in reported_edits(text) {
            self.has_calls = true;
            self.add(FileAccess::Edit, path);
        }
        for path in proposed_edits(text) {
            self.proposed.insert(path.to_owned());
            self.touch(path);
        }
    }

    fn add_call(&mut self, call: &ToolCall, tools: &FileTools) {
        self.has_calls = true;
        let action = classify(call, tools);
        if is_listed(call, tools) {
            self.add_all(action.files());
            self.count(action.files());
        } else if !action.files().is_empty() || matches!(action, ToolAction::OpenFile(_)) {
            action.files().iter().for_each(|file| self.touch(&file.path));
            self.open.insert(call.id.clone(), action);
        }
    }

    fn settle(&mut self, action: &ToolAction, output: &str, is_error: bool) {
        let files = files_done(
            action,
            output,
            || has_failed(action, output, is_error),
            || Box::new(self.read.iter().chain(&self.written).chain(&self.edited).map(String::as_str)),
        );
        self.add_all(&files);
    }

    fn add_all(&mut self, files: &[FileUse]) {
        files.iter().for_each(|file| self.add(file.access, &file.path));
    }

    fn count(&mut self, files: &[FileUse]) {
        self.counted.extend(files.iter().map(|file| file.path.clone()));
    }

    /// A deleted file counts as edited: the work changed it.
    fn add(&mut self, access: FileAccess, path: &str) {
        let paths = match access {
            FileAccess::Read => &mut self.read,
            FileAccess::Write => &mut self.written,
            FileAccess::Edit | FileAccess::Delete => &mut self.edited,
        };
        paths.insert(path.to_owned());
        self.touch(path);
    }

    fn touch(&mut self, path: &str) {
        self.count += 1;
        self.touches.insert(path.to_owned(), self.count);
    }

    /// Adds the lists of an earlier summary. Its modified files count as edited, because a summary does
    /// not say how a file was changed.
    pub fn add_lists(&mut self, lists: &FileLists) {
        self.read.extend(lists.read_files.iter().cloned());
        self.edited.extend(lists.modified_files.iter().cloned());
        self.counted.extend(lists.read_files.iter().chain(&lists.modified_files).cloned());
        lists.read_files.iter().chain(&lists.modified_files).for_each(|path| self.touch(path));
        self.left_out = self.left_out.saturating_add(lists.left_out);
    }

    /// The paths in the order of their last touch, including those of failed calls.
    pub fn last_touched(&self) -> Vec<&str> {
        let mut paths: Vec<(usize, &str)> = self.touches.iter().map(|(path, at)| (*at, path.as_str())).collect();
        paths.sort_unstable();
        paths.into_iter().map(|(_, path)| path).collect()
    }

    /// Files that were read, sorted by UTF-16 units.
    pub fn read(&self) -> Vec<&str> {
        self.sorted(&self.read, &[FileAccess::Read])
    }

    /// Files that were written whole, sorted.
    pub fn written(&self) -> Vec<&str> {
        self.sorted(&self.written, &[FileAccess::Write])
    }

    /// Files that were edited, sorted.
    pub fn edited(&self) -> Vec<&str> {
        let mut paths = self.sorted(&self.edited, &[FileAccess::Edit, FileAccess::Delete]);
        if !self.has_calls && !self.proposed.is_empty() {
            paths.extend(self.proposed.iter().map(String::as_str));
            in_order(&mut paths);
        }
        paths
    }

    /// The lists of a summary, sorted: modified files are edited or written, read files are read and
    /// not modified.
    pub fn lists(&self) -> FileLists {
        let mut modified: Vec<&str> = self.written();
        modified.extend(self.edited());
        in_order(&mut modified);
        let known: HashSet<&str> = modified.iter().copied().collect();
        FileLists {
            read_files: self.read().into_iter().filter(|path| !known.contains(path)).map(str::to_owned).collect(),
            modified_files: modified.into_iter().map(str::to_owned).collect(),
            left_out: self.left_out,
        }
    }

    /// The lists that an entry stores: [`Self::lists`] within [`MAX_LISTED_FILES`] and
    /// [`MAX_LISTED_BYTES`]. Modified files take precedence over read files, and recently touched files
    /// over older ones. `left_out` counts the rest, including those of earlier lists.
    pub fn stored_lists(&self) -> FileLists {
        let mut lists = self.lists();
        let count = lists.read_files.len() + lists.modified_files.len();
        let bytes: usize = lists.read_files.iter().chain(&lists.modified_files).map(String::len).sum();
        if count <= MAX_LISTED_FILES && bytes <= MAX_LISTED_BYTES {
            return lists;
        }
        let (mut files, mut bytes) = (MAX_LISTED_FILES, MAX_LISTED_BYTES);
        for list in [&mut lists.modified_files, &mut lists.read_files] {
            let mut newest: Vec<&str> = list.iter().map(String::as_str).collect();
            newest.sort_by_key(|path| Reverse(self.touches.get(*path)));
            let mut fits = |path: &&str| {
                let has_room = files > 0 && path.len() <= bytes;
                if has_room {
                    files -= 1;
                    bytes -= path.len();
                }
                has_room
            };
            let kept: HashSet<String> = newest.into_iter().filter(|path| fits(path)).map(str::to_owned).collect();
            list.retain(|path| kept.contains(path));
        }
        let kept = lists.read_files.len() + lists.modified_files.len();
        lists.left_out = lists.left_out.saturating_add((count - kept) as u64);
        lists
    }

    fn sorted<'a>(&'a self, done: &'a BTreeSet<String>, accesses: &[FileAccess]) -> Vec<&'a str> {
        let open = || self.open.values().flat_map(ToolAction::files);
        let known = self.read.iter().chain(&self.written).chain(&self.edited);
        let spellings = Spellings::among(known.chain(open().map(|file| &file.path)));
        let spelled = |path: &'a String| {
            let is_fixed = self.counted.contains(path);
            if is_fixed { path.as_str() } else { spellings.of(path) }
        };
        let open = open().filter(|file| accesses.contains(&file.access)).map(|file| &file.path);
        let mut paths: Vec<&str> = done.iter().chain(open).map(spelled).collect();
        in_order(&mut paths);
        paths
    }
}

/// The spellings of files: relative and absolute, and on Windows with either separator.
struct Spellings<'a> {
    /// The absolute paths, by their ends.
    absolute: Vec<(Cow<'a, str>, &'a str)>,
    /// The spelling that stands for each plain path.
    first: HashMap<Cow<'a, str>, &'a str>,
}

impl<'a> Spellings<'a> {
    fn among(paths: impl Iterator<Item = &'a String>) -> Self {
        let mut first: HashMap<Cow<'a, str>, &'a str> = HashMap::new();
        for path in paths {
            first.entry(plain_path(path)).and_modify(|known| *known = (*known).min(path)).or_insert(path);
        }
        let mut absolute: Vec<(Cow<'a, str>, &'a str)> =
            first.iter().filter(|(path, _)| is_absolute(path)).map(|(path, one)| (path.clone(), *one)).collect();
        absolute.sort_unstable_by(|(one, _), (other, _)| one.bytes().rev().cmp(other.bytes().rev()));
        Self { absolute, first }
    }

    /// The spelling of a path that the lists use.
    fn of(&self, path: &'a str) -> &'a str {
        let plain = plain_path(path);
        self.absolute(&plain).or_else(|| self.first.get(&plain).copied()).unwrap_or(path)
    }

    /// The only absolute path that ends with a relative one. A bare name matches too many files.
    fn absolute(&self, path: &str) -> Option<&'a str> {
        let ends = |own: &str| own.strip_suffix(path).is_some_and(|before| before.ends_with('/'));
        let end = || path.bytes().rev().chain([b'/']);
        let from = self.absolute.partition_point(|(own, _)| own.bytes().rev().lt(end()));
        let mut found = self.absolute[from..].iter().take_while(|(own, _)| ends(own));
        let (_, one) = found.next().filter(|_| path.contains('/') && !is_absolute(path))?;
        found.next().is_none().then_some(*one)
    }
}

/// A path with the separator of most systems, and with a small letter for its drive.
fn plain_path(path: &str) -> Cow<'_, str> {
    let has_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_uppercase();
    if !has_drive && !path.contains('\\') {
        return Cow::Borrowed(path);
    }
    let mut plain = path.replace('\\', "/");
    if has_drive {
        plain[..1].make_ascii_lowercase();
    }
    Cow::Owned(plain)
}

fn is_absolute(plain: &str) -> bool {
    plain.starts_with('/') || plain.get(1..).is_some_and(|rest| rest.starts_with(":/"))
}

/// Sorts by UTF-16 units and removes duplicates.
fn in_order(paths: &mut Vec<&str>) {
    paths.sort_by(|left, right| cmp_utf16(left, right));
    paths.dedup();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn calls(calls: &[(&str, &str, Value)]) -> Value {
        let block = |(id, name, arguments): &(&str, &str, Value)| json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments });
        json!({ "role": "assistant", "content": calls.iter().map(block).collect::<Vec<_>>() })
    }

    fn result(id: &str, text: &str, is_error: bool) -> Value {
        json!({ "role": "toolResult", "toolCallId": id, "content": text, "isError": is_error })
    }

    /// Read and modified files of `messages`.
    fn lists(messages: &[Value]) -> [Vec<String>; 2] {
        let mut operations = FileOperations::default();
        for message in messages {
            operations.add_message(&Message::from_json(&message.to_string()).unwrap(), &FileTools::default());
        }
        let lists = operations.lists();
        [lists.read_files, lists.modified_files]
    }

    #[test]
    fn failed_calls_count_only_for_tools_of_pi() {
        let made = calls(&[
            ("1", "Write", json!({ "file_path": "/w/a" })),
            ("2", "Read", json!({ "file_path": "/w/b" })),
            ("3", "Edit", json!({ "file_path": "/w/c" })),
            ("4", "write", json!({ "path": "own" })),
            ("5", "delete_file", json!({ "target_file": "gone" })),
        ]);
        assert_eq!(lists(std::slice::from_ref(&made)), [vec!["/w/b"], vec!["/w/a", "/w/c", "gone", "own"]]);
        let results = ["1", "2", "3", "4"].map(|id| result(id, "no", true));
        let all: Vec<Value> = std::iter::once(made).chain(results).collect();
        assert_eq!(lists(&all), [Vec::<&str>::new(), vec!["gone", "own"]]);
    }

    #[test]
    fn a_file_that_failed_once_and_succeeded_once_counts() {
        let edit = |id| calls(&[(id, "Edit", json!({ "file_path": "a" }))]);
        let messages =
            [edit("1"), result("1", "<tool_use_error>x</tool_use_error>", false), edit("2"), result("2", "ok", false)];
        assert_eq!(lists(&messages), [vec![], vec!["a"]]);
        assert_eq!(lists(&messages[..2]), [Vec::<&str>::new(), vec![]]);
    }

    #[test]
    fn a_result_records_the_calls_that_its_tool_made() {
        let mut outer = result("1", "done", false);
        outer["nestedCalls"] = json!({ "complete": true, "calls": [
            { "id": "1/1", "name": "read", "arguments": { "path": "a" }, "status": "ok" },
            { "id": "1/2", "name": "edit", "arguments": { "path": "b" }, "status": "error" },
            { "id": "1/3", "name": "write_file", "arguments": { "file_path": "c" }, "status": "error" },
            { "id": "1/4", "name": "write_file", "arguments": { "file_path": "d" }, "status": "ok" },
            { "id": "1/5", "name": "write", "argumentsBytes": 99_999, "status": "ok" },
        ] });
        assert_eq!(lists(&[calls(&[("1", "codemode", json!({ "code": "…" }))]), outer]), [vec!["a"], vec!["b", "d"]]);
    }

    #[test]
    fn an_answer_may_tell_which_files_were_edited() {
        let text = "Done.\n\n> Applied edit to src/a.py\nApplied edit to b c.md\nI applied edit to x.";
        let message = json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] });
        assert_eq!(lists(&[message]), [vec![], vec!["b c.md", "src/a.py"]]);
    }

    #[test]
    fn proposed_edits_count_while_nothing_tells_what_was_done() {
        let text = "a.py\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```";
        let proposal = json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] });
        assert_eq!(lists(std::slice::from_ref(&proposal)), [vec![], vec!["a.py"]]);
        let call = calls(&[("1", "bash", json!({ "command": "ls" }))]);
        assert_eq!(lists(&[proposal, call]), [Vec::<&str>::new(), vec![]]);
    }

    #[test]
    fn a_file_has_one_spelling_unless_the_own_agent_counts_two() {
        let used = |name: &str, key: &str, path: &str| calls(&[(path, name, json!({ key: path }))]);
        let [absolute, relative] = ["/w/src/a.rs", "src/a.rs"];
        for order in [[absolute, relative], [relative, absolute]] {
            let both = order.map(|path| used("Edit", "file_path", path));
            assert_eq!(lists(&both), [vec![], vec![absolute]], "{order:?}");
            let own = order.map(|path| used("edit", "path", path));
            assert_eq!(lists(&own), [vec![], vec![absolute, relative]], "{order:?}");
        }
        let read = [used("Edit", "file_path", absolute), used("Read", "file_path", relative)];
        assert_eq!(lists(&read), [vec![], vec![absolute]]);
        let several = ["/w/src/a.rs", "/v/src/a.rs", "src/a.rs", "a.rs", "b/src/a.rs"];
        let several = several.map(|path| used("Edit", "file_path", path));
        assert_eq!(lists(&several)[1].len(), 5, "it may be either, and a bare name any file");
        let windows = [r"C:\w\src\a.rs", r"src\a.rs", "src/a.rs", "c:/w/src/a.rs", r"b\c.rs", "b/c.rs"];
        let windows = windows.map(|path| used("Edit", "file_path", path));
        assert_eq!(lists(&windows)[1], [r"C:\w\src\a.rs", "b/c.rs"]);
    }

    fn touched(access: FileAccess, paths: impl IntoIterator<Item = String>) -> FileOperations {
        let mut operations = FileOperations::default();
        paths.into_iter().for_each(|path| operations.add(access, &path));
        operations
    }

    #[test]
    fn stored_lists_hold_the_newest_files_and_the_modified_ones_first() {
        let numbered = |name: &str, count: usize| (0..count).map(move |number| format!("{name}-{number:05}")).collect();
        let paths: Vec<String> = numbered("read", 3000);
        let mut operations = touched(FileAccess::Read, paths.clone());
        let lists = operations.stored_lists();
        assert_eq!((lists.read_files.as_slice(), lists.left_out), (&paths[1000..], 1000));
        let modified: Vec<String> = numbered("modified", 1500);
        modified.iter().for_each(|path| operations.add(FileAccess::Edit, path));
        operations.add(FileAccess::Read, "read-00000");
        let lists = operations.stored_lists();
        assert_eq!((lists.modified_files, lists.left_out), (modified, 2500));
        let newest: Vec<String> = std::iter::once(&paths[0]).chain(&paths[2501..]).cloned().collect();
        assert_eq!(lists.read_files, newest);
        assert_eq!(operations.lists().read_files.len(), 3000, "what is shown is chosen from all");
    }

    #[test]
    fn stored_lists_are_bounded_in_bytes_and_count_over_a_chain() {
        let long = |number: usize| format!("{number:03}{}", "x".repeat(99_997));
        let mut operations = touched(FileAccess::Write, (0..5).map(long));
        operations.add(FileAccess::Read, "small");
        operations.add(FileAccess::Read, &"y".repeat(MAX_LISTED_BYTES));
        let lists = operations.stored_lists();
        assert_eq!(lists.modified_files, [long(3), long(4)]);
        assert_eq!((lists.read_files.as_slice(), lists.left_out), (["small".to_owned()].as_slice(), 4));
        let mut next = FileOperations::default();
        next.add_lists(&lists);
        next.add(FileAccess::Edit, &long(7));
        let lists = next.stored_lists();
        assert_eq!((lists.modified_files, lists.left_out), (vec![long(4), long(7)], 5));
    }
}
