//! A conversation as items of OpenAI's responses.

use compaction_core::conversation::Prefix;
use compaction_core::json::{Json, encode_string};

use super::super::conversation::{
    self, Part, TextResults, data_url, list, object_or_empty, system_text, with_text_results,
};

/// Families of models whose prompt has the older role.
const OLDER: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt"];

/// The items of responses.
struct Items;

impl TextResults for Items {
    fn user(&self, parts: &[Part<'_>]) -> Option<String> {
        by_user(parts.iter().filter_map(content).collect())
    }

    fn answer(&self, parts: &[Part<'_>], out: &mut Vec<String>) {
        by_model(parts, out);
    }

    fn result(&self, call_id: &str, text: &str) -> String {
        let (call_id, _) = ids(call_id);
        let (call_id, text) = (encode_string(call_id), encode_string(text));
        format!(r#"{{"type":"function_call_output","call_id":{call_id},"output":{text}}}"#)
    }
}

/// The prompt, the conversation, and the instruction behind them.
pub(super) fn input(prefix: &Prefix, model: &str, instruction: &str) -> String {
    let mut out = Vec::new();
    let system = system_text(prefix);
    if !system.is_empty() {
        let role = if OLDER.iter().any(|older| model.starts_with(older)) { "system" } else { "developer" };
        out.push(format!(r#"{{"role":"{role}","content":{}}}"#, encode_string(system)));
    }
    with_text_results(prefix, &Items, &mut out);
    out.extend(by_user(vec![input_text(instruction)]));
    list(&out)
}

/// The tools.
pub(super) fn tool_list(prefix: &Prefix) -> Option<String> {
    conversation::tool_list(prefix, |tool| {
        let parameters = object_or_empty(tool.parameters);
        format!(
            r#"{{"type":"function","name":{},"description":{},"parameters":{parameters},"strict":false}}"#,
            tool.name, tool.description
        )
    })
}

fn by_user(parts: Vec<String>) -> Option<String> {
    (!parts.is_empty()).then(|| format!(r#"{{"role":"user","content":{}}}"#, list(&parts)))
}

fn input_text(text: &str) -> String {
    format!(r#"{{"type":"input_text","text":{}}}"#, encode_string(text))
}

fn content(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Text(text) => Some(input_text(text)),
        Part::Image { mime_type, data } => {
            let url = data_url(mime_type, data);
            Some(format!(r#"{{"type":"input_image","detail":"auto","image_url":{url}}}"#))
        }
        _ => None,
    }
}

/// Items of an answer. Thinking goes back as the item that came, which the signature holds; a call whose
/// thinking is missing goes back without its own id, which would ask for it.
fn by_model(parts: &[Part<'_>], out: &mut Vec<String>) {
    let mut lacks_thinking = false;
    for part in parts {
        match part {
            Part::Thinking { signature, .. } => match signature.as_deref().and_then(item) {
                Some(item) => out.push(item),
                None => lacks_thinking = true,
            },
            Part::Text(text) => {
                let text = encode_string(text);
                out.push(format!(
                    r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text},"annotations":[]}}],"status":"completed"}}"#
                ));
            }
            Part::Call { id, name, arguments } => {
                let (call_id, item_id) = ids(id);
                let item_id = item_id.filter(|_| !lacks_thinking).map(encode_string);
                let item_id = item_id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
                out.push(format!(
                    r#"{{"type":"function_call",{item_id}"call_id":{},"name":{},"arguments":{}}}"#,
                    encode_string(call_id),
                    encode_string(name),
                    encode_string(arguments)
                ));
            }
            Part::Image { .. } => {}
        }
    }
}

/// The item that a signature holds, if it is one of reasoning.
fn item(signature: &str) -> Option<String> {
    let json = Json::parse(signature).ok()?;
    (json.get("type")?.as_str() == Some("reasoning")).then(|| json.to_compact())
}

/// The ids of a call and of its item, which sessions keep together.
fn ids(id: &str) -> (&str, Option<&str>) {
    id.split_once('|').map_or((id, None), |(call_id, item_id)| (call_id, Some(item_id)))
}
