//! What is generated from the OpenRPC document of the server: client types, reference, schemas.
//!
//! All functions are pure and give the same text for the same document. They read the document as
//! the server gives it: methods with `x-params` and `x-scope`, notifications in `x-notifications`,
//! errors in `x-errors`, types in `components.schemas` (JSON Schema draft-07).

mod document;
mod examples;
mod markdown;
mod python;
mod rust;
mod schemas;
mod shape;
mod text;
mod typescript;

use serde_json::Value;

use document::Document;

/// The module `protocol.ts` of the TypeScript client.
pub fn typescript(openrpc: &Value) -> String {
    typescript::module(&Document::read(openrpc))
}

/// The module `protocol.py` of the Python client.
pub fn python(openrpc: &Value) -> String {
    python::module(&Document::read(openrpc))
}

/// The module `protocol.rs` of the Rust client.
pub fn rust(openrpc: &Value) -> String {
    rust::module(&Document::read(openrpc))
}

/// The reference for people: every method, notification, type and error.
pub fn markdown_reference(openrpc: &Value) -> String {
    markdown::reference(&Document::read(openrpc))
}

/// The document with the recorded exchanges, as `examples` of methods and notifications and `example` of errors.
pub fn with_examples(openrpc: &Value, examples: &Value) -> Value {
    examples::with_examples(openrpc, examples)
}

/// The document of the requests that the server makes, whose methods the client answers.
pub fn client_openrpc(openrpc: &Value) -> Value {
    examples::client_openrpc(openrpc)
}

/// File names and texts of standalone JSON Schemas: `<method>.params.json` and `<method>.result.json`, also for the
/// requests of the server, `<notification>.notification.json`, and `error.json`.
pub fn json_schemas(openrpc: &Value) -> Vec<(String, String)> {
    schemas::files(&Document::read(openrpc))
}

/// One JSON Schema that holds all types, for generators of code.
pub fn json_types(openrpc: &Value) -> String {
    schemas::types(&Document::read(openrpc))
}

#[cfg(test)]
mod tests;
