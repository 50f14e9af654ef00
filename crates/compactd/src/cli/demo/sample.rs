//! The session that the demo walks; `demo/README.md` says how it is made.

/// The file.
pub(super) const SESSION: &[u8] = include_bytes!("../../../demo/session.jsonl");

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use serde_json::Value;

    use super::*;

    fn lines() -> Vec<Value> {
        let text = std::str::from_utf8(SESSION).expect("the sample is UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }

    #[test]
    fn it_is_a_session_of_version_3_that_ends_with_a_line_end() {
        assert_eq!(SESSION.last(), Some(&b'\n'));
        let header = &lines()[0];
        assert_eq!((header["type"].as_str(), header["version"].as_u64()), (Some("session"), Some(3)));
    }

    #[test]
    fn every_entry_hangs_on_one_before_it() {
        let mut known = HashSet::new();
        for entry in &lines()[1..] {
            let parent = &entry["parentId"];
            assert!(parent.is_null() || known.contains(parent.as_str().expect("an id")), "{entry}");
            assert!(known.insert(entry["id"].as_str().expect("an id").to_owned()), "{entry}");
        }
        assert!((300..=400).contains(&known.len()), "{} entries", known.len());
    }

    #[test]
    fn every_result_has_its_call() {
        let mut calls = HashMap::new();
        for entry in &lines()[1..] {
            for block in entry["message"]["content"].as_array().into_iter().flatten() {
                if block["type"] == "toolCall" {
                    calls.insert(block["id"].clone().to_string(), block["name"].clone());
                }
            }
            let message = &entry["message"];
            if message["role"] == "toolResult" {
                assert_eq!(calls.remove(&message["toolCallId"].to_string()), Some(message["toolName"].clone()));
            }
        }
        assert_eq!(calls.len(), 0, "calls without results");
    }

    #[test]
    fn it_has_what_the_demo_and_a_reader_look_for() {
        let lines = lines();
        let has = |name: &str, value: &str| lines.iter().any(|line| line[name] == value);
        for entry_type in ["compaction", "branch_summary", "label", "model_change", "custom_message", "session_info"] {
            assert!(has("type", entry_type), "{entry_type}");
        }
        assert!(has("label", super::super::OTHER_BRANCH));
        let parents: Vec<&str> = lines.iter().filter_map(|line| line["parentId"].as_str()).collect();
        let unique: HashSet<&&str> = parents.iter().collect();
        assert!(parents.len() - unique.len() >= 2, "two forks");
    }

    #[test]
    fn it_reads_like_work_and_names_no_real_place() {
        let text = std::str::from_utf8(SESSION).expect("the sample is UTF-8").to_lowercase();
        for word in ["lorem", "ipsum", "placeholder", "foobar", "todo", "{{", "xxxx", "/tmp", "/root", "sk-ant"] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn times_go_forward_and_messages_carry_them() {
        let lines = lines();
        let times: Vec<&str> = lines.iter().filter_map(|line| line["timestamp"].as_str()).collect();
        assert!(times.is_sorted());
        let messages = lines.iter().filter(|line| line["type"] == "message");
        assert!(messages.clone().all(|line| line["message"]["timestamp"].is_u64()));
    }
}
