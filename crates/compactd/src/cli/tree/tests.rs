//! Drawings of trees.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

/// A node per line: id, parent (`-` for none), type or role, label (`-` for none).
fn tree(leaf: &str, nodes: &str) -> Value {
    let node = |line: &str| {
        let parts: Vec<&str> = line.split_whitespace().collect();
        let is_entry_type = matches!(parts[2], "compaction" | "branch_summary" | "label");
        let (entry_type, role) = if is_entry_type { (parts[2], None) } else { ("message", Some(parts[2])) };
        let label = parts.get(3).filter(|label| **label != "-");
        let parent = Some(parts[1]).filter(|parent| *parent != "-");
        json!({ "id": parts[0], "parentId": parent, "type": entry_type, "role": role, "label": label,
                "preview": format!("text of {}", parts[0]) })
    };
    let nodes: Vec<Value> = nodes.lines().map(str::trim).filter(|line| !line.is_empty()).map(node).collect();
    json!({ "leafId": leaf, "nodes": nodes })
}

fn drawn(tree: &Value, all: bool) -> String {
    drawing(&json!({ "path": "/home/ines/work.jsonl" }), tree, all, Terminal::plain(60)) + "\n"
}

fn check(leaf: &str, nodes: &str, expected: Expect) {
    expected.assert_eq(&drawn(&tree(leaf, nodes), false));
}

#[test]
fn a_chain_is_folded_between_its_turns() {
    check(
        "f",
        "a - user
         b a assistant
         c b toolResult
         d c assistant
         e d user
         f e assistant",
        expect![[r#"
            work.jsonl: 6 entries, 1 branch
            • a user       text of a
            ⋮ 3 entries
            • e user       text of e
            • f assistant  text of f ◀ leaf
            Entries without branches are folded; --all shows them.
        "#]],
    );
}

#[test]
fn the_branch_of_the_leaf_stays_at_the_left() {
    check(
        "h",
        "a - user
         b a assistant
         h b user
         c b user
         d c assistant
         e d assistant given-up
         f d branch_summary
         g f assistant",
        expect![[r#"
            work.jsonl: 8 entries, 3 branches
            • a user       text of a
            • b assistant  text of b
            ├─• c user       text of c
            │ • d assistant  text of d
            │ ├─• e assistant  text of e [given-up]
            │ • f summary    text of f
            │ • g assistant  text of g
            • h user       text of h ◀ leaf
        "#]],
    );
}

#[test]
fn compactions_and_labels_are_never_folded() {
    check(
        "e",
        "a - user
         b a assistant done
         c b compaction
         d c assistant
         e d label",
        expect![[r#"
            work.jsonl: 5 entries, 1 branch
            • a user       text of a
            • b assistant  text of b [done]
            • c compaction text of c
            ⋮ 1 entry
            • e label      text of e ◀ leaf
            Entries without branches are folded; --all shows them.
        "#]],
    );
}

#[test]
fn several_roots_missing_parents_and_cycles_are_drawn_all_the_same() {
    check(
        "b",
        "a - user
         b a assistant
         c gone user
         d e user
         e d assistant
         f f user",
        expect![[r#"
            work.jsonl: 6 entries, 4 branches
            ├─• c user       text of c
            ├─• d user       text of d
            │ • e assistant  text of e
            ├─• f user       text of f
            • a user       text of a
            • b assistant  text of b ◀ leaf
        "#]],
    );
}

#[test]
fn an_empty_session_has_a_title() {
    expect![[r#"
        work.jsonl: 0 entries, 0 branches
    "#]]
    .assert_eq(&drawn(&json!({ "leafId": null, "nodes": [] }), false));
}

#[test]
fn all_shows_every_entry() {
    let chain = tree("c", "a - user\n b a assistant\n c b toolResult");
    assert_eq!(drawn(&chain, true).lines().count(), 4);
}

#[test]
fn lines_fit_the_terminal_and_carry_no_control_characters() {
    let mut tree = tree("a", "a - user a-label-that-is-much-longer-than-any-terminal-would-ever-have-room-for");
    tree["nodes"][0]["preview"] = json!("\u{1b}[2J水位計 ".repeat(40));
    for line in drawn(&tree, true).lines() {
        assert!(width(line) <= 60, "{line}");
        assert!(!line.contains('\u{1b}'));
    }
}

#[test]
fn depth_has_no_limit() {
    // A comb: a chain of 40000 entries, and a branch at every hundredth.
    let mut nodes = String::from("n0 - user\n");
    for number in 1..40_000 {
        let role = if number % 100 == 0 { "user" } else { "assistant" };
        writeln!(nodes, "n{number} n{} {role}", number - 1).expect("a string takes everything");
        if number % 100 == 0 {
            writeln!(nodes, "b{number} n{} user", number - 1).expect("a string takes everything");
        }
    }
    let text = drawn(&tree("n39999", &nodes), false);
    assert!(
        text.starts_with("work.jsonl: 40399 entries, 400 branches")
            || text.starts_with("work.jsonl: 40,399 entries, 400 branches")
    );
    assert!(text.contains("◀ leaf\n"));
}

#[test]
fn nested_branches_keep_room_for_text() {
    // Every branch branches again: rails would fill the line.
    let mut nodes = String::from("n0 - user\n");
    for number in 1..200 {
        writeln!(nodes, "n{number} n{} user\nm{number} n{} user", number - 1, number - 1).expect("a string");
    }
    let text = drawn(&tree("m1", &nodes), false);
    assert!(text.contains("(+"));
    assert!(text.lines().all(|line| width(line) <= 60));
}
