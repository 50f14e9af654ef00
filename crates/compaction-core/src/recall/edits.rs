//! Which files a call changes, as far as a question about a file needs to know it.

use crate::file_operations::FileTools;
use crate::json::Json;
use crate::ledger::subject::{Deed, subject_of};
use crate::message::ToolCall;

/// Words in the name of a tool, or in its `command`, that tell of a change.
const CHANGES: &[&str] =
    &["edit", "write", "create", "insert", "replace", "patch", "update", "append", "delete", "rename"];
/// Arguments that hold the path of a file.
const PATHS: &[&str] =
    &["path", "file_path", "filePath", "target_file", "file", "filename", "notebook_path", "absolute_path"];
/// Lines of patches that name the file that they change.
const PATCHES: &[&str] = &["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ", "+++ b/"];

/// The paths of the files that `call` writes or edits, as it names them.
pub(super) fn changed_files(call: &ToolCall, tools: &FileTools) -> Vec<String> {
    let mut files = Vec::new();
    let Some(arguments) = &call.arguments else { return files };
    if let (Deed::Write | Deed::Edit, path) = subject_of(call, tools) {
        files.push(path);
    } else if tells_of_change(call, arguments) {
        let path = |name: &&str| arguments.get(name).and_then(Json::as_str).filter(|path| !path.is_empty());
        files.extend(PATHS.iter().find_map(path).map(str::to_owned));
    }
    add_patched(arguments, &mut files);
    files
}

/// Where a tool does several things, its `command` is one word that says which.
fn tells_of_change(call: &ToolCall, arguments: &Json<'_>) -> bool {
    let verb = arguments.get("command").and_then(Json::as_str).filter(|verb| !verb.contains(char::is_whitespace));
    let name = verb.unwrap_or(&call.name).to_lowercase();
    CHANGES.iter().any(|change| name.contains(change)) && !name.contains("todo")
}

fn add_patched(value: &Json<'_>, files: &mut Vec<String>) {
    match value {
        // Most texts are no patches.
        Json::String(text) if text.contains("***") || text.contains("+++") => {
            for mark in PATCHES {
                for (at, _) in text.match_indices(mark) {
                    let path = text[at + mark.len()..].lines().next().unwrap_or_default().trim();
                    if !path.is_empty() && (at == 0 || text[..at].ends_with('\n')) {
                        files.push(path.to_owned());
                    }
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| add_patched(item, files)),
        Json::Object(members) => members.iter().for_each(|(_, value)| add_patched(value, files)),
        _ => {}
    }
}

/// Whether two names are of one file as far as they go: the segments of the shorter end the longer.
pub(super) fn are_of_one_file(left: &str, right: &str) -> bool {
    let segments = |path: &str| -> Vec<String> {
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_lowercase).collect()
    };
    let (left, right) = (segments(left), segments(right));
    !left.is_empty() && !right.is_empty() && (left.ends_with(&right) || right.ends_with(&left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, arguments: &str, expected: &[&str]) {
        let arguments = Json::parse(arguments).expect("it is JSON").into_owned();
        let call = ToolCall { id: "c".to_owned(), name: name.to_owned(), arguments: Some(arguments) };
        assert_eq!(changed_files(&call, &FileTools::default()), expected, "{name}");
    }

    #[test]
    fn calls_that_change_files() {
        check("edit", r#"{"path":"src/a.rs"}"#, &["src/a.rs"]);
        check("Write", r#"{"file_path":"/p/a.rs","content":"x"}"#, &["/p/a.rs"]);
        check("search_replace", r#"{"file_path":"a.py","old_string":"x"}"#, &["a.py"]);
        check("str_replace_editor", r#"{"command":"str_replace","path":"/p/a.py"}"#, &["/p/a.py"]);
        check("str_replace_editor", r#"{"command":"view","path":"/p/a.py"}"#, &[]);
        check("read", r#"{"path":"src/a.rs"}"#, &[]);
        check("todo_write", r#"{"path":"a"}"#, &[]);
        check(
            "shell",
            r#"{"command":["bash","-lc","apply_patch <<'P'\n*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: b.md\n+x"]}"#,
            &["src/a.ts", "b.md"],
        );
    }

    #[test]
    fn names_of_one_file() {
        assert!(are_of_one_file("recall.rs", "/p/src/recall.rs") && are_of_one_file("C:\\p\\A.cs", "p/a.cs"));
        assert!(!are_of_one_file("recall.rs", "src/xrecall.rs") && !are_of_one_file("a/b.rs", "c/b.rs"));
        assert!(!are_of_one_file("", "a"));
    }
}
