//! Sessions made from a seed: random ones of every entry type and shape that the format has, and
//! realistic ones of any size.

mod content;
mod json;
mod message;
pub mod random;
mod realistic;
mod walk;
mod working;

use content::{Oddities, Writer};
use random::Random;
pub use realistic::{Plan, Realistic, realistic};
use walk::Walk;
pub use working::{CHARACTERS, Character, working};

/// A version of the session format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Linear, without ids.
    V1,
    /// With ids, and `hookMessage` for messages of extensions.
    V2,
    /// The current one.
    V3,
}

/// A generated session.
#[derive(Debug, Clone)]
pub struct Session {
    /// The file.
    pub text: String,
    /// The version of the file.
    pub version: Version,
    /// Whether the file holds values that JavaScript cannot hold or orders in another way.
    pub odd: bool,
}

/// The session of `seed`: a few dozen entries, mostly well-formed. Every seventh seed or so gives an
/// older version of the format, and some hold a broken line or a torn end.
pub fn session(seed: u64) -> Session {
    let mut random = Random::new(seed);
    let version = random.weighted(&[(12, Version::V3), (1, Version::V2), (1, Version::V1)]);
    let odd = match random.below(12) {
        0 => Oddities { numbers: true, ..Oddities::default() },
        1 => Oddities { keys: true, ..Oddities::default() },
        2 => Oddities { half_surrogates: true, ..Oddities::default() },
        _ => Oddities::default(),
    };
    Walk::new(Writer { random, odd }, version).run()
}

/// A well-formed message of `seed`, as a program would append it: user, assistant, toolResult,
/// bashExecution, custom or system. `time` is its timestamp in epoch milliseconds.
pub fn message(seed: u64, time: i64) -> String {
    let mut writer = Writer { random: Random::new(seed), odd: Oddities::default() };
    match writer.random.below(10) {
        0..3 => writer.user(time),
        3..6 => writer.assistant(time, &[("call_1".to_owned(), "edit")], message::Stop::Normal),
        6 | 7 => writer.tool_result(time, "call_1", "edit"),
        8 => writer.bash_execution(time),
        _ => writer.system(time),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use compaction_core::entry::{Entry, EntryBody, EntryKind};

    use super::*;

    fn entries(session: &Session) -> impl Iterator<Item = Entry> {
        session.text.lines().skip(1).filter_map(|line| Entry::parse(line).ok())
    }

    #[test]
    fn a_seed_gives_one_session() {
        assert_eq!(session(7).text, session(7).text);
        assert_ne!(session(7).text, session(8).text);
    }

    #[test]
    fn every_type_and_role_comes_up() {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for entry in (0..200).map(session).flat_map(|session| entries(&session).collect::<Vec<_>>()) {
            let role = entry.message().map_or("", |message| message.role()).to_owned();
            *seen.entry(format!("{} {role}", entry.kind_name())).or_default() += 1;
        }
        for name in [
            "message user",
            "message assistant",
            "message toolResult",
            "message bashExecution",
            "message custom",
            "message system",
            "message observer",
            "compaction ",
            "branch_summary ",
            "custom_message ",
            "custom ",
            "context_edit ",
            "label ",
            "model_change ",
            "thinking_level_change ",
            "session_info ",
            "usage ",
            "from_the_future ",
        ] {
            assert!(seen.get(name).is_some_and(|count| *count >= 10), "{name} is rare: {seen:?}");
        }
    }

    #[test]
    fn versions_and_compactions_of_every_kind_come_up() {
        let sessions: Vec<Session> = (0..200).map(session).collect();
        for version in [Version::V1, Version::V2, Version::V3] {
            assert!(sessions.iter().filter(|session| session.version == version).count() >= 5, "{version:?}");
        }
        let all = sessions.iter().flat_map(entries).filter(|entry| entry.kind() == EntryKind::Compaction);
        let (mut own, mut from_hook, mut system) = (0, 0, 0);
        for entry in all {
            if let EntryBody::Compaction(compaction) = entry.body() {
                own += usize::from(compaction.first_kept_entry_id.as_ref() == Some(entry.id()));
                from_hook += usize::from(compaction.from_hook);
                system += usize::from(compaction.system_message.is_some());
            }
        }
        assert!(own > 0 && from_hook > 0 && system > 0, "{own} {from_hook} {system}");
    }

    #[test]
    fn realistic_sessions_are_as_large_as_asked_and_hold_together() {
        let mut text = Vec::new();
        let made = realistic(&Plan::new(3_000_000, 5), &mut text).unwrap();
        assert_eq!(text.len() as u64, made.bytes);
        assert!((3_000_000..3_600_000).contains(&made.bytes), "{made:?}");
        let text = String::from_utf8(text).unwrap();
        let mut previous = None;
        for line in text.lines().skip(1) {
            let entry = Entry::parse(line).unwrap();
            assert_eq!(entry.header().parent_id, previous, "the branch is one line of entries");
            previous = Some(entry.id().clone());
        }
        assert_eq!(previous.map(|id| id.to_string()), Some(made.leaf_id));
        assert!(made.compactions > 0 && made.entries > 500, "{} {}", made.compactions, made.entries);
    }
}
