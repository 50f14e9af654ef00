//! The examples of the reference are what the server says today.

use compactd_tests::binary::binary;
use compactd_tests::examples::{examples, kinds_without};
use serde_json::Value;

const FILE: &str = "protocol/examples.json";

/// Plays the exchanges again. `UPDATE_EXAMPLES=1` writes the file instead; `cargo xtask protocol` then takes them
/// into the reference.
#[test]
fn the_examples_are_what_the_server_says() {
    let found = examples(&binary().expect("the binary is built")).expect("the cases can be played");
    let path = xtask::root().join(FILE);
    if std::env::var_os("UPDATE_EXAMPLES").is_some() {
        std::fs::write(&path, format!("{found:#}\n")).expect("the directory is there");
    }
    let committed = std::fs::read_to_string(&path).expect("the examples are committed");
    let committed: Value = serde_json::from_str(&committed).expect("the examples are JSON");
    for (group, examples) in found.as_object().expect("the examples have groups") {
        let committed = committed[group].as_object().cloned().unwrap_or_default();
        for (name, example) in examples.as_object().expect("a group has names") {
            assert_eq!(committed.get(name), Some(example), "{group}.{name} differs; UPDATE_EXAMPLES=1 writes it");
        }
        assert_eq!(committed.len(), examples.as_object().map_or(0, serde_json::Map::len), "{group} has too many");
    }
}

#[test]
fn every_method_notification_and_error_has_its_example() {
    let document = xtask::protocol::discover(&binary().expect("the binary is built")).expect("it describes itself");
    let committed = std::fs::read_to_string(xtask::root().join(FILE)).expect("the examples are committed");
    let committed: Value = serde_json::from_str(&committed).expect("the examples are JSON");
    let lists = [
        ("methods", "methods"),
        ("x-clientMethods", "clientMethods"),
        ("x-notifications", "notifications"),
        ("x-clientNotifications", "clientNotifications"),
    ];
    for (list, group) in lists {
        let names = document[list].as_array().expect("the document has the list").iter();
        let without: Vec<&str> = names
            .filter_map(|item| item["name"].as_str())
            .filter(|name| committed[group].get(*name).is_none())
            .collect();
        assert!(without.is_empty(), "{group} without example: {without:?}");
    }
    // A system that fails cannot be played on every machine; tests/tests/faults/handles.rs brings it about.
    assert_eq!(kinds_without(&committed), ["readFailed"], "errors without example");
}
