//! Finds the files that a call changes, for questions about files.

use crate::file_operations::FileTools;
use crate::message::ToolCall;
use crate::tools::{FileDeed, classify};

/// The paths that `call` writes, edits, deletes or moves, as it spells them.
pub(super) fn changed_files(call: &ToolCall, tools: &FileTools) -> Vec<String> {
    let action = classify(call, tools);
    let changed = action.files().iter().filter(|file| file.deed != FileDeed::Read);
    changed.map(|file| file.path.clone()).collect()
}

/// Whether two names may be the same file: the segments of the shorter are a suffix of the longer.
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
    use crate::json::Json;

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
