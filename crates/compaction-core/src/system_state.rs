//! System messages replayed: what prompt and tools stand after all of them.

use crate::json::{self, Json};
use crate::message::{Body, Message};

/// The system message that says the same as all system messages among `messages` together.
///
/// Contents are joined by a blank line, sections patched by name, tools added and removed
/// (compaction spec, Summaries, Commit). `timestamp`, in epoch milliseconds, is that of the
/// result. `None` if there is no system message.
pub fn replay<'a>(messages: impl IntoIterator<Item = &'a Message>, timestamp: i64) -> Option<Message> {
    let mut state = State::default();
    let mut found = false;
    for message in messages {
        if let Body::System(system) = message.body() {
            found = true;
            state.apply(system);
        }
    }
    found.then(|| state.into_message(timestamp))
}

#[derive(Default)]
struct State<'a> {
    content: Vec<String>,
    sections: Vec<(&'a str, &'a str)>,
    tools: Vec<(Option<&'a str>, &'a Json<'static>)>,
}

impl<'a> State<'a> {
    fn apply(&mut self, system: &'a crate::message::System) {
        let text = system.content.text("\n");
        if !text.is_empty() {
            self.content.push(text.into_owned());
        }
        for (name, section) in &system.sections {
            match section {
                None => self.sections.retain(|(known, _)| known != name),
                Some(section) => put(&mut self.sections, name.as_str(), section.as_str()),
            }
        }
        for name in &system.tools_removed {
            self.tools.retain(|(known, _)| *known != Some(name.as_str()));
        }
        if let Some(Json::Array(tools)) = &system.tools_added {
            for tool in tools {
                put(&mut self.tools, tool.get("name").and_then(Json::as_str), tool);
            }
        }
    }

    fn into_message(self, timestamp: i64) -> Message {
        let mut out = String::from("{\"role\":\"system\",\"content\":");
        json::write_string(&self.content.join("\n\n"), &mut out);
        if !self.sections.is_empty() {
            let members = self
                .sections
                .iter()
                .map(|(name, text)| format!("{}:{}", json::encode_string(name), json::encode_string(text)));
            out.push_str(&format!(",\"sections\":{{{}}}", members.collect::<Vec<_>>().join(",")));
        }
        if !self.tools.is_empty() {
            let tools: Vec<String> = self.tools.iter().map(|(_, tool)| tool.to_compact()).collect();
            out.push_str(&format!(",\"toolsAdded\":[{}]", tools.join(",")));
        }
        out.push_str(&format!(",\"timestamp\":{timestamp}}}"));
        Message::from_raw(json::raw_value(out).expect("every part was encoded as JSON above"))
    }
}

/// Sets the value of a key in its old place, or at the end.
fn put<K: PartialEq, V>(list: &mut Vec<(K, V)>, key: K, value: V) {
    match list.iter_mut().find(|(known, _)| *known == key) {
        Some((_, old)) => *old = value,
        None => list.push((key, value)),
    }
}
