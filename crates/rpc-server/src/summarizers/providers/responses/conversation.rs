//! A conversation as items of OpenAI's responses.

use compaction_core::conversation::Prefix;
use compaction_core::json::{Json, encode_string};

use super::super::conversation::{
    IMAGES_OF_RESULTS, ONLY_IMAGES, Part, Said, data_url, has_image, joined, list, object_or_empty, said, system_text,
    tools,
};

/// Families of models whose prompt has the older role.
const OLDER: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt"];

/// The prompt, the conversation, and the instruction behind them.
pub(super) fn input(prefix: &Prefix, model: &str, instruction: &str) -> String {
    let mut out = Vec::new();
    let system = system_text(prefix);
    if !system.is_empty() {
        let role = if OLDER.iter().any(|older| model.starts_with(older)) { "system" } else { "developer" };
        out.push(format!(r#"{{"role":"{role}","content":{}}}"#, encode_string(system)));
    }
    let mut images = Vec::new();
    for said in said(prefix) {
        if !matches!(said, Said::Result { .. }) {
            out.extend(images_of_results(&mut images));
        }
        match said {
            Said::User(parts) => out.extend(by_user(parts.iter().filter_map(content).collect())),
            Said::Answer(parts) => by_model(&parts, &mut out),
            Said::Result { call_id, parts, .. } => {
                let text = joined(&parts, "\n");
                let text = if text.is_empty() && has_image(&parts) { ONLY_IMAGES } else { &text };
                out.push(format!(
                    r#"{{"type":"function_call_output","call_id":{},"output":{}}}"#,
                    encode_string(ids(&call_id).0),
                    encode_string(text)
                ));
                images.extend(parts.iter().filter(|part| matches!(part, Part::Image { .. })).filter_map(content));
            }
        }
    }
    out.extend(images_of_results(&mut images));
    out.extend(by_user(vec![input_text(instruction)]));
    list(&out)
}

/// The tools.
pub(super) fn tool_list(prefix: &Prefix) -> Option<String> {
    let tools: Vec<String> = tools(prefix)
        .map(|tool| {
            let parameters = object_or_empty(tool.parameters);
            format!(
                r#"{{"type":"function","name":{},"description":{},"parameters":{parameters},"strict":false}}"#,
                tool.name, tool.description
            )
        })
        .collect();
    (!tools.is_empty()).then(|| list(&tools))
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

fn images_of_results(images: &mut Vec<String>) -> Option<String> {
    if images.is_empty() {
        return None;
    }
    by_user([input_text(IMAGES_OF_RESULTS)].into_iter().chain(images.drain(..)).collect())
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
