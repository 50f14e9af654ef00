//! Standalone JSON Schemas (draft-07): each holds the definitions that it refers to.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::document::Document;

const PREFIX: &str = "#/components/schemas/";

/// Names and texts of all files.
pub(super) fn files(document: &Document<'_>) -> Vec<(String, String)> {
    let methods = document.methods.iter().chain(&document.client_methods).flat_map(|method| {
        let params = (format!("{}.params", method.name), method.params);
        [params, (format!("{}.result", method.name), method.result)]
    });
    let notifications = document.notifications.iter().map(|one| (format!("{}.notification", one.name), one.params));
    let error = document.types.get("ErrorBody").map(|schema| ("error".to_owned(), *schema));
    methods.chain(notifications).chain(error).map(|(title, schema)| file(document, &title, schema)).collect()
}

/// All types in one schema, for generators of code: each by its name in `definitions`.
pub(super) fn types(document: &Document<'_>) -> String {
    let types: Map<String, Value> =
        document.types.iter().map(|(name, schema)| ((*name).to_owned(), (*schema).clone())).collect();
    let mut whole = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Protocol",
        "definitions": types,
    });
    point_inside(&mut whole);
    format!("{whole:#}\n")
}

fn file(document: &Document<'_>, title: &str, schema: &Value) -> (String, String) {
    let root = document.resolve(schema);
    let mut found = BTreeSet::new();
    collect(document, root, &mut found);
    let mut whole = root.as_object().cloned().unwrap_or_default();
    whole.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    whole.insert("title".to_owned(), json!(title));
    if !found.is_empty() {
        let definitions: Map<String, Value> =
            found.iter().map(|name| ((*name).to_owned(), document.types[name.as_str()].clone())).collect();
        whole.insert("definitions".to_owned(), Value::Object(definitions));
    }
    let mut whole = Value::Object(whole);
    point_inside(&mut whole);
    (format!("{title}.json"), format!("{whole:#}\n"))
}

/// Finds the types that a schema needs, through other types, too. A type may refer to itself.
fn collect(document: &Document<'_>, root: &Value, found: &mut BTreeSet<String>) {
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        let name = value["$ref"].as_str().and_then(|name| name.strip_prefix(PREFIX));
        if let Some((name, schema)) = name.and_then(|name| document.types.get_key_value(name))
            && found.insert((*name).to_owned())
        {
            open.push(schema);
        }
        open.extend(children(value));
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn point_inside(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(point_inside),
        Value::Array(items) => items.iter_mut().for_each(point_inside),
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(PREFIX) {
                *text = format!("#/definitions/{name}");
            }
        }
        _ => {}
    }
}
