//! The parts of the OpenRPC document that the generators read.

use std::collections::BTreeMap;

use serde_json::Value;

/// The document, in the order of the server's lists.
pub(super) struct Document<'a> {
    pub(super) version: &'a str,
    pub(super) methods: Vec<Method<'a>>,
    /// Requests that the server makes.
    pub(super) client_methods: Vec<Method<'a>>,
    pub(super) notifications: Vec<Notification<'a>>,
    /// Notifications that the client sends.
    pub(super) client_notifications: Vec<Notification<'a>>,
    pub(super) errors: Vec<ErrorCode<'a>>,
    /// Types by name.
    pub(super) types: BTreeMap<&'a str, &'a Value>,
}

/// A method.
pub(super) struct Method<'a> {
    pub(super) name: &'a str,
    pub(super) summary: &'a str,
    /// What a call waits for; empty if the document does not say.
    pub(super) scope: &'a str,
    pub(super) params: &'a Value,
    pub(super) result: &'a Value,
    /// Codes of the errors that it may answer beside the general ones.
    pub(super) errors: Vec<i64>,
    /// What it is for; empty if the document does not say.
    pub(super) task: &'a str,
    /// A recorded request and its reply, as OpenRPC pairs them.
    pub(super) example: Option<&'a Value>,
}

/// A notification.
pub(super) struct Notification<'a> {
    pub(super) name: &'a str,
    pub(super) summary: &'a str,
    pub(super) params: &'a Value,
    /// Recorded parameters.
    pub(super) example: Option<&'a Value>,
}

/// A row of the error table.
pub(super) struct ErrorCode<'a> {
    pub(super) code: i64,
    pub(super) kind: &'a str,
    pub(super) description: &'a str,
    /// A recorded request, and the error that came.
    pub(super) example: Option<&'a Value>,
}

impl<'a> Document<'a> {
    /// Reads the document. What is missing is empty: the texts then show it.
    pub(super) fn read(openrpc: &'a Value) -> Self {
        let types = openrpc["components"]["schemas"].as_object();
        Self {
            version: text(&openrpc["info"]["version"]),
            methods: list(&openrpc["methods"]).iter().map(method).collect(),
            client_methods: list(&openrpc["x-clientMethods"]).iter().map(client_method).collect(),
            notifications: list(&openrpc["x-notifications"]).iter().map(notification).collect(),
            client_notifications: list(&openrpc["x-clientNotifications"]).iter().map(notification).collect(),
            errors: list(&openrpc["x-errors"]).iter().map(error_code).collect(),
            types: types.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema)).collect(),
        }
    }

    /// Follows `$ref`, and `allOf` around a single one, to the type itself.
    pub(super) fn resolve(&self, schema: &'a Value) -> &'a Value {
        type_name(schema).and_then(|name| self.types.get(name)).copied().unwrap_or(schema)
    }
}

/// Name of the type that a schema refers to, if it does nothing else.
pub(super) fn type_name(schema: &Value) -> Option<&str> {
    match list(&schema["allOf"]) {
        [only] => type_name(only),
        _ => schema["$ref"].as_str()?.strip_prefix("#/components/schemas/"),
    }
}

/// The description of a schema, on one line per paragraph.
pub(super) fn description(schema: &Value) -> &str {
    text(&schema["description"])
}

/// The elements of an array; none of anything else.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn method(value: &Value) -> Method<'_> {
    Method {
        name: text(&value["name"]),
        summary: text(&value["summary"]),
        scope: text(&value["x-scope"]),
        params: &value["x-params"],
        result: &value["result"]["schema"],
        errors: list(&value["errors"]).iter().filter_map(|error| error["code"].as_i64()).collect(),
        task: text(&value["tags"][0]["name"]),
        example: list(&value["examples"]).first(),
    }
}

fn client_method(value: &Value) -> Method<'_> {
    Method { params: &value["params"], result: &value["result"], ..method(value) }
}

fn notification(value: &Value) -> Notification<'_> {
    Notification {
        name: text(&value["name"]),
        summary: text(&value["summary"]),
        // A list of one parameter, as OpenRPC has it for methods, or its schema alone.
        params: list(&value["params"]).first().map_or(&value["params"], |only| &only["schema"]),
        example: list(&value["examples"]).first(),
    }
}

fn error_code(value: &Value) -> ErrorCode<'_> {
    ErrorCode {
        code: value["code"].as_i64().unwrap_or_default(),
        kind: text(&value["kind"]),
        description: text(&value["description"]),
        example: value.get("example"),
    }
}
