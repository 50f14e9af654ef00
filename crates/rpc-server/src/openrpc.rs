//! The OpenRPC document, generated from the list of methods and the wire types.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::errors;
use crate::methods::{self, MethodDescription};

/// The document: OpenRPC 1.2.6 with schemas of JSON Schema draft 7, which its tools read. Notifications, errors and
/// scopes are in members that start with `x-`.
pub fn document() -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.definitions_path = "/components/schemas".into();
    let settings = settings.with_transform(WithoutFormats);
    let mut generator = SchemaGenerator::new(settings.clone());
    let mut results = SchemaGenerator::new(settings.for_serialize());
    let descriptions = methods::describe(&mut generator, &mut results);
    let notifications = methods::describe_notifications(&mut results);
    let client_methods = methods::describe_client_methods(&mut results, &mut generator);
    let mut schemas = generator.take_definitions(true);
    schemas.extend(results.take_definitions(true));
    // Code generators name types by their titles.
    for (name, schema) in &mut schemas {
        if let Some(schema) = schema.as_object_mut() {
            schema.entry("title").or_insert_with(|| json!(name));
        }
    }
    let methods: Vec<Value> = descriptions.iter().map(|method| describe(method, &schemas)).collect();
    let errors: Vec<Value> = errors::TABLE
        .iter()
        .map(|(code, kind, description)| json!({ "code": code, "kind": kind, "description": description }))
        .collect();
    json!({
        "openrpc": "1.2.6",
        "info": {
            "title": "compactd",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Keeps an LLM agent's conversation tree on disk and its context small.",
            "license": { "name": "MIT" },
        },
        "methods": methods,
        "x-notifications": notifications,
        "x-clientMethods": client_methods,
        "x-clientNotifications": client_notifications(),
        "x-errors": errors,
        "components": { "schemas": schemas },
    })
}

fn client_notifications() -> Value {
    json!([
        { "name": "exit", "summary": "Ends the server. The exit code is 1 if no `shutdown` came before.", "params": null },
        { "name": "$/cancelRequest", "summary": "Cancels a request. It then fails with -32800.", "params": {
            "type": "object",
            "properties": { "id": { "type": ["string", "number"] } },
            "required": ["id"],
        } },
    ])
}

fn describe(method: &MethodDescription, schemas: &Map<String, Value>) -> Value {
    json!({
        "name": method.name,
        "summary": method.summary,
        "tags": [{ "name": task(method.name) }],
        "paramStructure": "by-name",
        "params": parameters(method.name, &method.params, schemas),
        "result": { "name": "result", "schema": method.result },
        "errors": method.errors.iter().map(|kind| error(kind)).collect::<Vec<_>>(),
        "x-params": method.params,
        "x-scope": method.scope.name(),
    })
}

/// Groups of methods by task, in the order of the reference.
const TASKS: &[(&str, &[&str])] = &[
    ("Start, settings and end", &["initialize", "updateSettings", "ping", "getStatus", "rpc.discover", "shutdown"]),
    (
        "Sessions",
        &[
            "createSession",
            "openSession",
            "continueSession",
            "subscribe",
            "unsubscribe",
            "closeSession",
            "listSessions",
            "setSessionName",
            "getSessionStats",
            "checkSession",
        ],
    ),
    ("Writing", &["appendMessage", "appendMessages", "appendEntry", "setLabel", "pinEntry"]),
    ("Reading", &["getContext", "getEntry", "getEntries", "getBranch", "getTree", "getPins"]),
    ("Finding", &["searchSession", "recall"]),
    ("Tokens", &["getContextUsage", "estimateTokens", "serializeConversation"]),
    (
        "Compaction",
        &["checkCompaction", "prepareCompaction", "compact", "compactMessages", "abortCompaction", "undoCompaction"],
    ),
    ("Branches", &["prepareNavigation", "navigateTree", "forkSession"]),
];

fn task(method: &str) -> &'static str {
    TASKS.iter().find(|(_, methods)| methods.contains(&method)).map_or("Other", |(task, _)| task)
}

/// An error of the table, in the form of OpenRPC.
fn error(kind: &str) -> Value {
    let row = errors::TABLE.iter().find(|(_, name, _)| *name == kind);
    let (code, kind, description) = row.expect("the list of methods names kinds of the table, which a test checks");
    json!({ "code": code, "message": description, "data": { "kind": kind } })
}

/// The members of a parameter type as a list, as OpenRPC requires. Generators name them by their titles.
fn parameters(method: &str, params: &Schema, schemas: &Map<String, Value>) -> Vec<Value> {
    let name = params.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
    let schema = name.and_then(|name| schemas.get(name)).unwrap_or(params.as_value());
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().into_iter().flatten();
    let mut list: Vec<Value> = members
        .map(|(name, schema)| {
            let mut schema = schema.clone();
            schema["title"] = json!(capitalised(method) + &capitalised(name));
            json!({ "name": name, "required": required.contains(&name.as_str()), "schema": schema })
        })
        .collect();
    // Tools require that mandatory parameters precede optional ones.
    list.sort_by_key(|parameter| parameter["required"] != json!(true));
    list
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Removes integer formats, which are not part of JSON Schema and confuse its tools.
#[derive(Debug, Clone)]
struct WithoutFormats;

impl Transform for WithoutFormats {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.remove("format").is_some_and(|format| format == "uint32") {
            schema.insert("maximum".to_owned(), json!(u32::MAX));
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_name_errors_of_the_table_and_schemas_that_are_there() {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        let text = document.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap_or_default();
            assert!(schemas.contains_key(name), "no schema {name}");
        }
        assert!(!text.contains("\"format\":\"u"), "an integer format is left");
        assert!(!text.contains("\"Other\""), "a method has no task");
        let named = TASKS.iter().flat_map(|(_, methods)| *methods);
        assert!(named.copied().all(|name| methods::find(name).is_some()), "a task names a method that is none");
        assert!(schemas.iter().all(|(name, schema)| schema["title"] == json!(name)), "a schema has no title");
    }
}
