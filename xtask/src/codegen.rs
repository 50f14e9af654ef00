//! What is generated from the OpenRPC document of the server: client types, reference, schemas.
//!
//! All functions are pure and give the same text for the same document. They read the document as
//! the server gives it: methods with `x-params` and `x-scope`, notifications in `x-notifications`,
//! errors in `x-errors`, types in `components.schemas` (JSON Schema draft-07).

mod document;
mod markdown;
mod python;
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

/// The reference for people: every method, notification, type and error.
pub fn markdown_reference(openrpc: &Value) -> String {
    markdown::reference(&Document::read(openrpc))
}

/// File names and texts of standalone JSON Schemas: `<method>.params.json`, `<method>.result.json`,
/// `<notification>.notification.json`.
pub fn json_schemas(openrpc: &Value) -> Vec<(String, String)> {
    schemas::files(&Document::read(openrpc))
}

#[cfg(test)]
mod tests;
