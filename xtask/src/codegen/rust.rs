//! The types of the Rust client, its calls, notifications and hooks.
//!
//! The text is formatted as by rustfmt, because `cargo fmt --check` covers generated files.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Document, Method, description, list};
use super::shape::{Member, Object, Shape};
use super::text::{capitalised, quoted, wrap};

const HEAD: &str = r#"// Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.
//! Types of the protocol, the calls of [`Server`], [`Event`] and [`Hooks`].
//!
//! Members and values that a newer server adds never fail a call: unknown members are ignored, and unknown
//! values become `Other`. Objects whose members the caller chooses are [`Value`]s.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answers::{RpcError, answered, parameters, unanswered};
use crate::{ClientError, Notification, Server};

/// Reads a member for which null and absence differ.
fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}
"#;

/// Columns of a line, as `rustfmt.toml` has it.
const WIDTH: usize = 120;
/// Columns of the text of a comment.
const COMMENT: usize = 100;
/// Methods whose function on `Server` is written by hand.
const BY_HAND: &[&str] = &["shutdown"];
const KEYWORDS: &[&str] = &["type", "ref", "match", "move", "use", "where", "in", "box", "final", "override"];

/// The whole module.
pub(super) fn module(document: &Document<'_>) -> String {
    let sent = sent_types(document);
    let mut parts = vec![HEAD.to_owned()];
    parts.extend(document.types.iter().map(|(name, schema)| definition(name, schema, sent.contains(*name))));
    parts.push(error_kinds(document));
    parts.push(calls(document));
    parts.push(events(document));
    parts.push(hooks(document));
    parts.join("\n")
}

/// Types that a client builds: those in parameters, and in results of its hooks.
fn sent_types<'a>(document: &Document<'a>) -> BTreeSet<&'a str> {
    let roots = document.methods.iter().map(|method| method.params);
    let mut open: Vec<&Value> = roots.chain(document.client_methods.iter().map(|method| method.result)).collect();
    let mut found = BTreeSet::new();
    while let Some(value) = open.pop() {
        let name = value["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        if let Some((name, schema)) = name.and_then(|name| document.types.get_key_value(name))
            && found.insert(*name)
        {
            open.push(schema);
        }
        match value {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

fn definition(name: &str, schema: &Value, is_sent: bool) -> String {
    let text = match description(schema) {
        "" => format!("`{name}`."),
        text => text.to_owned(),
    };
    let head = comment(&text, "");
    match Shape::read(schema) {
        // The caller chooses the members: messages in the shape of an interface, settings.
        Shape::Object(object) if object.open && object.members.len() < 2 => format!("{head}pub type {name} = Value;\n"),
        Shape::Object(object) => structure(name, &head, &object, is_sent),
        Shape::OneOf(shapes) if shapes.iter().all(is_literal) => literals(name, &head, schema),
        Shape::OneOf(shapes) if !shapes.contains(&Shape::Null) => union(name, &head, schema),
        shape => format!("{head}pub type {name} = {};\n", expression(&shape)),
    }
}

fn is_literal(shape: &Shape) -> bool {
    matches!(shape, Shape::Literal(_))
}

fn structure(name: &str, head: &str, object: &Object, is_sent: bool) -> String {
    let has_required = object.members.iter().any(|member| member.required);
    let default = if has_required { "" } else { ", Default" };
    let derive = format!("#[derive(Debug, Clone, PartialEq{default}, Serialize, Deserialize)]\n");
    if object.members.is_empty() {
        return format!("{head}{derive}pub struct {name} {{}}\n");
    }
    let rest =
        "    /// Members that the protocol does not know.\n    #[serde(flatten)]\n    pub other: Map<String, Value>,\n";
    let rest = if object.open { rest } else { "" };
    let members: String = object.members.iter().map(member).collect();
    let head = format!("{head}{derive}#[serde(rename_all = \"camelCase\")]\npub struct {name} {{\n{members}{rest}}}\n");
    if is_sent && has_required { head + &constructor(name, object) } else { head }
}

fn member(member: &Member) -> String {
    let text = match member.description.as_str() {
        "" => format!("Member `{}`.", member.name),
        text => text.to_owned(),
    };
    let mut lines = comment(&text, "    ");
    let field = field(&member.name);
    if camel(field.trim_start_matches("r#")) != member.name {
        lines += &format!("    #[serde(rename = {})]\n", quoted(&member.name));
    }
    let optional = "default, skip_serializing_if = \"Option::is_none\"";
    if member.null_differs {
        lines += &format!("    #[serde(deserialize_with = \"present\", {optional})]\n");
    } else if !member.required {
        lines += &format!("    #[serde({optional})]\n");
    }
    lines + &format!("    pub {field}: {},\n", member_type(member))
}

fn member_type(member: &Member) -> String {
    let shown = expression(&member.shape);
    match (member.required, member.null_differs) {
        (_, true) => format!("Option<{shown}>"),
        (false, _) if !shown.starts_with("Option<") => format!("Option<{shown}>"),
        _ => shown,
    }
}

/// `new`, which takes the required members.
fn constructor(name: &str, object: &Object) -> String {
    let required = object.members.iter().filter(|member| member.required);
    let parameters: Vec<String> = required
        .map(|member| match &member.shape {
            Shape::Text => format!("{}: impl Into<String>", field(&member.name)),
            shape => format!("{}: {}", field(&member.name), expression(shape)),
        })
        .collect();
    let mut values: Vec<String> = object.members.iter().map(value).collect();
    values.extend(object.open.then(|| "other: Map::new()".to_owned()));
    let signature = enclosed("    pub fn new(", &parameters, ") -> Self {", "    ");
    let body = match values.iter().map(|value| value.len() + 2).sum::<usize>() + 16 <= WIDTH {
        true => format!("        Self {{ {} }}\n", values.join(", ")),
        false => enclosed("        Self {", &values, "}", "        "),
    };
    let what = if object.members.iter().all(|member| member.required) { "" } else { "; optional members are absent" };
    format!(
        "\nimpl {name} {{\n    /// Takes the required members{what}.\n    #[must_use]\n{signature}{body}    }}\n}}\n"
    )
}

fn value(member: &Member) -> String {
    let field = field(&member.name);
    match (member.required, &member.shape) {
        (true, Shape::Text) => format!("{field}: {field}.into()"),
        (true, _) => field,
        (false, _) => format!("{field}: None"),
    }
}

/// Items on one line if they fit, else one on each.
fn enclosed(before: &str, items: &[String], after: &str, indent: &str) -> String {
    let line = format!("{before}{}{after}\n", items.join(", "));
    if line.trim_end().chars().count() <= WIDTH && !before.ends_with('{') {
        return line;
    }
    let items: String = items.iter().map(|item| format!("{indent}    {item},\n")).collect();
    format!("{before}\n{items}{indent}{after}\n")
}

/// An enumeration of texts. It keeps unknown texts.
fn literals(name: &str, head: &str, schema: &Value) -> String {
    let described = list(&schema["oneOf"]).iter().filter_map(|choice| Some((choice["const"].as_str()?, choice)));
    let plain = list(&schema["enum"]).iter().filter_map(|text| Some((text.as_str()?, &Value::Null)));
    let mut texts: Vec<(&str, String)> = Vec::new();
    for (text, choice) in described.chain(plain) {
        if !texts.iter().any(|(known, _)| *known == text) {
            texts.push((text, description(choice).to_owned()));
        }
    }
    head.to_owned() + &enumeration(name, &texts)
}

fn enumeration(name: &str, texts: &[(&str, String)]) -> String {
    let variants: String = texts.iter().map(|(text, description)| variant(text, description)).collect();
    let names: String =
        texts.iter().map(|(text, _)| format!("            Self::{} => {},\n", pascal(text), quoted(text))).collect();
    format!(
        "#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]\npub enum {name} {{\n{variants}    /// A value \
         that only a newer server has.\n    #[serde(untagged)]\n    Other(String),\n}}\n\nimpl {name} {{\n    /// Its text in the \
         protocol.\n    pub fn as_str(&self) -> &str {{\n        match self {{\n{names}            Self::Other(text) => \
         text,\n        }}\n    }}\n}}\n"
    )
}

fn variant(text: &str, description: &str) -> String {
    let shown = if description.is_empty() { format!("`{text}`.") } else { description.to_owned() };
    format!("{}    #[serde(rename = {})]\n    {},\n", comment(&shown, "    "), quoted(text), pascal(text))
}

/// One of several types; their members distinguish them.
fn union(name: &str, head: &str, schema: &Value) -> String {
    let choices = list(&schema["anyOf"]).iter().chain(list(&schema["oneOf"]));
    let (mut variants, mut has_text) = (String::new(), false);
    for choice in choices {
        let shape = Shape::read(choice);
        has_text |= shape == Shape::Text;
        let (variant, inner) = match &shape {
            Shape::Named(name) => (name.clone(), format!("Box<{name}>")),
            Shape::Text => ("Text".to_owned(), "String".to_owned()),
            Shape::List(_) => ("List".to_owned(), expression(&shape)),
            _ => ("Value".to_owned(), expression(&shape)),
        };
        let text = match description(choice) {
            "" => format!("`{variant}`."),
            text => text.to_owned(),
        };
        variants += &format!("{}    {variant}({inner}),\n", comment(&text, "    "));
    }
    let from = |from: &str, value: &str| {
        format!(
            "\nimpl From<{from}> for {name} {{\n    fn from(text: {from}) -> Self {{\n        Self::Text({value})\n    \
             }}\n}}\n"
        )
    };
    let from = if has_text { from("&str", "text.to_owned()") + &from("String", "text") } else { String::new() };
    format!(
        "{head}#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]\n#[serde(untagged)]\npub enum {name} \
         {{\n{variants}}}\n{from}"
    )
}

fn expression(shape: &Shape) -> String {
    match shape {
        Shape::Named(name) => name.clone(),
        Shape::Null => "()".to_owned(),
        Shape::Text | Shape::Literal(_) => "String".to_owned(),
        Shape::Number => "f64".to_owned(),
        Shape::Integer { negative: true } => "i64".to_owned(),
        Shape::Integer { negative: false } => "u64".to_owned(),
        Shape::Boolean => "bool".to_owned(),
        Shape::List(item) => format!("Vec<{}>", expression(item)),
        Shape::Map(item) => format!("BTreeMap<String, {}>", expression(item)),
        Shape::OneOf(shapes) => one_of(shapes),
        Shape::Any | Shape::Object(_) => "Value".to_owned(),
    }
}

/// A nullable type is an option. A choice without a name is any value.
fn one_of(shapes: &[Shape]) -> String {
    let others: Vec<&Shape> = shapes.iter().filter(|shape| **shape != Shape::Null).collect();
    let shown = match others[..] {
        [only] => expression(only),
        _ if others.iter().all(|shape| is_literal(shape)) => "String".to_owned(),
        _ => "Value".to_owned(),
    };
    if others.len() < shapes.len() { format!("Option<{shown}>") } else { shown }
}

fn error_kinds(document: &Document<'_>) -> String {
    let texts: Vec<(&str, String)> =
        document.errors.iter().map(|error| (error.kind, error.description.to_owned())).collect();
    let kinds = document.errors.iter().map(|error| (error.code, pascal(error.kind)));
    let codes: String = kinds.clone().map(|(code, kind)| format!("            Self::{kind} => {code},\n")).collect();
    let by_code: String = kinds.map(|(code, kind)| format!("            {code} => Self::{kind},\n")).collect();
    format!(
        "/// The kinds of errors.\n{}\nimpl ErrorKind {{\n    /// The code of errors of this kind; `None` for an \
         unknown kind.\n    pub fn code(&self) -> Option<i32> {{\n        Some(match self {{\n{codes}            \
         Self::Other(_) => return None,\n        }})\n    }}\n\n    /// The kind of errors with this code.\n    pub fn \
         of_code(code: i32) -> Option<Self> {{\n        Some(match code {{\n{by_code}            _ => return None,\n        \
         }})\n    }}\n}}\n",
        enumeration("ErrorKind", &texts)
    )
}

fn calls(document: &Document<'_>) -> String {
    let methods = document.methods.iter().filter(|method| !BY_HAND.contains(&method.name));
    let calls: Vec<String> = methods.map(|method| call(document, method)).collect();
    format!(
        "/// One function for each method. They fail as [`Server::request`] does, and dropping a future cancels its \
         request.\nimpl Server {{\n{}}}\n",
        calls.join("\n")
    )
}

fn call(document: &Document<'_>, method: &Method<'_>) -> String {
    let result = expression(&Shape::read(method.result));
    let takes_none = matches!(Shape::read(document.resolve(method.params)),
        Shape::Object(object) if object.members.is_empty() && !object.open);
    let (mut parameters, mut sent) = (vec!["&self".to_owned()], "&serde_json::json!({})".to_owned());
    if !takes_none {
        parameters.push(format!("params: &{}", expression(&Shape::read(method.params))));
        sent = "params".to_owned();
    }
    let before = format!("    pub async fn {}(", snake(method.name));
    let signature = enclosed(&before, &parameters, &format!(") -> Result<{result}, ClientError> {{"), "    ");
    let errors: Vec<String> = method
        .errors
        .iter()
        .filter_map(|code| document.errors.iter().find(|error| error.code == *code))
        .map(|error| format!("[`ErrorKind::{}`]", pascal(error.kind)))
        .collect();
    let summary = comment(method.summary, "    ");
    let errors = match errors[..] {
        [] => String::new(),
        _ => format!("    ///\n    /// # Errors\n{}", wrapped(&format!("{}.", errors.join(", ")), "    ")),
    };
    format!("{summary}{errors}{signature}        self.request({}, {sent}).await\n    }}\n", quoted(method.name))
}

fn events(document: &Document<'_>) -> String {
    let notifications = document.notifications.iter().map(|one| {
        let payload = expression(&Shape::read(one.params));
        (one, pascal(one.name), payload)
    });
    let variants: String = notifications
        .clone()
        .map(|(one, name, payload)| format!("{}    {name}(Box<{payload}>),\n", comment(one.summary, "    ")))
        .collect();
    let arms: String = notifications
        .map(|(one, name, _)| {
            format!("            {} => Self::{name}(Box::new(notification.parse()?)),\n", quoted(one.name))
        })
        .collect();
    format!(
        "/// A notification of the server, typed by its method.\n#[derive(Debug, Clone)]\npub enum Event {{\n{variants}    \
         /// A value that only a newer server has.\n    Other(Notification),\n}}\n\nimpl TryFrom<Notification> for Event {{\n    type \
         Error = ClientError;\n\n    fn try_from(notification: Notification) -> Result<Self, ClientError> {{\n        \
         Ok(match notification.method.as_str() {{\n{arms}            _ => Self::Other(notification),\n        }})\n    \
         }}\n}}\n"
    )
}

fn hooks(document: &Document<'_>) -> String {
    let functions: Vec<String> = document.client_methods.iter().map(hook).collect();
    let arms = document.client_methods.iter().map(|method| {
        let (name, function) = (quoted(method.name), snake(method.name));
        format!("        {name} => answered(&hooks.{function}(parameters(params)?).await?),\n")
    });
    let arms: String = arms.collect();
    format!(
        "/// Answers the requests of the server, typed by their method.\n///\n/// The capabilities of `initialize` say \
         which methods the client answers. The other functions can be left out.\n#[async_trait]\npub trait Hooks: Send + Sync \
         {{\n{}}}\n\n/// Passes a request of the server to its hook.\npub(crate) async fn answer(hooks: &dyn Hooks, \
         method: &str, params: &RawValue) -> Result<Value, RpcError> {{\n    match method {{\n{arms}        _ => \
         Err(unanswered(method)),\n    }}\n}}\n",
        functions.join("\n")
    )
}

fn hook(method: &Method<'_>) -> String {
    let (params, result) = (expression(&Shape::read(method.params)), expression(&Shape::read(method.result)));
    let parameters = ["&self".to_owned(), format!("params: {params}")];
    let before = format!("    async fn {}(", snake(method.name));
    let signature = enclosed(&before, &parameters, &format!(") -> Result<{result}, RpcError> {{"), "    ");
    let body = format!("        drop(params);\n        Err(unanswered({}))\n    }}\n", quoted(method.name));
    format!("{}{signature}{body}", comment(method.summary, "    "))
}

fn field(name: &str) -> String {
    let name = snake(name);
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// `sessionId` and `rpc.discover` as `session_id` and `rpc_discover`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        match letter {
            'A'..='Z' => {
                snake.push('_');
                snake.push(letter.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => snake.push(letter),
            _ => snake.push('_'),
        }
    }
    snake.trim_matches('_').to_owned()
}

/// What serde makes of a field.
fn camel(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    first + &words.map(capitalised).collect::<String>()
}

/// `openai-responses` and `turnPrefix` as `OpenaiResponses` and `TurnPrefix`.
fn pascal(text: &str) -> String {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).map(capitalised).collect()
}

/// A documentation comment. Outside of code, it escapes what rustdoc reads as a link or as HTML.
fn comment(text: &str, indent: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => part.replace('[', "\\[").replace('<', "\\<"),
        _ => format!("`{part}`"),
    });
    wrapped(&parts.collect::<String>(), indent)
}

fn wrapped(text: &str, indent: &str) -> String {
    wrap(text, COMMENT).iter().map(|line| format!("{indent}/// {line}").trim_end().to_owned() + "\n").collect()
}
