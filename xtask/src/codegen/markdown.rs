//! The reference for people.

use serde_json::Value;

use super::document::{Document, Method, Notification, description};
use super::shape::{Object, Shape};
use super::text::capitalised;

/// The whole page.
pub(super) fn reference(document: &Document<'_>) -> String {
    let mut page = head(document);
    for task in tasks(document) {
        page.push_str(&format!("\n## {}\n", if task.is_empty() { "Methods" } else { task }));
        let methods = document.methods.iter().filter(|method| method.task == task);
        page.extend(methods.map(|method| method_section(document, method)));
    }
    if !document.client_methods.is_empty() {
        page.push_str("\n## Requests of the server\n\nThe client answers them.\n");
        page.extend(document.client_methods.iter().map(|method| method_section(document, method)));
    }
    page.push_str("\n## Notifications\n");
    page.extend(document.notifications.iter().map(|notification| notification_section(document, notification)));
    page.push_str("\n## Notifications of the client\n");
    page.extend(document.client_notifications.iter().map(|notification| notification_section(document, notification)));
    page.push_str("\n## Types\n");
    page.extend(types_apart(document).iter().map(|name| type_section(document, name)));
    page.push_str(&error_table(document));
    page.extend(document.errors.iter().filter_map(error_example));
    page
}

/// What methods are for, in the order in which the methods name it.
fn tasks<'a>(document: &Document<'a>) -> Vec<&'a str> {
    let mut tasks: Vec<&str> = Vec::new();
    for method in &document.methods {
        if !tasks.contains(&method.task) {
            tasks.push(method.task);
        }
    }
    tasks
}

/// A request and its reply, as they were recorded.
fn method_example(example: Option<&Value>) -> String {
    let Some(example) = example else {
        return String::new();
    };
    let params = super::document::list(&example["params"]).iter();
    let params: serde_json::Map<String, Value> =
        params.filter_map(|param| Some((param["name"].as_str()?.to_owned(), param["value"].clone()))).collect();
    let sent = if params.is_empty() { String::new() } else { format!("\n{}", block(&Value::Object(params))) };
    format!("\nExample:\n{sent}\n{}", block(&example["result"]["value"]))
}

fn error_example(error: &super::document::ErrorCode<'_>) -> Option<String> {
    let example = error.example?;
    let kind = error.kind;
    Some(format!("\n### {kind}\n\n{}\n{}", block(&example["request"]), block(&example["error"])))
}

fn block(value: &Value) -> String {
    format!("```json\n{}\n```\n", super::text::shown_json(value))
}

fn head(document: &Document<'_>) -> String {
    let version = document.version;
    let methods: Vec<String> = document.methods.iter().map(|method| link(method.name)).collect();
    let notifications: Vec<String> = document.notifications.iter().map(|one| link(one.name)).collect();
    format!(
        "# Protocol reference\n\nGenerated from the OpenRPC document of compactd {version} by `cargo xtask protocol`. \
         Do not edit.\n\nEvery call takes its parameters by name. `?` marks members that may be missing. Errors that \
         any call may answer, and all codes, stand at [the end](#errors).\n\nMethods: {}.\n\nNotifications: {}.\n",
        methods.join(", "),
        notifications.join(", "),
    )
}

fn method_section(document: &Document<'_>, method: &Method<'_>) -> String {
    let mut section = format!("\n### {}\n\n{}\n", method.name, method.summary);
    if !method.scope.is_empty() {
        section.push_str(&format!("\nScope: {}.\n", scope(method.scope)));
    }
    section.push_str(&format!("\nParameters:{}", body(document, method.params)));
    section.push_str(&format!("\nResult:{}", body(document, method.result)));
    section.push_str(&errors_of(document, method));
    section.push_str(&method_example(method.example));
    section
}

/// What the scopes of the list of methods mean to a caller.
fn scope(name: &str) -> String {
    let meaning = match name {
        "free" => "it waits for nothing",
        "barrier" => "calls that arrive after it wait for it",
        "opening" => "it opens a session; calls that name the session wait for it",
        "read" => "it reads one session, after the changes that arrived before it",
        "write" => "it changes one session, in the order of arrival",
        _ => return format!("`{name}`"),
    };
    format!("`{name}`: {meaning}")
}

fn errors_of(document: &Document<'_>, method: &Method<'_>) -> String {
    let kind = |code: &i64| document.errors.iter().find(|error| error.code == *code).map(|error| error.kind);
    let shown = |code: &i64| kind(code).map_or_else(|| code.to_string(), |kind| format!("{code} `{kind}`"));
    let errors: Vec<String> = method.errors.iter().map(shown).collect();
    if errors.is_empty() { String::new() } else { format!("\nErrors: {}.\n", errors.join(", ")) }
}

fn notification_section(document: &Document<'_>, notification: &Notification<'_>) -> String {
    let body = body(document, notification.params);
    let example = notification.example.filter(|params| !params.is_null());
    let example = example.map(|params| format!("\nExample:\n\n{}", block(params))).unwrap_or_default();
    format!("\n### {}\n\n{}\n\nParameters:{body}{example}", notification.name, notification.summary)
}

/// Types that are shown in sections of their own: all but the parameters of calls.
fn types_apart<'a>(document: &Document<'a>) -> Vec<&'a str> {
    let methods = document.methods.iter().chain(&document.client_methods);
    let of_calls: Vec<Shape> = methods.map(|method| Shape::read(method.params)).collect();
    let is_apart = |name: &&&str| !of_calls.contains(&Shape::Named((**name).to_string()));
    document.types.keys().filter(is_apart).copied().collect()
}

fn type_section(document: &Document<'_>, name: &str) -> String {
    let schema = document.types[name];
    let about = match description(schema) {
        "" => String::new(),
        text => format!("\n{text}\n"),
    };
    format!("\n### {name}\n{about}{}", shape_body(&Shape::read(schema), schema))
}

/// A body that is a table if it is an object, and a type in the same line if not.
fn body(document: &Document<'_>, schema: &Value) -> String {
    let resolved = document.resolve(schema);
    match Shape::read(resolved) {
        Shape::Object(object) if object.members.is_empty() && !object.open => " none.\n".to_owned(),
        _ if schema.is_null() => " none.\n".to_owned(),
        Shape::Object(object) if !object.members.is_empty() => format!("\n\n{}", table(&object)),
        _ => format!(" {}\n", expression(&Shape::read(schema))),
    }
}

fn shape_body(shape: &Shape, schema: &Value) -> String {
    match shape {
        Shape::Object(object) if !object.members.is_empty() => format!("\n{}{}", table(object), rest(object)),
        Shape::OneOf(_) if schema["oneOf"].is_array() => format!("\n{}", choices(&schema["oneOf"])),
        other => format!("\nIn JSON: {}\n", expression(other)),
    }
}

fn rest(object: &Object) -> &'static str {
    if object.open { "\nFurther members are allowed.\n" } else { "" }
}

fn table(object: &Object) -> String {
    let mut table = "| member | type | |\n|---|---|---|\n".to_owned();
    for member in &object.members {
        let mark = if member.required { "" } else { "?" };
        let (shown, about) = (cell(&expression(&member.shape)), cell(&member.description));
        table.push_str(&format!("| `{}`{mark} | {shown} | {about} |\n", member.name));
    }
    table
}

fn choices(shapes: &Value) -> String {
    let shapes = super::document::list(shapes);
    shapes.iter().map(|schema| format!("- {}: {}\n", expression(&Shape::read(schema)), description(schema))).collect()
}

fn expression(shape: &Shape) -> String {
    match shape {
        Shape::Named(name) => link(name),
        Shape::Any => "any value".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Integer { .. } => "integer".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Literal(text) => format!("`\"{text}\"`"),
        Shape::List(item) => format!("list of {}", expression(item)),
        Shape::Map(item) => format!("object of {}", expression(item)),
        Shape::OneOf(shapes) => shapes.iter().map(expression).collect::<Vec<_>>().join(" or "),
        Shape::Object(_) => "object".to_owned(),
    }
}

fn error_table(document: &Document<'_>) -> String {
    let head = "\n## Errors\n\n`data.kind` names the error; the other members of `data` are what a person needs to \
                act. \
                `data.reason` tells errors of one kind apart, and `data.retryable` says whether the same call, sent \
                again later, may succeed.\n\n| code | kind | meaning |\n|---|---|---|\n";
    let row = |error: &super::document::ErrorCode<'_>| {
        format!("| {} | `{}` | {} |\n", error.code, error.kind, cell(&capitalised(error.description)))
    };
    head.chars().chain(document.errors.iter().map(row).collect::<String>().chars()).collect()
}

fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

/// A link to a section of this page, whose anchor is the heading in lower case without dots.
fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase().replace('.', ""))
}
