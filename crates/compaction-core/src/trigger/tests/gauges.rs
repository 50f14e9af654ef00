//! A gauge agrees with the projection after any appended entry.

use super::*;
use crate::tokens::{context_tokens, known_context_tokens};

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Message(String),
    Entry(&'static str, String),
    /// Continues from the entry this many before the leaf.
    Branch(usize),
}

/// Tokens around the thresholds of the window of 1000.
fn usage() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        (0u64..1400).prop_map(|input| format!("\"input\":{input},\"output\":0")),
        (700u64..800).prop_map(|total| format!("\"totalTokens\":{total}")),
    ]
}

fn assistant() -> impl Strategy<Value = Step> {
    let stop = prop::sample::select(vec!["stop", "toolUse", "length", "error", "aborted"]);
    let more = prop_oneof![4 => Just(String::new()), 1 => Just(format!(",\"errorMessage\":\"{OVERFLOW_TEXT}\""))];
    let model = prop::sample::select(vec!["m", "other"]);
    (stop, usage(), more, model).prop_map(|(stop, usage, more, model)| {
        Step::Message(answer(stop, &usage, &more, 50).replace(r#""model":"m""#, &format!(r#""model":"{model}""#)))
    })
}

fn other_message() -> impl Strategy<Value = Step> {
    let role = prop::sample::select(vec![
        r#""role":"user""#,
        r#""role":"toolResult","toolCallId":"a","toolName":"t""#,
        r#""role":"system""#,
    ]);
    (role, 0usize..800).prop_map(|(role, length)| {
        Step::Message(format!("{{{role},\"content\":\"{}\",\"timestamp\":1}}", "x".repeat(length)))
    })
}

fn other_entry() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0usize..200).prop_map(|length| {
            let content = "x".repeat(length);
            Step::Entry("custom_message", format!("\"customType\":\"c\",\"content\":\"{content}\",\"display\":true"))
        }),
        Just(Step::Entry("custom", "\"customType\":\"c\"".to_owned())),
        Just(Step::Entry("label", "\"targetId\":\"0\",\"label\":\"l\"".to_owned())),
        Just(Step::Entry("branch_summary", "\"fromId\":\"0\",\"summary\":\"ssssssss\"".to_owned())),
    ]
}

/// Entries that change earlier or later ones.
fn upheaval() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0usize..30).prop_map(|kept| {
            Step::Entry(
                "compaction",
                format!("\"summary\":\"ssss\",\"firstKeptEntryId\":\"{kept}\",\"tokensBefore\":9"),
            )
        }),
        (0usize..60).prop_map(|target| {
            Step::Entry("context_edit", format!("\"targetId\":\"{target}\",\"replacement\":null"))
        }),
        (0usize..4).prop_map(|entries| {
            let data = format!("{{\"fromId\":\"0\",\"undoneEntryId\":\"0\",\"entries\":{entries}}}");
            Step::Entry("custom", format!("\"customType\":\"compactd.undo\",\"data\":{data}"))
        }),
        (1usize..6).prop_map(Step::Branch),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![6 => assistant(), 8 => other_message(), 3 => other_entry(), 2 => upheaval()];
    prop::collection::vec(step, 1..40)
}

impl Session {
    fn step(self, step: &Step) -> Self {
        match step {
            Step::Message(message) => self.message(message),
            Step::Entry(kind, members) => self.entry(kind, members),
            // The path to an earlier entry. Ids are the numbers of positions.
            Step::Branch(back) => Self(self.0[..self.0.len().saturating_sub(*back)].to_vec()),
        }
    }
}

/// The projection and the gauge must agree on the same context.
fn compare(gauge: &Gauge, projection: &Projection, message: Option<&Message>) -> Result<(), TestCaseError> {
    prop_assert_eq!(gauge.known_tokens(), known_context_tokens(projection));
    let model = TriggerModel { context_window: 1000, ..MODEL };
    let message = message.filter(|message| message.as_assistant().is_some());
    for enabled in [true, false] {
        let settings = CompactionSettings { enabled, ..CompactionSettings::default() };
        let decision = check_compaction(&TriggerInput { model, settings, ..input(projection, message) });
        if !gauge.may_be_due(&model, &settings) {
            prop_assert_eq!((decision.reason, decision.advice), (None, None));
        }
        // A context over the threshold is never missed, and one below it is not checked without need.
        let is_over = enabled && context_tokens(projection).tokens > decision.threshold;
        prop_assert!(!is_over || gauge.may_be_due(&model, &settings));
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_gauge_says_what_the_projection_says(steps in steps()) {
        let mut session = Session::default();
        let mut gauge: Option<Gauge> = None;
        let mut followed = 0;
        for step in &steps {
            session = session.step(step);
            let Some(last) = session.0.last().filter(|_| !matches!(step, Step::Branch(_))) else {
                continue;
            };
            let projection = session.projection();
            gauge = gauge.and_then(|gauge| gauge.followed_by(last));
            if let Some(gauge) = &gauge {
                followed += 1;
                prop_assert_eq!(gauge.leaf_id(), last.id());
                compare(gauge, &projection, last.message().map(Arc::as_ref))?;
            }
            gauge = gauge.or_else(|| Gauge::of(&projection));
            if let Some(gauge) = &gauge {
                compare(gauge, &projection, None)?;
            }
        }
        let is_plain = |step: &Step| match step {
            Step::Message(message) => !message.contains(r#""role":"system""#),
            Step::Entry(kind, members) => *kind != "compaction" && *kind != "context_edit" && !members.contains("undo"),
            Step::Branch(_) => false,
        };
        // Plain entries alone never need a new projection.
        prop_assert!(!steps.iter().all(is_plain) || followed + 1 == steps.len());
    }
}

#[test]
fn a_gauge_follows_its_own_leaf_alone() {
    let session = Session::default().user(10).message(&answer("stop", "\"totalTokens\":500", "", 1));
    let gauge = Gauge::of(&session.projection()).expect("the context is not empty");
    assert_eq!(gauge.known_tokens(), Some(500));
    let next = session.user(7);
    let grown = gauge.clone().followed_by(&next.0[2]).expect("it follows");
    assert_eq!((grown.known_tokens(), grown.leaf_id().as_str()), (Some(507), "2"));
    assert!(grown.followed_by(&next.0[2]).is_none(), "it is there already");
    assert!(gauge.followed_by(&next.0[1]).is_none(), "it is an earlier entry");
    assert!(Gauge::of(&Session::default().projection()).is_none());
}
