//! Which files a conversation touched (compaction spec, Preparation, File operations).

use std::collections::{BTreeSet, HashMap};

use crate::entry::FileLists;
use crate::json::Json;
use crate::message::{Message, ToolCall};
use crate::text::cmp_utf16;

/// Names of tools and arguments by which file operations are recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTools {
    /// Tools that read a file.
    pub read: Vec<String>,
    /// Tools that write a whole file.
    pub write: Vec<String>,
    /// Tools that change a part of a file.
    pub edit: Vec<String>,
    /// Arguments that hold the path; the first that is a string counts.
    pub path_arguments: Vec<String>,
}

impl Default for FileTools {
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self { read: one("read"), write: one("write"), edit: one("edit"), path_arguments: one("path") }
    }
}

/// Paths by what was done to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOperations {
    read: BTreeSet<String>,
    written: BTreeSet<String>,
    edited: BTreeSet<String>,
    /// Which touch was the last one of each path.
    touches: HashMap<String, usize>,
    /// How many touches there were.
    count: usize,
}

impl FileOperations {
    /// Adds the tool calls of a message.
    pub fn add_message(&mut self, message: &Message, tools: &FileTools) {
        for call in message.tool_calls() {
            self.add_call(call, tools);
        }
    }

    fn add_call(&mut self, call: &ToolCall, tools: &FileTools) {
        let Some(path) = path_of(call, tools) else {
            return;
        };
        let mut is_known = false;
        for (names, paths) in
            [(&tools.read, &mut self.read), (&tools.write, &mut self.written), (&tools.edit, &mut self.edited)]
        {
            if names.contains(&call.name) {
                paths.insert(path.to_owned());
                is_known = true;
            }
        }
        if is_known {
            self.touch(path);
        }
    }

    fn touch(&mut self, path: &str) {
        self.count += 1;
        self.touches.insert(path.to_owned(), self.count);
    }

    /// Adds what an earlier summary named. Its modified files count as edited, since a summary
    /// does not tell how a file was changed.
    pub fn add_lists(&mut self, lists: &FileLists) {
        self.read.extend(lists.read_files.iter().cloned());
        self.edited.extend(lists.modified_files.iter().cloned());
        lists.read_files.iter().chain(&lists.modified_files).for_each(|path| self.touch(path));
    }

    /// The paths in the order of their last touch.
    pub fn last_touched(&self) -> Vec<&str> {
        let mut paths: Vec<(usize, &str)> = self.touches.iter().map(|(path, at)| (*at, path.as_str())).collect();
        paths.sort_unstable();
        paths.into_iter().map(|(_, path)| path).collect()
    }

    /// Files that were read, sorted by UTF-16 units.
    pub fn read(&self) -> Vec<&str> {
        sorted(self.read.iter())
    }

    /// Files that were written whole, sorted.
    pub fn written(&self) -> Vec<&str> {
        sorted(self.written.iter())
    }

    /// Files that were edited, sorted.
    pub fn edited(&self) -> Vec<&str> {
        sorted(self.edited.iter())
    }

    /// The lists that a summary names: modified is edited and written, read is read without
    /// modified; both sorted.
    pub fn lists(&self) -> FileLists {
        let is_modified = |path: &&String| self.edited.contains(*path) || self.written.contains(*path);
        let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
        FileLists {
            read_files: owned(sorted(self.read.iter().filter(|path| !is_modified(path)))),
            modified_files: owned(sorted(self.edited.union(&self.written))),
        }
    }
}

/// The path that a call names, by the arguments of `tools`.
pub(crate) fn path_of<'a>(call: &'a ToolCall, tools: &FileTools) -> Option<&'a str> {
    let arguments = call.arguments.as_ref()?;
    let mut paths = tools.path_arguments.iter().filter_map(|name| arguments.get(name).and_then(Json::as_str));
    paths.next().filter(|path| !path.is_empty())
}

fn sorted<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut paths: Vec<&str> = paths.map(String::as_str).collect();
    paths.sort_by(|left, right| cmp_utf16(left, right));
    paths
}
