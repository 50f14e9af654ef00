//! A small document with one of everything, against the committed texts.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/codegen/testdata").join(name)
}

fn document() -> Value {
    let text = fs::read_to_string(data("openrpc.json")).expect("the document is committed");
    serde_json::from_str(&text).expect("the document is JSON")
}

/// Compares with the committed file; `UPDATE_EXPECT=1` writes it instead.
fn check(name: &str, text: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(data(name), text).expect("the directory is there");
    }
    assert_eq!(text, fs::read_to_string(data(name)).unwrap_or_default(), "{name} differs; UPDATE_EXPECT=1 writes it");
}

#[test]
fn typescript() {
    check("protocol.ts", &super::typescript(&document()));
}

#[test]
fn python() {
    check("protocol.py", &super::python(&document()));
}

#[test]
fn rust() {
    check("protocol.rs", &super::rust(&document()));
}

#[test]
fn reference() {
    check("reference.md", &super::markdown_reference(&document()));
}

#[test]
fn schemas() {
    let files = super::json_schemas(&document());
    let texts: String = files.iter().map(|(name, text)| format!("==> {name}\n{text}")).collect();
    check("schemas.txt", &(texts + "==> types.json\n" + &super::json_types(&document())));
}

#[test]
fn schemas_hold_all_that_they_refer_to() {
    for (name, text) in super::json_schemas(&document()) {
        let schema: Value = serde_json::from_str(&text).expect("schemas are JSON");
        let references = text.split("\"#/definitions/").skip(1).filter_map(|rest| rest.split('"').next());
        for reference in references {
            assert!(schema["definitions"][reference].is_object(), "{name} lacks {reference}");
        }
        assert!(!text.contains("#/components"), "{name} points outside");
    }
}

#[test]
fn an_empty_document_gives_texts_all_the_same() {
    let empty = Value::Null;
    assert!(super::json_schemas(&empty).is_empty());
    for text in
        [super::typescript(&empty), super::python(&empty), super::rust(&empty), super::markdown_reference(&empty)]
    {
        assert!(!text.is_empty());
    }
}
