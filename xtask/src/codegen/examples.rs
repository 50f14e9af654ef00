//! Recorded exchanges in the OpenRPC document, and the document of what the client answers.

use serde_json::{Value, json};

use super::document::{Document, list};
use super::text::capitalised;

/// Lists of the document with the group of examples that belongs to each.
const METHODS: [(&str, &str); 2] = [("methods", "methods"), ("x-clientMethods", "clientMethods")];
const NOTIFICATIONS: [(&str, &str); 2] =
    [("x-notifications", "notifications"), ("x-clientNotifications", "clientNotifications")];

pub(super) fn with_examples(openrpc: &Value, examples: &Value) -> Value {
    let mut document = openrpc.clone();
    for (member, group) in METHODS {
        for method in items(&mut document, member) {
            if let Some(example) = examples[group].get(name(method, "name")) {
                method["examples"] = json!([pairing(&name(method, "name"), example)]);
            }
        }
    }
    for (member, group) in NOTIFICATIONS {
        for notification in items(&mut document, member) {
            if let Some(params) = examples[group].get(name(notification, "name")) {
                notification["examples"] = json!([params]);
            }
        }
    }
    for error in items(&mut document, "x-errors") {
        if let Some(example) = examples["errors"].get(name(error, "kind")) {
            error["example"] = example.clone();
        }
    }
    document
}

/// A request and its reply as OpenRPC pairs them.
fn pairing(method: &str, example: &Value) -> Value {
    let params = example["params"].as_object().into_iter().flatten();
    let params: Vec<Value> = params.map(|(name, value)| json!({ "name": name, "value": value })).collect();
    json!({ "name": method, "params": params, "result": { "name": "result", "value": example["result"] } })
}

pub(super) fn client_openrpc(openrpc: &Value) -> Value {
    let document = Document::read(openrpc);
    let methods: Vec<Value> = list(&openrpc["x-clientMethods"])
        .iter()
        .map(|method| {
            let schema = document.resolve(&method["params"]);
            let required = list(&schema["required"]);
            let members = schema["properties"].as_object().into_iter().flatten();
            let mut params: Vec<Value> = members
                .map(|(name, schema)| {
                    let mut schema = schema.clone();
                    schema["title"] = json!(capitalised(self::name(method, "name").as_str()) + &capitalised(name));
                    json!({ "name": name, "required": required.contains(&json!(name)), "schema": schema })
                })
                .collect();
            params.sort_by_key(|param| param["required"] != json!(true));
            json!({
                "name": method["name"],
                "summary": method["summary"],
                "paramStructure": "by-name",
                "params": params,
                "result": { "name": "result", "schema": method["result"] },
                "examples": method.get("examples").cloned().unwrap_or_else(|| json!([])),
            })
        })
        .collect();
    json!({
        "openrpc": openrpc["openrpc"],
        "info": {
            "title": "compactd-client",
            "version": openrpc["info"]["version"],
            "description": "Requests of the server to its client: what a client may answer.",
        },
        "methods": methods,
        "components": openrpc["components"],
    })
}

fn items<'a>(document: &'a mut Value, member: &str) -> impl Iterator<Item = &'a mut Value> {
    document.get_mut(member).and_then(Value::as_array_mut).into_iter().flatten()
}

fn name(item: &Value, member: &str) -> String {
    item[member].as_str().unwrap_or_default().to_owned()
}
