//! The types of the Python client, and its calls typed by method.

use serde_json::Value;

use super::document::{Document, description};
use super::shape::{Object, Shape};
use super::text::{quoted, wrap};

const HEAD: &str = r#"# Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.
"""Types of the protocol, and the calls typed by method."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict, final, overload

from .pending import Pending
"#;

/// One overload of `start`.
const START: &str = "    @overload
    def start(self, method: Literal[{method}], params: {params}) -> Pending[{result}]: ...
";
/// One overload of `request`.
const REQUEST: &str = "    @overload
    def request(
        self, method: Literal[{method}], params: {params}, timeout: float | None = None
    ) -> {result}: ...
";
/// One overload of `request` of the client for asyncio.
const ASYNC_REQUEST: &str = "    @overload
    async def request(self, method: Literal[{method}], params: {params}) -> {result}: ...
";
/// What stands under the overloads of `start`.
const START_BODY: &str = r#"    def start(self, method: str, params: Any) -> Pending[Any]:
        """Sends a request and returns at once; the handle waits for the result, or cancels."""
        return self._start(method, params)
"#;

/// What stands under the overloads of `request`.
const REQUEST_BODY: &str = r#"    def request(self, method: str, params: Any, timeout: float | None = None) -> Any:
        """Sends a request and waits for its result.

        After `timeout` seconds the request is cancelled and TimeoutError is raised. Raises
        CompactdError if the server answers with an error, ServerGone if it ends first.
        """
        return self._request(method, params, timeout)

    def _start(self, method: str, params: Any) -> Pending[Any]:
        raise NotImplementedError

    def _request(self, method: str, params: Any, timeout: float | None) -> Any:
        raise NotImplementedError
"#;

/// What stands under the overloads of the client for asyncio.
const ASYNC_REQUEST_BODY: &str = r#"    async def request(self, method: str, params: Any) -> Any:
        """Sends a request and waits for its result. A task that is cancelled cancels the request.

        Raises CompactdError if the server answers with an error, ServerGone if it ends first.
        """
        return await self._request(method, params)

    async def _request(self, method: str, params: Any) -> Any:
        raise NotImplementedError
"#;

/// The whole module.
pub(super) fn module(document: &Document<'_>) -> String {
    let mut parts = vec![HEAD.to_owned()];
    parts.extend(document.types.iter().map(|(name, schema)| definition(name, schema)));
    parts.push(error_codes(document));
    parts.push(calls(document));
    parts.push(async_calls(document));
    parts.join("\n\n")
}

fn definition(name: &str, schema: &Value) -> String {
    match Shape::read(schema) {
        Shape::Object(object) if !object.open => class(name, description(schema), &object),
        // A TypedDict allows no unknown members, so an open object is a plain dictionary.
        shape => {
            let (comment, shown) = (comment(description(schema), ""), expression(&shape));
            // Names may stand further down, where Python has not come yet; without names it needs no quotes.
            let shown = if has_names(&shape) { quoted(&shown) } else { shown };
            format!("{comment}{name}: TypeAlias = {shown}\n")
        }
    }
}

fn has_names(shape: &Shape) -> bool {
    match shape {
        Shape::Named(_) => true,
        Shape::List(item) | Shape::Map(item) => has_names(item),
        Shape::OneOf(shapes) => shapes.iter().any(has_names),
        _ => false,
    }
}

fn class(name: &str, description: &str, object: &Object) -> String {
    if !object.members.iter().all(|member| is_identifier(&member.name)) {
        return functional(name, description, object);
    }
    // Type checkers tell the members of a union apart by their keys only if no subclass can add keys.
    let mut text = format!("@final\nclass {name}(TypedDict):\n{}", docstring(description, "    "));
    for member in &object.members {
        let shown = annotation(member.required, &member.shape);
        text.push_str(&format!("\n{}    {}: {shown}\n", comment(&member.description, "    "), member.name));
    }
    text
}

fn functional(name: &str, description: &str, object: &Object) -> String {
    let rows = object.members.iter().map(|member| {
        let shown = annotation(member.required, &member.shape);
        format!("{}        {}: {},\n", comment(&member.description, "        "), quoted(&member.name), quoted(&shown))
    });
    let rows: String = rows.collect();
    format!("{}{name} = TypedDict(\n    {},\n    {{\n{rows}    }},\n)\n", comment(description, ""), quoted(name))
}

fn annotation(required: bool, shape: &Shape) -> String {
    let shown = expression(shape);
    if required { shown } else { format!("NotRequired[{shown}]") }
}

fn expression(shape: &Shape) -> String {
    match shape {
        Shape::Named(name) => name.clone(),
        Shape::Any => "Any".to_owned(),
        Shape::Null => "None".to_owned(),
        Shape::Text => "str".to_owned(),
        Shape::Number => "float".to_owned(),
        Shape::Integer { .. } => "int".to_owned(),
        Shape::Boolean => "bool".to_owned(),
        Shape::Literal(text) => format!("Literal[{}]", quoted(text)),
        Shape::List(item) => format!("list[{}]", expression(item)),
        Shape::Map(item) => format!("dict[str, {}]", expression(item)),
        Shape::OneOf(shapes) => one_of(shapes),
        Shape::Object(_) => "dict[str, Any]".to_owned(),
    }
}

/// Literals go into one `Literal`, which is how Python says it.
fn one_of(shapes: &[Shape]) -> String {
    let texts: Vec<String> = shapes.iter().filter_map(literal).collect();
    let literals = (!texts.is_empty()).then(|| format!("Literal[{}]", texts.join(", ")));
    let others = shapes.iter().filter(|shape| literal(shape).is_none()).map(expression);
    literals.into_iter().chain(others).collect::<Vec<_>>().join(" | ")
}

fn literal(shape: &Shape) -> Option<String> {
    if let Shape::Literal(text) = shape { Some(quoted(text)) } else { None }
}

fn error_codes(document: &Document<'_>) -> String {
    let rows = document
        .errors
        .iter()
        .map(|error| format!("{}    {}: {},\n", comment(error.description, "    "), quoted(error.kind), error.code));
    let rows: String = rows.collect();
    format!("# Codes of the errors by their kind.\nERROR_CODES: Final[dict[str, int]] = {{\n{rows}}}\n")
}

fn calls(document: &Document<'_>) -> String {
    let (starts, requests) = (overloads(document, START), overloads(document, REQUEST));
    format!(
        "class Calls:\n    \"\"\"The calls, typed by method; the client says how they are sent.\"\"\"\n\n\
         {starts}\n{START_BODY}\n{requests}\n{REQUEST_BODY}"
    )
}

fn async_calls(document: &Document<'_>) -> String {
    let requests = overloads(document, ASYNC_REQUEST);
    format!(
        "class AsyncCalls:\n    \"\"\"The calls for asyncio, typed by method.\"\"\"\n\n\
         {requests}\n{ASYNC_REQUEST_BODY}"
    )
}

fn overloads(document: &Document<'_>, template: &str) -> String {
    let overloads = document.methods.iter().map(|method| {
        let types = (expression(&Shape::read(method.params)), expression(&Shape::read(method.result)));
        let named = template.replace("{method}", &quoted(method.name));
        named.replace("{params}", &types.0).replace("{result}", &types.1)
    });
    overloads.collect::<Vec<_>>().join("\n")
}

fn comment(text: &str, indent: &str) -> String {
    wrap(text, 94).iter().map(|line| format!("{indent}# {line}\n")).collect()
}

fn docstring(text: &str, indent: &str) -> String {
    let safe = text.replace('\\', "\\\\").replace("\"\"\"", "'''");
    let lines = wrap(&safe, 90);
    match &lines[..] {
        [] => format!("{indent}\"\"\"No members are described.\"\"\"\n"),
        [line] => format!("{indent}\"\"\"{line}\"\"\"\n"),
        [first, rest @ ..] => {
            let rest: String = rest.iter().map(|line| format!("{indent}{line}\n")).collect();
            format!("{indent}\"\"\"{first}\n{rest}{indent}\"\"\"\n")
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    plain && !name.starts_with(|first: char| first.is_ascii_digit()) && !KEYWORDS.contains(&name)
}

/// Names that Python does not take as members of a class.
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield", "None", "True", "False",
];
