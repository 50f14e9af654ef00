//! The rest of a list of requirements of which only some are told, because only they have words of a demand.

use std::collections::{HashMap, HashSet};

use super::Builder;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::constraints::forbids;
use crate::ledger::statements::without_marker;
use crate::ledger::text::{clip, clip_clauses, one_line};
use crate::ledger::{NoteKind, Request};
use crate::summary::Section;

/// Fewest points of a list of which the rest is told.
const FEWEST_POINTS: usize = 5;
/// Most points that are read.
const MOST_POINTS: usize = 64;
/// Most words of the label of a point, and of a point without one.
const LABEL_WORDS: usize = 6;
const MOST_WORDS: usize = 8;
/// Longest point, and longest rest, in UTF-16 units.
const LONGEST_POINT: usize = 60;
const LONGEST: usize = 320;
/// Most requests whose lists are read.
const MOST_REQUESTS: usize = 4;

impl Builder<'_> {
    /// The positions of the requests with a list of which several points are constraints.
    pub(super) fn long_lists(&self) -> HashSet<u64> {
        let mut told: HashMap<u64, Vec<&str>> = HashMap::new();
        for note in self.ledger.notes_of(NoteKind::Constraint) {
            told.entry(note.position).or_default().push(&note.text);
        }
        let is_long = |request: &&Request| {
            let told = told.get(&request.position).filter(|told| told.len() > 1);
            told.is_some_and(|told| points_of(&request.text, told).is_some())
        };
        self.ledger.requests.iter().filter(is_long).map(|request| request.position).collect()
    }

    /// Adds what else the lists have from which the constraints in `told` come. The keys are the positions of the requests.
    pub(super) fn rest_of_lists(&mut self, told: &HashMap<u64, Vec<&str>>) {
        let with_list = |position: &u64| told.get(position).is_some_and(|told| told.len() > 1);
        let newest = self.ledger.requests.iter().rev().filter(|request| with_list(&request.position));
        let mut seen: Vec<String> = Vec::new();
        let mut rests = Vec::new();
        for request in newest.take(MOST_REQUESTS) {
            let Some(rest) = told.get(&request.position).and_then(|told| rest_of_list(&request.text, told)) else {
                continue;
            };
            if !seen.contains(&rest) {
                seen.push(rest.clone());
                // It comes before the single points of its list.
                rests.push((rest, Origin::of(request.position + 1, &request.sources)));
            }
        }
        for (rest, origin) in rests {
            self.pool.add(Section::Constraints, &rest, origin, Rank::Normal);
        }
    }
}

/// The points of the list with the constraints in `told` that are not among them, in short.
fn rest_of_list(request: &str, told: &[&str]) -> Option<String> {
    let points = points_of(request, told)?;
    let mut rest: Vec<&String> = points.iter().filter(|point| !is_told(point, told)).collect();
    // What is forbidden matters most.
    rest.sort_by_key(|point| !forbids(point));
    let names: Vec<String> = rest.iter().map(|point| short(point)).collect();
    let count = names.len();
    (count > 0).then(|| clip_clauses(&format!("The same list has {count} more: {}", names.join("; ")), LONGEST))
}

/// The points of the list of a request with several of the constraints in `told`.
fn points_of(request: &str, told: &[&str]) -> Option<Vec<String>> {
    let has_several = |points: &Vec<String>| points.iter().filter(|point| is_told(point, told)).count() > 1;
    lists(request).into_iter().find(has_several).filter(|points| points.len() >= FEWEST_POINTS)
}

fn is_told(point: &str, told: &[&str]) -> bool {
    told.iter().any(|told| point.contains(told) || told.contains(point))
}

/// The label of a point, or its first words.
fn short(point: &str) -> String {
    let label = point.split_once([':', '\u{ff1a}']).map(|(label, _)| label);
    let label = label.filter(|label| label.split_whitespace().count() <= LABEL_WORDS);
    let words = || point.split_whitespace().take(MOST_WORDS).collect::<Vec<_>>().join(" ");
    clip(&label.map_or_else(words, str::to_owned), LONGEST_POINT)
}

/// The lists of a request: points with marks or numbers, or indented ones with labels. Empty lines may be between them.
fn lists(request: &str) -> Vec<Vec<String>> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    for line in request.lines().filter(|line| !line.trim().is_empty()) {
        let own = without_marker(line);
        let is_marked = own.len() < line.trim().len() && !line.trim_start().starts_with('#');
        let is_labelled = || {
            let label = own.split_once([':', '\u{ff1a}']).map(|(label, _)| label.split_whitespace().count());
            line.starts_with([' ', '\t']) && label.is_some_and(|words| words <= LABEL_WORDS)
        };
        match is_marked || is_labelled() {
            true => {
                if let Some(list) = lists.last_mut().filter(|list| list.len() < MOST_POINTS) {
                    list.push(one_line(own));
                }
            }
            false => lists.push(Vec::new()),
        }
    }
    lists.retain(|list| !list.is_empty());
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_list_is_told_in_short() {
        let request = "Check the store:\n\n    Speed: Measure each read.\n\n    Locks: Never wait for one.\n\n    \
                       Size: It must stay below 4 MB.\n\n    No Guessing: Say what is missing.\n\n    Names: Print all.\n\nThen report.";
        let told = ["Locks: Never wait for one.", "Size: It must stay below 4 MB."];
        let expected = "The same list has 3 more: No Guessing; Speed; Names";
        assert_eq!(rest_of_list(request, &told).as_deref(), Some(expected));
        assert_eq!(rest_of_list(request, &told[..1]), None);
        assert_eq!(rest_of_list("- Never wait\n- Never guess\n- run it", &["Never wait", "Never guess"]), None);
    }
}
