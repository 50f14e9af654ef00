//! The types of the TypeScript client.

use serde_json::Value;

use super::document::{Document, ErrorCode, description, list};
use super::shape::{Member, Object, Shape};
use super::text::{quoted, wrap};

const HEAD: &str = "// Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.\n";

/// The whole module.
pub(super) fn module(document: &Document<'_>) -> String {
    let mut parts = vec![HEAD.to_owned()];
    parts.extend(document.types.iter().map(|(name, schema)| definition(name, schema)));
    parts.push(methods(document));
    parts.push(notifications(document));
    parts.push(error_codes(&document.errors));
    parts.join("\n")
}

fn definition(name: &str, schema: &Value) -> String {
    let comment = comment(description(schema), "");
    match Shape::read(schema) {
        Shape::Object(object) if !object.members.is_empty() => {
            format!("{comment}export interface {name} {{\n{}}}\n", members(&object))
        }
        _ if is_choice(schema) => format!("{comment}export type {name} =\n{};\n", choices(schema)),
        shape => format!("{comment}export type {name} = {};\n", expression(&shape)),
    }
}

/// Whether the schema lists alternatives and says what they mean.
fn is_choice(schema: &Value) -> bool {
    list(&schema["oneOf"]).iter().any(|choice| !description(choice).is_empty())
}

fn choices(schema: &Value) -> String {
    let rows = list(&schema["oneOf"])
        .iter()
        .map(|choice| format!("{}  | {}", comment(description(choice), "  "), expression(&Shape::read(choice))));
    rows.collect::<Vec<_>>().join("\n")
}

fn members(object: &Object) -> String {
    let rest = if object.open { "  [member: string]: unknown;\n" } else { "" };
    object.members.iter().map(member).chain([rest.to_owned()]).collect()
}

fn member(member: &Member) -> String {
    let mark = if member.required { "" } else { "?" };
    let comment = comment(&member.description, "  ");
    format!("{comment}  {}{mark}: {};\n", key(&member.name), expression(&member.shape))
}

fn expression(shape: &Shape) -> String {
    match shape {
        Shape::Named(name) => name.clone(),
        Shape::Any => "unknown".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Number | Shape::Integer { .. } => "number".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Literal(text) => quoted(text),
        Shape::List(item) => format!("Array<{}>", expression(item)),
        Shape::Map(item) => format!("Record<string, {}>", expression(item)),
        Shape::OneOf(shapes) => shapes.iter().map(expression).collect::<Vec<_>>().join(" | "),
        Shape::Object(object) => inline(object),
    }
}

fn inline(object: &Object) -> String {
    match (object.members.is_empty(), object.open) {
        (true, true) => "{ [member: string]: unknown }".to_owned(),
        (true, false) => "Record<string, never>".to_owned(),
        (false, _) => format!("{{\n{}}}", members(object)),
    }
}

fn methods(document: &Document<'_>) -> String {
    let rows = document.methods.iter().map(|method| {
        let types = (expression(&Shape::read(method.params)), expression(&Shape::read(method.result)));
        let comment = comment(method.summary, "  ");
        format!("{comment}  {}: {{ params: {}; result: {} }};\n", key(method.name), types.0, types.1)
    });
    let rows: String = rows.collect();
    format!("/** Parameters and result of every method. */\nexport interface Methods {{\n{rows}}}\n")
}

fn notifications(document: &Document<'_>) -> String {
    let rows = document.notifications.iter().map(|notification| {
        let params = expression(&Shape::read(notification.params));
        format!("{}  {}: {params};\n", comment(notification.summary, "  "), key(notification.name))
    });
    let rows: String = rows.collect();
    format!("/** Parameters of every notification. */\nexport interface Notifications {{\n{rows}}}\n")
}

fn error_codes(errors: &[ErrorCode<'_>]) -> String {
    let rows = errors.iter().map(|error| {
        let comment = comment(error.description, "  ");
        format!("{comment}  {}: {},\n", key(error.kind), error.code)
    });
    let rows: String = rows.collect();
    format!(
        "/** Codes of the errors by their kind. */\nexport const errorCodes = {{\n{rows}}} as const;\n\n\
         /** The kinds of errors. */\nexport type ErrorKind = keyof typeof errorCodes;\n"
    )
}

fn comment(text: &str, indent: &str) -> String {
    let lines = wrap(&text.replace("*/", "* /"), 96);
    match &lines[..] {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let body: String = lines.iter().map(|line| format!("{indent} * {line}\n")).collect();
            format!("{indent}/**\n{body}{indent} */\n")
        }
    }
}

fn key(name: &str) -> String {
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if plain { name.to_owned() } else { quoted(name) }
}
