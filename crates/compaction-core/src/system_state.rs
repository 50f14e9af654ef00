//! Replays system messages: the prompt and tools that result from all of them.

use std::collections::HashMap;
use std::hash::Hash;

use crate::json::{self, Json};
use crate::message::Message;

/// One system message that is equivalent to all system messages in `messages`.
///
/// Contents are joined by a blank line, sections patched by name, tools added and removed
/// (docs/summaries.md, "Commit"). `timestamp`, in epoch milliseconds, is that of the
/// result. `None` if there is no system message.
pub fn replay<'a>(messages: impl IntoIterator<Item = &'a Message>, timestamp: i64) -> Option<Message> {
    let mut state = State::default();
    let mut found = false;
    for message in messages {
        if let Some(system) = message.as_system() {
            found = true;
            state.apply(system);
        }
    }
    found.then(|| state.into_message(timestamp))
}

#[derive(Default)]
struct State<'a> {
    content: Vec<String>,
    sections: Ordered<&'a str, &'a str>,
    tools: Ordered<Option<&'a str>, &'a Json<'static>>,
}

impl<'a> State<'a> {
    fn apply(&mut self, system: &'a crate::message::System) {
        let text = system.content.text("\n");
        if !text.is_empty() {
            self.content.push(text.into_owned());
        }
        for (name, section) in &system.sections {
            match section {
                None => self.sections.remove(&name.as_str()),
                Some(section) => self.sections.put(name, section),
            }
        }
        for name in &system.tools_removed {
            self.tools.remove(&Some(name.as_str()));
        }
        if let Some(Json::Array(tools)) = &system.tools_added {
            for tool in tools {
                self.tools.put(tool.get("name").and_then(Json::as_str), tool);
            }
        }
    }

    fn into_message(self, timestamp: i64) -> Message {
        let mut out = String::from("{\"role\":\"system\",\"content\":");
        json::write_string(&self.content.join("\n\n"), &mut out);
        let member =
            |(name, text): &(&str, &str)| format!("{}:{}", json::encode_string(name), json::encode_string(text));
        let sections: Vec<String> = self.sections.iter().map(member).collect();
        if !sections.is_empty() {
            out.push_str(&format!(",\"sections\":{{{}}}", sections.join(",")));
        }
        let tools: Vec<String> = self.tools.iter().map(|(_, tool)| tool.to_compact()).collect();
        if !tools.is_empty() {
            out.push_str(&format!(",\"toolsAdded\":[{}]", tools.join(",")));
        }
        out.push_str(&format!(",\"timestamp\":{timestamp}}}"));
        Message::from_raw(json::raw_value(out).expect("every part was encoded as JSON above"))
    }
}

/// A map that keeps keys in the order of their first insertion.
struct Ordered<K, V> {
    list: Vec<Option<(K, V)>>,
    positions: HashMap<K, usize>,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { list: Vec::new(), positions: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash, V> Ordered<K, V> {
    /// Sets the value of a key, at its old position or at the end.
    fn put(&mut self, key: K, value: V) {
        let position = *self.positions.entry(key).or_insert(self.list.len());
        match self.list.get_mut(position) {
            Some(known) => *known = Some((key, value)),
            None => self.list.push(Some((key, value))),
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some(position) = self.positions.remove(key) {
            self.list[position] = None;
        }
    }

    fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.list.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn replayed(messages: &[String]) -> String {
        let messages: Vec<Message> = messages.iter().map(|json| Message::from_json(json).unwrap()).collect();
        replay(&messages, 7).unwrap().raw().get().to_owned()
    }

    #[test]
    fn keys_keep_their_place_until_they_are_removed() {
        let message = |more: &str| format!(r#"{{"role":"system","content":"",{more}}}"#);
        let messages = [
            message(r#""sections":{"a":"1","b":"2","c":"3"},"toolsAdded":[{"name":"x"},{"name":"y"},{}]"#),
            message(r#""sections":{"b":"4","a":null},"toolsRemoved":["x"]"#),
            message(r#""sections":{"a":"5"},"toolsAdded":[{"name":"y","v":1},{"v":2},{"name":"x"}]"#),
        ];
        let expected = concat!(
            r#"{"role":"system","content":"","sections":{"b":"4","c":"3","a":"5"},"#,
            r#""toolsAdded":[{"name":"y","v":1},{"v":2},{"name":"x"}],"timestamp":7}"#
        );
        assert_eq!(replayed(&messages), expected);
    }

    /// Quadratic time would be minutes for this many.
    #[test]
    fn many_sections_and_tools_take_time_with_their_number() {
        let sections: Vec<String> = (0..60_000).map(|n| format!("\"{n}\":\"x\"")).collect();
        let tools: Vec<String> = (0..60_000).map(|n| format!("{{\"name\":\"{n}\"}}")).collect();
        let removed: Vec<String> = (0..60_000).map(|n| format!("\"{n}\"")).collect();
        let added = format!(
            r#"{{"role":"system","content":"","sections":{{{}}},"toolsAdded":[{}]}}"#,
            sections.join(","),
            tools.join(",")
        );
        let gone = format!(r#"{{"role":"system","content":"","toolsRemoved":[{}]}}"#, removed.join(","));
        let start = Instant::now();
        let text = replayed(&[added.clone(), gone, added]);
        assert!(text.contains("\"59999\":\"x\""));
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}
