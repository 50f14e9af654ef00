use compaction_core::conversation::{CachedInput, SystemPrompt};
use compaction_core::message::Message;

use super::*;

const NOW: i64 = 10_000_000;

/// A conversation of claude-sonnet-4-5 with 100,000 tokens that is in its provider's cache.
fn prefix() -> Prefix {
    Prefix {
        messages: vec![Arc::new(Message::user_text("hello", None))],
        last_entry_id: Some(EntryId::new("a")),
        system: Some(SystemPrompt { text: "Be kind.".to_owned(), tools: Vec::new(), is_first: true }),
        answer: Some(LastAnswer {
            provider: "anthropic".to_owned(),
            model: "claude-sonnet-4-5".to_owned(),
            api: Some(MESSAGES.to_owned()),
            time: Some(NOW - 2_000),
            input: Some(CachedInput { tokens: 120_000, cached: 119_000 }),
            has_seen_all: true,
        }),
        has_thinking: false,
        tokens: 100_000,
        sent_at: Some(NOW - 60_000),
    }
}

struct Case {
    choice: RequestChoice,
    continues: Option<Continues>,
    prefix: Prefix,
    transcript_tokens: Option<u64>,
    window: Option<u64>,
    has_missed: bool,
}

impl Case {
    fn new() -> Self {
        Self {
            choice: RequestChoice::Auto,
            continues: Some(of_model(Some("anthropic"), Cache::MarkedBeginnings, false)),
            prefix: prefix(),
            transcript_tokens: Some(30_000),
            window: Some(200_000),
            has_missed: false,
        }
    }

    fn answer(&mut self) -> &mut LastAnswer {
        self.prefix.answer.as_mut().unwrap()
    }
}

fn of_model(provider: Option<&str>, cache: Cache, sets_thinking: bool) -> Continues {
    let model = "claude-sonnet-4-5".to_owned();
    let provider = provider.map(str::to_owned);
    Continues::OfModel { provider, model, sets_thinking, interface: MESSAGES, cache }
}

/// What speaks against it by itself, and where it is asked for.
#[track_caller]
fn check(change: impl Fn(&mut Case), auto: Option<Reason>, asked_for: Option<Reason>) {
    for (choice, expected) in [(RequestChoice::Auto, auto), (RequestChoice::Continue, asked_for)] {
        let mut case = Case { choice, ..Case::new() };
        change(&mut case);
        let instruction = SummaryRequest {
            kind: RequestKind::History,
            system_prompt: String::new(),
            prompt: String::new(),
            max_tokens: 13_107,
            estimated_tokens: 800,
        };
        let check = ContinuationCheck {
            choice: case.choice,
            continues: case.continues,
            prefix: &case.prefix,
            instruction: &instruction,
            transcript_tokens: case.transcript_tokens,
            window: case.window,
            price: case.prefix.answer.as_ref().and_then(|answer| Price::of(&answer.model)),
            has_missed: case.has_missed,
            now: NOW,
        };
        let found = check.check().err();
        assert_eq!(found.as_ref().map(|obstacle| obstacle.reason), expected, "{choice:?} {found:?}");
    }
}

#[test]
fn a_conversation_is_continued_where_its_model_has_it() {
    check(|_| {}, None, None);
    check(|case| case.choice = RequestChoice::Transcript, Some(Reason::Settings), Some(Reason::Settings));
    check(|case| case.continues = None, Some(Reason::NotSupported), Some(Reason::NotSupported));
    check(|case| case.prefix.messages.clear(), Some(Reason::NotSeen), Some(Reason::NotSeen));
}

/// A secret that the conversation holds goes to nobody but the model that has seen it.
#[test]
fn no_other_model_gets_a_conversation_whatever_is_asked_for() {
    let other = Some(Reason::OtherModel);
    check(|case| case.answer().model = "claude-haiku-4-5".to_owned(), other, other);
    check(|case| case.answer().provider = "openrouter".to_owned(), other, other);
    check(|case| case.prefix.answer = None, other, other);
    check(|case| case.continues = Some(of_model(None, Cache::EveryBeginning, false)), other, other);
    check(|case| case.answer().has_seen_all = false, Some(Reason::NotSeen), Some(Reason::NotSeen));
}

#[test]
fn what_is_not_known_is_not_sent() {
    let unknown = Some(Reason::PromptUnknown);
    check(|case| case.prefix.system = None, unknown, unknown);
    check(|case| case.prefix.system.as_mut().unwrap().is_first = false, unknown, unknown);
    let interface = Some(Reason::OtherInterface);
    check(|case| case.answer().api = Some(CHAT.to_owned()), interface, None);
    check(|case| case.answer().api = Some("another".to_owned()), None, None);
    check(|case| case.answer().api = None, None, None);
    let thinking = Some(Reason::ThinkingUnknown);
    check(|case| case.prefix.has_thinking = true, thinking, None);
    let set = |case: &mut Case| case.continues = Some(of_model(Some("anthropic"), Cache::MarkedBeginnings, true));
    check(set, thinking, None);
    check(
        |case| {
            set(case);
            case.prefix.has_thinking = true;
        },
        None,
        None,
    );
    // Where every beginning is kept, thinking is no part of it.
    let other = |case: &mut Case| case.continues = Some(of_model(Some("anthropic"), Cache::EveryBeginning, true));
    check(other, None, None);
}

#[test]
fn it_has_to_fit() {
    let too_large = Some(Reason::TooLarge);
    check(|case| case.window = Some(100_000 + 800 + 13_106), too_large, too_large);
    check(|case| case.window = Some(100_000 + 800 + 13_107), None, None);
    check(|case| case.window = None, None, None);
}

#[test]
fn it_is_not_done_by_itself_where_it_costs_more() {
    check(|case| case.answer().input = None, Some(Reason::NoCache), None);
    check(|case| case.answer().input.as_mut().unwrap().cached = 0, Some(Reason::NoCache), None);
    // A cache of prompt and tools alone.
    check(|case| case.answer().input.as_mut().unwrap().cached = 20_000, Some(Reason::NoCache), None);
    check(|case| case.has_missed = true, Some(Reason::Missed), None);
    check(|case| case.transcript_tokens = Some(10_800), Some(Reason::Dearer), None);
    check(|case| case.transcript_tokens = Some(10_801), None, None);
    check(|case| case.transcript_tokens = None, None, None);
    // Of a model whose price is not known, half is taken for granted.
    let unknown = |case: &mut Case, transcript| {
        case.answer().model = "new-model".to_owned();
        case.continues = Some(Continues::OfClient);
        case.transcript_tokens = Some(transcript);
    };
    check(|case| unknown(case, 50_800), Some(Reason::Dearer), None);
    check(|case| unknown(case, 50_801), None, None);
}

#[test]
fn a_cache_is_cold_after_five_minutes() {
    let cold = Some(Reason::Cold);
    let old = NOW - 271_000;
    // What was marked at the cut counts, not the last request.
    check(|case| case.prefix.sent_at = Some(old), cold, None);
    check(|case| case.prefix.sent_at = None, cold, None);
    check(|case| case.answer().time = Some(old), None, None);
    let everywhere = |case: &mut Case| case.continues = Some(of_model(Some("anthropic"), Cache::EveryBeginning, false));
    let with = |change: fn(&mut Case)| {
        move |case: &mut Case| {
            everywhere(case);
            change(case);
        }
    };
    check(with(|case| case.prefix.sent_at = Some(NOW - 271_000)), None, None);
    check(with(|case| case.answer().time = Some(NOW - 271_000)), cold, None);
    check(with(|case| case.answer().time = None), cold, None);
}

#[test]
fn a_client_knows_its_own_conversation() {
    let host = |change: fn(&mut Case)| {
        move |case: &mut Case| {
            case.continues = Some(Continues::OfClient);
            change(case);
        }
    };
    check(host(|_| {}), None, None);
    check(host(|case| case.prefix.system = None), None, None);
    check(host(|case| case.answer().provider = "any".to_owned()), None, None);
    check(host(|case| case.answer().input = None), None, None);
    check(host(|case| case.answer().has_seen_all = false), Some(Reason::NotSeen), None);
    check(host(|case| case.prefix.answer = None), Some(Reason::NotSeen), None);
    check(host(|case| case.answer().input.as_mut().unwrap().cached = 0), Some(Reason::NoCache), None);
    // The provider of these marks beginnings.
    check(host(|case| case.prefix.sent_at = Some(NOW - 271_000)), Some(Reason::Cold), None);
    check(
        host(|case| {
            case.answer().model = "gpt-5".to_owned();
            case.prefix.sent_at = Some(NOW - 271_000);
        }),
        None,
        None,
    );
}

#[test]
fn misses_are_remembered_by_summarizer() {
    let missed = MissedCaches::default();
    missed.note("a");
    assert!(missed.contains("a") && !missed.contains("b"));
}
