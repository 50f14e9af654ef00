//! The table of tools (`table.txt`), read once.
//!
//! It is a text file and not code, so that people who know the tools of another agent can add a row. A
//! test reads every row.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{FileAccess, PlanStatus};

/// Characters between a server's name and a tool's, apart from underscores.
const SERVER_MARKS: [char; 3] = ['.', '/', ':'];

/// Longest version after the name of a tool, in bytes.
const LONGEST_VERSION: usize = 8;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("table.txt")));

/// What a tool does, according to its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Files(FileAccess),
    Move,
    Patch,
    Verb,
    Run,
    Plan,
    PlanItem,
    Ask,
    Finish,
    Search,
    Wrap,
    Other,
}

/// The calls for which the beginning of a result reports a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failing {
    Refused,
    Call,
    File,
}

/// The rows by kind. Names are in [`plain`] form.
#[derive(Debug, Default)]
pub(super) struct Table {
    tools: HashMap<String, Kind>,
    /// Bytes of the longest name of a tool with its version.
    longest: usize,
    arguments: HashMap<&'static str, Vec<String>>,
    verbs: HashMap<String, FileAccess>,
    states: HashMap<String, PlanStatus>,
    failures: Vec<(Failing, &'static str)>,
}

/// The table.
pub(super) fn table() -> &'static Table {
    &TABLE
}

impl Table {
    fn read(text: &'static str) -> Self {
        let mut table = Self::default();
        let mut section = "";
        let rows = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for row in rows {
            match row.strip_prefix('[').and_then(|row| row.strip_suffix(']')) {
                Some(name) => section = name,
                None => table.add(section, row),
            }
        }
        table.longest = table.tools.keys().map(String::len).max().unwrap_or_default() + LONGEST_VERSION;
        table
    }

    /// Adds a row. A malformed row is ignored here and found by the test.
    fn add(&mut self, section: &str, row: &'static str) {
        let Some((what, rest)) = row.split_once('|').map(|(what, rest)| (what.trim(), rest.trim())) else { return };
        let names = || rest.rsplit('|').next().unwrap_or_default().split(',').map(plain);
        match section {
            "tools" => self.tools.extend(kind(what).into_iter().flat_map(|kind| names().map(move |name| (name, kind)))),
            "arguments" => self.arguments.entry(what).or_default().extend(names()),
            "verbs" => self
                .verbs
                .extend(file_access(what).into_iter().flat_map(|access| names().map(move |name| (name, access)))),
            "status" => {
                self.states.extend(status(what).into_iter().flat_map(|status| names().map(move |name| (name, status))));
            }
            "failures" => self.failures.extend(failing(what).map(|failing| (failing, rest))),
            _ => {}
        }
    }

    /// What the tool of this name does. The name of a server in front is ignored.
    pub(super) fn tool(&self, name: &str) -> Option<Kind> {
        let known = |name: &str| {
            let bytes = name.bytes().filter(|byte| !is_joint(char::from(*byte)));
            if bytes.take(self.longest + 1).count() > self.longest {
                return None;
            }
            let name = plain(name);
            self.tools.get(&name).or_else(|| self.tools.get(without_version(&name)?)).copied()
        };
        // `mcp_server_tool` does not show where the server's name ends. The longest known suffix
        // counts.
        let behind_underscore = || {
            let name = name.strip_prefix("mcp_")?;
            name.match_indices('_').find_map(|(at, _)| known(&name[at + 1..]))
        };
        known(name)
            .or_else(|| known(name.rsplit(SERVER_MARKS).next()?))
            .or_else(|| known(name.rsplit("__").next()?))
            .or_else(behind_underscore)
    }

    /// The names of arguments for `what`, in order.
    pub(super) fn arguments(&self, what: &str) -> &[String] {
        self.arguments.get(what).map_or(&[], Vec::as_slice)
    }

    pub(super) fn verb(&self, word: &str) -> Option<FileAccess> {
        self.verbs.get(&plain(word)).copied()
    }

    pub(super) fn status(&self, word: &str) -> Option<PlanStatus> {
        self.states.get(&plain(word)).copied()
    }

    /// Beginnings of results that report a failure.
    pub(super) fn failures(&self, of: Failing) -> impl Iterator<Item = &'static str> {
        self.failures.iter().filter(move |(failing, _)| *failing == of).map(|(_, start)| *start)
    }
}

/// A name in lower case, without the characters that join its words.
pub(super) fn plain(name: &str) -> String {
    if name.is_ascii() {
        let bytes = name.bytes().filter(|byte| !is_joint(char::from(*byte)));
        return bytes.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    name.chars().filter(|character| !is_joint(*character)).flat_map(char::to_lowercase).collect()
}

/// Whether the plain form of `name` is `plain`.
pub(super) fn is_written_as(name: &str, plain: &str) -> bool {
    if name.is_ascii() {
        let bytes = name.bytes().filter(|byte| !is_joint(char::from(*byte)));
        return name.len() >= plain.len() && bytes.map(|byte| byte.to_ascii_lowercase()).eq(plain.bytes());
    }
    name.chars().filter(|character| !is_joint(*character)).flat_map(char::to_lowercase).eq(plain.chars())
}

fn is_joint(character: char) -> bool {
    matches!(character, '_' | '-' | ' ')
}

/// `read_file_v2` is `read_file`.
fn without_version(plain: &str) -> Option<&str> {
    let name = plain.trim_end_matches(|character: char| character.is_ascii_digit());
    name.strip_suffix('v').filter(|_| name.len() < plain.len())
}

/// Whether the name has a server before the tool.
pub(super) fn has_server(name: &str) -> bool {
    name.starts_with("mcp_") || name.contains("__") || name.contains(SERVER_MARKS)
}

fn kind(what: &str) -> Option<Kind> {
    Some(match what {
        "move" => Kind::Move,
        "patch" => Kind::Patch,
        "verb" => Kind::Verb,
        "run" => Kind::Run,
        "plan" => Kind::Plan,
        "plan-item" => Kind::PlanItem,
        "ask" => Kind::Ask,
        "finish" => Kind::Finish,
        "search" => Kind::Search,
        "wrap" => Kind::Wrap,
        "other" => Kind::Other,
        _ => Kind::Files(file_access(what)?),
    })
}

fn file_access(what: &str) -> Option<FileAccess> {
    Some(match what {
        "read" => FileAccess::Read,
        "write" => FileAccess::Write,
        "edit" => FileAccess::Edit,
        "delete" => FileAccess::Delete,
        _ => return None,
    })
}

fn status(what: &str) -> Option<PlanStatus> {
    Some(match what {
        "pending" => PlanStatus::Pending,
        "in_progress" => PlanStatus::InProgress,
        "completed" => PlanStatus::Completed,
        "cancelled" => PlanStatus::Cancelled,
        _ => return None,
    })
}

fn failing(what: &str) -> Option<Failing> {
    Some(match what {
        "refused" => Failing::Refused,
        "call" => Failing::Call,
        "file" => Failing::File,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_reads_and_no_name_means_two_things() {
        let text = include_str!("table.txt");
        let mut section = "";
        let mut tools: HashMap<String, Kind> = HashMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
                continue;
            }
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let is_read = match section {
                "tools" => kind(cells[0]).is_some() && cells.len() == 3,
                "arguments" => cells.len() == 2,
                "verbs" => file_access(cells[0]).is_some(),
                "status" => status(cells[0]).is_some(),
                "failures" => failing(cells[0]).is_some() && cells[1] == cells[1].to_lowercase(),
                _ => false,
            };
            assert!(is_read, "{line}");
            if let ("tools", Some(kind)) = (section, kind(cells[0])) {
                for name in cells[2].split(',') {
                    assert_eq!(tools.insert(plain(name), kind), None, "{name} occurs twice");
                }
            }
        }
        assert!(tools.len() > 100 && table().failures(Failing::Call).count() > 3);
    }

    #[test]
    fn a_server_before_the_name_is_left_out() {
        for (name, kind) in [
            ("read_file", Some(Kind::Files(FileAccess::Read))),
            ("ReadFile", Some(Kind::Files(FileAccess::Read))),
            ("mcp__filesystem__read_file", Some(Kind::Files(FileAccess::Read))),
            ("mcp_filesystem_read_file", Some(Kind::Files(FileAccess::Read))),
            ("developer__shell", Some(Kind::Run)),
            ("edit_file_v2", Some(Kind::Files(FileAccess::Edit))),
            ("v2", None),
            ("functions.exec_command", Some(Kind::Run)),
            ("mcp_brightdata_search_engine", None),
            ("mcp__linear-server__create_issue", None),
            ("memory__add_observations", None),
            ("please_read", None),
            ("", None),
        ] {
            assert_eq!(table().tool(name), kind, "{name}");
        }
    }
}
