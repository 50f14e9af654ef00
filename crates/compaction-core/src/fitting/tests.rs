use proptest::prelude::*;

use super::weight;
use super::*;
use crate::conversation::{Thinking, serialize_conversation};
use crate::json::encode_string;
use crate::summary::SummaryKind;
use crate::tokens::estimate_text;

const LIMITS: OutputLimits = OutputLimits { reserve_tokens: 16_384, model_max_tokens: None };
const KINDS: [RequestKind; 3] = [RequestKind::History, RequestKind::TurnPrefix, RequestKind::Branch];

fn message(json: &str) -> Arc<Message> {
    Arc::new(Message::from_json(json).expect("a message of a test can be read"))
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user_text(text, None))
}

fn assistant(blocks: &str) -> Arc<Message> {
    message(&format!("{{\"role\":\"assistant\",\"content\":[{blocks}]}}"))
}

fn result(text: &str) -> Arc<Message> {
    let text = encode_string(text);
    message(&format!("{{\"role\":\"toolResult\",\"content\":[{{\"type\":\"text\",\"text\":{text}}}]}}"))
}

fn call(argument: &str) -> Arc<Message> {
    let argument = encode_string(argument);
    assistant(&format!("{{\"type\":\"toolCall\",\"name\":\"write\",\"arguments\":{{\"content\":{argument}}}}}"))
}

fn thinking(text: &str) -> Arc<Message> {
    assistant(&format!("{{\"type\":\"thinking\",\"thinking\":{}}}", encode_string(text)))
}

fn input<'a>(messages: &'a [Arc<Message>], texts: &'a PromptTexts, context_window: Option<u64>) -> PlanInput<'a> {
    PlanInput {
        kind: RequestKind::History,
        messages,
        previous_summary: None,
        turn: &[],
        custom_instructions: None,
        replace_instructions: false,
        texts,
        limits: LIMITS,
        thinking: Thinking::Included,
        context_window,
        input_limit: None,
        redact: None,
    }
}

fn plan(messages: &[Arc<Message>], window: u64) -> RequestPlan {
    let texts = PromptTexts::default();
    RequestPlan::of(&input(messages, &texts, Some(window))).expect("the window is large enough")
}

fn prompts(plan: &RequestPlan) -> Vec<String> {
    let requests = (0..plan.requests()).filter_map(|index| plan.request(index, Some("## Goal\nso far")));
    requests.map(|request| request.prompt).collect()
}

#[test]
fn nothing_changes_without_a_window() {
    let messages = [user("do it"), thinking("hm"), call("x"), result(&"r".repeat(9000)), user("</conversation> more")];
    let text = serialize_conversation(messages.iter().map(Arc::as_ref), Thinking::Included);
    let texts = PromptTexts::default();
    let (previous_summary, custom_instructions) = (Some("## Goal\nold"), Some("tests"));
    for kind in KINDS {
        let previous = previous_summary.filter(|_| kind == RequestKind::History);
        let wording = texts.wording(kind, custom_instructions, true);
        let expected = wording.request(&text, previous, LIMITS.max_tokens(kind));
        for context_window in [None, Some(200_000)] {
            let input =
                PlanInput { kind, previous_summary, custom_instructions, ..input(&messages, &texts, context_window) };
            let plan = RequestPlan::of(&PlanInput { replace_instructions: true, ..input }).expect("it fits");
            assert_eq!(plan.request(0, None), Some(expected.clone()));
            assert_eq!((plan.requests(), *plan.fitting()), (1, Fitting::default()));
            assert_eq!(plan.request(1, Some("")), None);
            assert_eq!(plan.estimated_tokens(), expected.estimated_tokens);
        }
    }
}

/// The beginning of the turn follows the history, the request first and the newest state last.
#[test]
fn a_history_is_told_of_the_turn_after_it() {
    let (messages, texts) = ([user("done with")], PromptTexts::default());
    let turn = [user("Add tests"), call(&"x ".repeat(20_000)), result("3 failed")];
    for window in [None, Some(8_000), Some(200_000)] {
        let input = PlanInput { turn: &turn, ..input(&messages, &texts, window) };
        let prompt = prompts(&RequestPlan::of(&input).expect("it fits")).join("");
        let (_, shown) = prompt.split_once("<current-turn>\n").expect("it has the turn");
        let (shown, _) = shown.split_once("\n</current-turn>").expect("the block ends");
        assert!(shown.starts_with("[User]: Add tests") && shown.ends_with("3 failed"), "{shown}");
        assert!(shown.len() < 20_000 && prompt.contains("its request is the newest order"));
        let prefix = PlanInput { kind: RequestKind::TurnPrefix, ..input };
        assert!(!prompts(&RequestPlan::of(&prefix).expect("it fits")).join("").contains("current-turn"));
    }
    let small = PlanInput { turn: &turn, ..input(&messages, &texts, Some(2000)) };
    assert!(!prompts(&RequestPlan::of(&small).expect("it fits")).join("").contains("current-turn"));
}

#[test]
fn thinking_is_included_on_request() {
    let messages = [user("begin"), thinking("hm"), user("end")];
    let texts = PromptTexts::default();
    let shown = |thinking, window| {
        let plan = RequestPlan::of(&PlanInput { thinking, ..input(&messages, &texts, window) }).expect("it fits");
        (prompts(&plan).join("").contains("[Assistant thinking]: hm"), *plan.fitting())
    };
    for window in [None, Some(200_000)] {
        assert_eq!(shown(Thinking::Included, window), (true, Fitting::default()));
        // Nothing was dropped to make it fit.
        assert_eq!(shown(Thinking::Excluded, window), (false, Fitting::default()));
    }
}

#[test]
fn shrinks_step_by_step() {
    let check = |messages: &[Arc<Message>], dropped_thinking, shrunk_to_units, requests| {
        let plan = plan(messages, 20_000);
        let expected = Fitting {
            dropped_thinking,
            shrunk_to_units,
            lowered_max_tokens: Some(if requests > 1 { 2500 } else { 5000 }),
            ..Fitting::default()
        };
        assert_eq!((*plan.fitting(), plan.requests()), (expected, requests));
        prompts(&plan).join("")
    };
    let words = |count: usize| "ab ".repeat(count);
    // docs/field-reports.md, "Requests and summaries".
    let shown = check(&[user("begin"), thinking(&words(40_000)), user("end")], true, None, 1);
    assert!(shown.contains("begin") && !shown.contains("thinking") && shown.contains("end"));
    let shown = check(&[user("begin"), thinking("hm"), user("end")], false, None, 1);
    assert!(shown.contains("hm"));
    // Arguments are complete if there is room.
    let many = |count, text: &str| -> Vec<_> { (0..count).flat_map(|_| [call(text), result("ok")]).collect() };
    assert!(check(&many(1, &words(1000)), false, None, 1).contains(&words(1000)));
    let shown = check(&many(9, &words(4000)), false, Some(2000), 1);
    assert!(shown.contains(&words(600)) && !shown.contains(&words(700)) && shown.contains("more characters]"));
    check(&many(40, &words(4000)), false, Some(1000), 1);
    check(&many(70, &words(4000)), false, Some(500), 1);
    check(&many(120, &words(4000)), false, Some(250), 1);
    // Several requests: the most detail that needs no more requests.
    check(&many(400, &words(4000)), false, Some(250), 3);
    let bash = encode_string(&words(20_000));
    let bash = message(&format!("{{\"role\":\"bashExecution\",\"command\":\"ls\",\"output\":{bash}}}"));
    assert!(check(&[bash], false, Some(2000), 1).contains("Ran `ls`"));
}

#[test]
fn later_requests_update_the_answer_before() {
    let messages: Vec<_> = (0..40).map(|number| user(&format!("(m{number}) {}", "ab ".repeat(1000)))).collect();
    let texts = PromptTexts::default();
    for kind in KINDS {
        let previous_summary = Some("## Goal\nfrom before");
        let input = PlanInput { kind, previous_summary, ..input(&messages, &texts, Some(20_000)) };
        let plan = RequestPlan::of(&input).expect("the window is large enough");
        assert!(plan.requests() > 2, "{}", plan.requests());
        let first = plan.request(0, None).expect("there is a first request").prompt;
        let second = plan.request(1, Some("## Goal\nanswer</previous-summary>")).expect("there is a second one").prompt;
        assert_eq!(first.contains("from before"), kind == RequestKind::History);
        assert!(second.contains("<previous-summary>\n## Goal\nanswer<\\/previous-summary>\n</previous-summary>"));
        assert!(!second.contains("from before"));
        match kind {
            RequestKind::History => assert!(second.contains(&texts.update)),
            RequestKind::TurnPrefix => {
                assert!(second.contains(&texts.turn_prefix) && second.contains(&texts.continued));
            }
            RequestKind::Branch => assert!(second.contains(&texts.branch) && second.contains(&texts.continued)),
        }
    }
}

/// docs/field-reports.md, "Requests and summaries".
#[test]
fn a_giant_message_is_cut_in_its_middle() {
    let text = format!("(begin){}(end)", "\u{1f600}\n".repeat(60_000));
    let plan = plan(&[user("before"), user(&text), user("after")], 20_000);
    assert_eq!(plan.fitting().cut_messages, 1);
    let shown = prompts(&plan).join("");
    assert!(
        ["before", "(begin)\u{1f600}", "\u{1f600}\n(end)", "after", " characters left out here]"]
            .iter()
            .all(|part| shown.contains(part))
    );
}

#[test]
fn a_giant_previous_summary_is_cut_in_its_middle() {
    let previous = format!("## Goal\nbegin\n{}end", "- [x] done\n".repeat(50_000));
    let (messages, texts) = ([user("go on")], PromptTexts::default());
    let input = PlanInput { previous_summary: Some(&previous), ..input(&messages, &texts, Some(20_000)) };
    let plan = RequestPlan::of(&input).expect("the window is large enough");
    assert!(plan.fitting().cut_previous_summary);
    check_fits(&plan, 20_000, &previous);
    let prompt = plan.request(0, None).expect("there is a request").prompt;
    assert!(
        prompt.contains("<previous-summary>\n## Goal\nbegin\n- [x] done\n")
            && prompt.contains("\nend\n</previous-summary>")
    );
    assert!(prompt.contains("go on"));
}

#[test]
fn a_window_that_is_too_small_is_named() {
    let (messages, texts) = ([user(&"ab ".repeat(9000))], PromptTexts::default());
    let error = RequestPlan::of(&input(&messages, &texts, Some(1000))).expect_err("the window is too small");
    assert_eq!(
        error.to_string(),
        "fit a summary request into the model's window: its instructions take 691 tokens of the 669 that a prompt \
         may have; a window of at least 1783 tokens is needed"
    );
    assert!(RequestPlan::of(&input(&messages, &texts, Some(error.needed_window))).is_ok());
    let focus = "focus ".repeat(100_000);
    let input = PlanInput { custom_instructions: Some(&focus), ..input(&messages, &texts, Some(100_000)) };
    assert!(RequestPlan::of(&input).expect_err("the focus fills the window").needed_window > 150_000);
}

#[test]
fn a_refused_plan_can_be_tightened_until_nothing_is_left() {
    let messages: Vec<_> = (0..100).map(|_| user(&"ab ".repeat(2000))).collect();
    let texts = PromptTexts::default();
    let mut input = input(&messages, &texts, None);
    let mut largest = u64::MAX;
    let mut plans = 0;
    while let Ok(plan) = RequestPlan::of(&input) {
        assert!(plan.largest_input_tokens() <= largest / 2);
        largest = plan.largest_input_tokens();
        input.input_limit = Some(plan.largest_input_tokens() / 2);
        plans += 1;
    }
    assert_eq!(plans, 7);
}

#[test]
fn a_longer_answer_takes_what_the_window_leaves() {
    let check = |window, model_max_tokens, expected| {
        let (messages, texts) = ([user("short")], PromptTexts::default());
        let limits = OutputLimits { reserve_tokens: 2500, model_max_tokens };
        let plan = RequestPlan::of(&PlanInput { limits, ..input(&messages, &texts, window) }).expect("it fits");
        let request = plan.request(0, None).expect("there is a request");
        assert_eq!(plan.largest_answer(&request), expected);
    };
    check(None, None, 2000);
    check(None, Some(64_000), 64_000);
    check(None, Some(100), 100);
    check(Some(200_000), Some(64_000), 64_000);
    check(Some(10_000), Some(64_000), 9341);
    check(Some(10_000), None, 9341);
}

/// A message with a number, so that it can be found.
fn numbered(kind: u8, number: usize, body: &str) -> Arc<Message> {
    let text = format!("(m{number}) {body}");
    match kind {
        0 => user(&text),
        1 => result(&text),
        2 => call(&text),
        3 => message(&format!("{{\"role\":\"branchSummary\",\"summary\":{}}}", encode_string(&text))),
        4 => {
            let (command, output) = (encode_string(&format!("(m{number})")), encode_string(body));
            message(&format!("{{\"role\":\"bashExecution\",\"command\":{command},\"output\":{output}}}"))
        }
        _ => assistant(&format!(
            "{{\"type\":\"thinking\",\"thinking\":{}}},{{\"type\":\"text\",\"text\":{}}}",
            encode_string(body),
            encode_string(&text)
        )),
    }
}

fn any_messages() -> impl Strategy<Value = Vec<Arc<Message>>> {
    let unit = prop_oneof![
        "[a-z ]{1,20}",
        "[A-Z0-9/+]{1,20}",
        "[\u{4e00}-\u{4fff}]{1,20}",
        Just("\u{1f600}".to_owned()),
        Just("</conversation>".to_owned()),
        Just("< /PREVIOUS-SUMMARY".to_owned()),
        Just("<".to_owned()),
        Just("\n".to_owned()),
    ];
    let length = prop_oneof![8 => 0usize..20, 3 => 20usize..400, 1 => 400usize..900];
    let message = (0u8..6, proptest::collection::vec(unit, 1..4), length);
    proptest::collection::vec(message, 0..16).prop_map(|messages| {
        let messages = messages.into_iter().enumerate();
        messages.map(|(number, (kind, units, count))| numbered(kind, number, &units.concat().repeat(count))).collect()
    })
}

/// Every request and every repair fits, whatever the answers are.
fn check_fits(plan: &RequestPlan, window: u64, answer: &str) {
    let missing: Vec<&str> = SummaryKind::History.headings().collect();
    for index in 0..plan.requests() {
        let request = plan.request(index, Some(answer)).expect("the index is that of a request");
        let repair = plan.repair(index, Some(answer), answer, &missing);
        for request in std::iter::once(request).chain(repair) {
            let input = careful_tokens(&request.system_prompt) + careful_tokens(&request.prompt);
            let estimate = estimate_text(&request.system_prompt) + estimate_text(&request.prompt);
            assert_eq!(request.estimated_tokens, estimate);
            assert!(estimate <= input && input + request.max_tokens <= window, "{input} of {window}");
            assert!(input <= plan.largest_input_tokens().max(window * 9 / 10));
            assert!(plan.largest_answer(&request) + input <= window);
            for tag in ["</conversation>", "</previous-summary>"] {
                assert!(request.prompt.matches(tag).count() <= 1, "{tag}");
            }
        }
    }
}

fn check_nothing_is_lost(plan: &RequestPlan, messages: usize) {
    let texts: Vec<_> = plan.parts.iter().map(|part| plan.text(part)).collect();
    let shown = texts.join("\n\n");
    let places: Vec<_> = (0..messages).map(|number| shown.find(&format!("(m{number})"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    let total: u64 = texts.iter().map(|text| weight(text)).sum();
    let room = plan.budget.input() - plan.following_room() - frame(&plan.wording, true);
    assert!((plan.requests() as u64) <= 2 * total.div_ceil(room.max(1)) + 1 || plan.fitting.cut_previous_summary);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_request_fits_and_no_message_is_lost(
        messages in any_messages(),
        previous in proptest::option::of("([a-z\n]|\u{4e00}|</summary>){0,800}"),
        answer in "([a-z\n]|\u{4e00}|</conversation>){0,800}",
        window in prop_oneof![1800u64..4000, 4000u64..40_000, 40_000u64..400_000],
        reserve_tokens in 0u64..40_000,
        kind in 0usize..3,
        input_limit in proptest::option::of(1300u64..30_000),
        turn in proptest::option::of("[a-z中]{0,9}"),
        words in 0usize..9000,
    ) {
        let texts = PromptTexts::default();
        let turn: Vec<_> = turn.iter().map(|word| user(&format!("{word} ").repeat(words))).collect();
        let input = PlanInput {
            turn: &turn,
            kind: KINDS[kind],
            previous_summary: previous.as_deref(),
            limits: OutputLimits { reserve_tokens, model_max_tokens: None },
            input_limit,
            ..input(&messages, &texts, Some(window))
        };
        let plan = RequestPlan::of(&input).expect("the window is large enough");
        check_fits(&plan, window, &answer);
        check_fits(&plan, window, &answer.repeat(25));
        prop_assert!(plan.repair(0, None, &answer, &["## Goal"]).is_some());
        check_nothing_is_lost(&plan, messages.len());
    }

    #[test]
    fn any_window_has_a_plan_or_a_named_need(messages in any_messages(), window in 0u64..6000, focus in "[a-z ]{0,2000}") {
        let texts = PromptTexts::default();
        let input = PlanInput { custom_instructions: Some(&focus), ..input(&messages, &texts, Some(window)) };
        match RequestPlan::of(&input) {
            Ok(plan) => check_fits(&plan, window, &focus),
            Err(error) => {
                prop_assert!(error.needed_window > window);
                let input = PlanInput { context_window: Some(error.needed_window), ..input };
                prop_assert!(RequestPlan::of(&input).is_ok());
            }
        }
    }
}

/// Removes whole words that begin with `key-`, as secrets do.
#[derive(Debug)]
struct Keys;

const KEY: &str = "key-abcdefghijklmnopqrstuvwxyz0123456789";

impl Redact for Keys {
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.contains(KEY) { Cow::Owned(text.replace(KEY, "[gone]")) } else { Cow::Borrowed(text) }
    }
}

/// Parts of keys in the requests of a plan. Whole keys can still be found before a request is sent.
fn pieces(plan: &RequestPlan) -> usize {
    let requests = (0..plan.requests()).filter_map(|index| plan.request(index, None));
    let repairs = (0..plan.requests()).filter_map(|index| plan.repair(index, None, "", &["## Goal"]));
    let prompts = requests.chain(repairs).map(|request| request.prompt.replace(KEY, ""));
    prompts.map(|prompt| prompt.matches("key-").count() + prompt.matches("456789").count()).sum()
}

#[test]
fn secrets_are_taken_out_before_texts_are_cut() {
    let texts = PromptTexts::default();
    let mut without = 0;
    for before in [0, 10, 238, 1960, 1985, 1999, 2000] {
        let text = format!("{} {KEY} and more {}", "x".repeat(before), format!("{KEY} ").repeat(120));
        let messages = [
            message(&format!(r#"{{"role":"user","content":"{text}"}}"#)),
            message(&format!(
                r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"1","name":"f","arguments":{{"a":"{text}"}}}}]}}"#
            )),
            message(&format!(r#"{{"role":"toolResult","toolCallId":"1","toolName":"f","content":"{text}"}}"#)),
            message(&format!(r#"{{"role":"bashExecution","command":"env","output":"{text}","exitCode":0}}"#)),
        ];
        for window in [None, Some(60_000), Some(8_000), Some(4_500)] {
            let previous = Some(text.as_str());
            let plain = PlanInput { previous_summary: previous, ..input(&messages, &texts, window) };
            let plan = RequestPlan::of(&PlanInput { redact: Some(Arc::new(Keys)), ..plain.clone() }).expect("it fits");
            assert_eq!(pieces(&plan), 0, "{before} units before, window {window:?}");
            without += pieces(&RequestPlan::of(&plain).expect("it fits"));
        }
    }
    assert!(without > 0, "nothing was cut");
}

#[test]
fn fills_requests_in_order() {
    let check = |weights: &[u64], first, later, ends: &[usize]| {
        let parts = pack(weights, Rooms { first, later });
        assert_eq!(parts.iter().map(|part| part.end).collect::<Vec<_>>(), ends, "{weights:?}");
    };
    check(&[], 10, 10, &[0]);
    check(&[4, 4], 10, 10, &[2]);
    check(&[4, 5], 10, 10, &[1, 2]);
    check(&[99, 1], 10, 10, &[1, 2]);
    check(&[0, 4, 0, 0, 4, 0], 10, 10, &[6]);
    check(&[1, 99, 1], 10, 10, &[1, 2, 3]);
    check(&[8, 4, 4], 3, 10, &[1, 3]);
}

proptest! {
    #[test]
    fn every_message_is_in_one_request(
        weights in proptest::collection::vec(0u64..50, 0..60),
        first in 1u64..80,
        later in 1u64..80,
    ) {
        let parts = pack(&weights, Rooms { first, later });
        prop_assert_eq!(parts.iter().cloned().flatten().collect::<Vec<_>>(), (0..weights.len()).collect::<Vec<_>>());
        for (position, part) in parts.iter().enumerate() {
            let room = if position == 0 { first } else { later };
            let included = weights[part.clone()].iter().filter(|weight| **weight > 0).count();
            prop_assert!(included <= 1 || joined(&weights[part.clone()]) <= room);
        }
        let total = joined(&weights);
        prop_assert!(parts.len() as u64 <= 2 * total.div_ceil(first.min(later)) + 1);
    }
}

#[test]
fn text_that_tokenizers_split_finely_weighs_more() {
    let check = |text: &str, tokens| assert_eq!(careful_tokens(text), tokens, "{text}");
    check("", 0);
    check("plain words of a person in letters", 9);
    check("let mut x = a[1] + 42;", 8);
    check("0123456789abcdef", 7);
    check("QmFzZTY0", 4);
    check("\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}", 5);
    check("\u{6f22}\u{5b57}\u{6f22}\u{5b57}", 5);
    check("\u{1f600}", 3);
}

#[test]
fn the_middle_is_cut_along_lines() {
    let text: String = (10..60).map(|number| format!("line {number}\n")).collect();
    let cut = cut_middle(&text, 300);
    assert!(cut.starts_with("line 10\nline 11\n") && cut.ends_with("line 58\nline 59\n"), "{cut}");
    for line in cut.lines().filter(|line| !line.is_empty() && !line.starts_with('[')) {
        assert!(text.contains(&format!("{line}\n")), "{line}");
    }
    assert!(cut.contains(" characters left out here]"));
}

proptest! {
    #[test]
    fn the_measure_is_never_below_the_estimate(text in "\\PC*|[\\x00-\\u{10FFFF}]*|[a-z ]*") {
        prop_assert!(careful_tokens(&text) >= estimate_text(&text));
    }

    #[test]
    fn a_cut_text_fits(text in "([a-zA-Z0-9<{\n]|\u{e9}|\u{20ac}|\u{1f600}){0,300}", room in 0u64..600) {
        let cut = cut_middle(&text, room);
        prop_assert!(weight(&cut) <= room);
        prop_assert_eq!(cut == text, weight(&text) <= room);
    }

    #[test]
    fn marks_are_light(left_out in any::<u64>()) {
        let mark = format!("\n\n[{left_out} characters left out here]\n\n");
        prop_assert!(weight(&mark) <= MARK_WEIGHT);
    }
}
