//! Summaries that Gemini CLI writes when it shortens a conversation: elements in `<state_snapshot>`, whose lines become
//! items of the sections.

use std::fmt::Write;

use super::Section;
use crate::phrases::{HARNESSES, listed};

const START: &str = "<state_snapshot>";
const END: &str = "</state_snapshot>";
const GOALS: &[&str] = listed!(HARNESSES, "snapshot: goal");
const CONSTRAINTS: &[&str] = listed!(HARNESSES, "snapshot: constraints");
const DONE: &[&str] = listed!(HARNESSES, "snapshot: done");
/// Elements with a plan, whose lines begin with a number and a state.
const PLANS: &[&str] = listed!(HARNESSES, "snapshot: plan");
const FINISHED: &[&str] = listed!(HARNESSES, "snapshot: finished");
const BEGUN: &[&str] = listed!(HARNESSES, "snapshot: begun");
const TO_DO: &[&str] = listed!(HARNESSES, "snapshot: to do");

/// Such a summary as Markdown with our headings. All other elements are context.
pub(super) fn as_markdown(text: &str) -> Option<String> {
    let inside = text.trim_start().strip_prefix(START)?;
    let (inside, behind) = inside.split_once(END).unwrap_or((inside, ""));
    let mut markdown = String::new();
    let mut element = "";
    for line in without_comments(inside).lines().map(str::trim).filter(|line| !line.is_empty()) {
        let tag = line.strip_prefix('<').and_then(|tag| tag.strip_suffix('>')).filter(|tag| is_name(tag));
        if let Some(tag) = tag {
            element = if tag.starts_with('/') { "" } else { tag };
            continue;
        }
        let (section, item) = item(element, line);
        let item = item.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        // Writing to a string cannot fail.
        _ = writeln!(markdown, "{}\n- {item}", section.heading());
    }
    markdown.push_str(behind);
    Some(markdown)
}

/// The section and the text of a line in an element.
fn item<'a>(element: &str, line: &'a str) -> (Section, &'a str) {
    let bare = line.trim_start_matches(['-', '*']);
    // Bold type has the sign of an item, too.
    let bare = if bare.starts_with(' ') { bare.trim_start() } else { line };
    if !PLANS.contains(&element) {
        let sections = [(GOALS, Section::Goal), (CONSTRAINTS, Section::Constraints), (DONE, Section::Done)];
        let section = sections.into_iter().find(|(elements, _)| elements.contains(&element));
        return (section.map_or(Section::CriticalContext, |(_, section)| section), bare);
    }
    let step = bare.trim_start_matches(|one: char| one.is_ascii_digit());
    let step = step.strip_prefix('.').map_or(bare, str::trim_start);
    let states = [(FINISHED, Section::Done), (BEGUN, Section::InProgress), (TO_DO, Section::NextSteps)];
    let found = states.into_iter().find_map(|(states, section)| {
        let rest = states.iter().find_map(|state| step.strip_prefix(state))?;
        Some((section, rest.trim_start_matches([':', ' '])))
    });
    found.unwrap_or((Section::CriticalContext, bare))
}

fn is_name(tag: &str) -> bool {
    let name = tag.strip_prefix('/').unwrap_or(tag);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// A text without the comments that explain the elements.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("<!--");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + part.split_once("-->").map_or("", |(_, behind)| behind))
}

#[cfg(test)]
mod tests {
    use crate::summary::{Section, SummaryDocument};

    #[test]
    fn the_elements_of_a_snapshot_are_sections() {
        let document = SummaryDocument::parse(
            "<state_snapshot>\n  <overall_goal>\n    Glaze the bowls.\n  </overall_goal>\n  <active_constraints>\n\
             <!-- Rules -->\n    - **Glaze:** No lead &amp; no tin.\n  </active_constraints>\n  <key_knowledge>\n\
             - The kiln reaches 1280 degrees.\n  </key_knowledge>\n  <recent_actions>\n    - Mixed the glaze.\n\
             </recent_actions>\n  <task_state>\n    1. [DONE] Wash the bowls.\n    2. [IN PROGRESS] Dip them.\n\
             3. [TODO] Fire them.\n  </task_state>\n</state_snapshot>",
        );
        let expected = [
            (Section::Goal, "Glaze the bowls."),
            (Section::Constraints, "**Glaze:** No lead & no tin."),
            (Section::Done, "Mixed the glaze.|Wash the bowls."),
            (Section::InProgress, "Dip them."),
            (Section::NextSteps, "Fire them."),
            (Section::CriticalContext, "The kiln reaches 1280 degrees."),
        ];
        for (section, items) in expected {
            assert_eq!(document.body[section].join("|"), items, "{section:?}");
        }
    }
}
