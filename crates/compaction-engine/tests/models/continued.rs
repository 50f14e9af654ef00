//! Conversations that are continued for their summary. `cases/continued.json` contains the requests. The tests here
//! check when the engine sends a transcript instead.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use compaction_core::conversation::{Prefix, llm_context};
use compaction_core::entry::{Entry, EntryId};
use compaction_core::projection::Projection;
use compaction_core::prompts::{RequestKind, SummaryRequest};
use compaction_engine::models::{ContinuedRequest, Continues, Conversation, Reason, RequestReport};
use compaction_engine::summarizers::{ModelSummarizer, Summarizer, SummaryJob, SummaryText};
use compaction_engine::{EngineError, Settings};
use serde_json::{Value, json};
use session_store::{Durability, FileStore, OpenOptions, SessionStore};

use super::cases::{answer_json, error_json, scripts};
use super::engine::{SUMMARY, job};
use super::harness::{context as request_context, job_context, model, run};
use super::server::{Asked, Script, Server};

/// The context of a session with these messages. The id of an entry is its position.
fn context(messages: &[Value]) -> Projection {
    let entry = |(at, message): (usize, &Value)| {
        let parent = at.checked_sub(1).map(|parent| parent.to_string());
        let time = "2025-01-01T00:00:00.000Z";
        // Members keep the order of the file, as in stored lines.
        let line = format!(
            r#"{{"type":"message","id":"{at}","parentId":{},"timestamp":"{time}","message":{}}}"#,
            json!(parent),
            raw(message)
        );
        Arc::new(Entry::parse(&line).unwrap())
    };
    let entries: Vec<Arc<Entry>> = messages.iter().enumerate().map(entry).collect();
    match Projection::of(entries.as_slice()) {
        Ok(projection) => projection,
    }
}

/// A message as text. A text in the file is used as it is.
fn raw(message: &Value) -> String {
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}

/// The conversations of the file, with the text of each message.
fn conversation(text: &str, name: &str) -> Vec<Value> {
    let start = text.find(&format!("\n    \"{name}\": [\n")).unwrap();
    let lines = text[start..].lines().skip(2).take_while(|line| line.trim() != "]" && line.trim() != "],");
    lines.map(|line| json!(line.trim().trim_end_matches(','))).collect()
}

#[test]
fn the_conversation_itself_is_sent() {
    let text = include_str!("cases/continued.json");
    let file: Value = serde_json::from_str(text).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let label = case["name"].as_str().unwrap();
        let messages = conversation(text, case["conversation"].as_str().unwrap());
        let end = EntryId::new(case["end"].to_string());
        let prefix = Prefix::of(&context(&messages), &end).unwrap();
        let server = Server::start_several(scripts(case, 0, "\n"));
        let mut settings = case["settings"].clone();
        settings["baseUrl"] = json!(server.address());
        let model = model("tested", &settings);
        let continues = case["continues"] != false;
        assert_eq!(model.continues().is_some(), continues, "{label}");
        if !continues {
            continue;
        }
        let request = ContinuedRequest {
            prefix: Arc::new(prefix),
            request: SummaryRequest {
                kind: RequestKind::History,
                system_prompt: String::new(),
                prompt: file["instruction"].as_str().unwrap().to_owned(),
                max_tokens: 321,
                estimated_tokens: 3,
            },
            first_kept: end,
        };
        let outcome = run(model.continue_conversation(&request, &request_context(), &|_| {}));
        let outcome = outcome.map_or_else(|error| error_json(&error), |answer| answer_json(&answer));
        assert_eq!(outcome, case["expect"], "{label}");
        let tries = case["answers"].as_array().map_or(1, Vec::len);
        let asked: Vec<Asked> = (0..tries).map(|_| server.asked()).collect();
        let last = asked.last().unwrap();
        let target = case["sent"]["target"].as_str().unwrap();
        assert_eq!(last.line, format!("POST {target} HTTP/1.1"), "{label}");
        assert_eq!(last.body, case["sent"]["body"], "{label}");
        for part in case["sent"]["text"].as_array().into_iter().flatten() {
            assert!(last.text.contains(part.as_str().unwrap()), "{label}: {part} in {}", last.text);
        }
        assert!(server.is_silent(), "{label}");
    }
}

/// The request for a shorter part of a conversation is the beginning of the request for a longer one, byte for byte.
/// Otherwise no provider would have it cached.
#[test]
fn a_shorter_part_is_the_beginning_of_a_longer_one() {
    const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";
    let text = include_str!("cases/continued.json");
    let messages = conversation(text, "tools");
    for (settings, member) in [
        (json!({ "provider": "anthropic", "model": "m" }), "messages"),
        (json!({ "provider": "openai", "model": "m" }), "messages"),
        (json!({ "provider": "openai", "api": "responses", "model": "m" }), "input"),
    ] {
        let mut before = String::from("[");
        for end in 2..messages.len() {
            let context = context(&messages);
            let prefix = Prefix::of(&context, &EntryId::new(end.to_string())).unwrap();
            for (message, of_context) in prefix.messages.iter().zip(llm_context(&context)) {
                assert_eq!(message.raw().get(), of_context.raw().get());
            }
            let server = Server::start(Script { status: 500, ..Script::default() });
            let mut settings = settings.clone();
            settings["baseUrl"] = json!(server.address());
            let request = ContinuedRequest {
                prefix: Arc::new(prefix),
                request: SummaryRequest {
                    kind: RequestKind::History,
                    system_prompt: String::new(),
                    prompt: "INSTRUCTION".to_owned(),
                    max_tokens: 1,
                    estimated_tokens: 1,
                },
                first_kept: EntryId::new("0"),
            };
            run(model("tested", &settings).continue_conversation(&request, &request_context(), &|_| {})).unwrap_err();
            let text = server.asked().text.replace(MARK, "");
            let start = text.find(&format!("\"{member}\":[")).unwrap() + member.len() + 3;
            let instruction = text[..text.find("INSTRUCTION").unwrap()].rfind("{\"role\":\"user\"").unwrap();
            let sent = &text[start..instruction];
            assert!(sent.starts_with(before.trim_end_matches(',')), "{member} {end}:\n{before}\n{sent}");
            assert!(sent.len() >= before.len());
            before = sent.to_owned();
        }
        assert!(before.len() > 800, "{before}");
    }
}

/// A cached conversation of `openai/m`. All but its last message is compacted.
fn running(words: &str) -> Vec<Value> {
    let usage = json!({ "input": 100, "output": 10, "cacheRead": 9_000, "cacheWrite": 0, "totalTokens": 9_110 });
    let answer = json!({ "role": "assistant", "content": [{ "type": "text", "text": "Done." }], "provider": "local",
        "model": "m", "stopReason": "stop", "usage": usage, "timestamp": now() });
    vec![
        json!({ "role": "system", "content": "Be kind." }),
        json!({ "role": "user", "content": words, "timestamp": now() }),
        answer,
        json!({ "role": "user", "content": "kept", "timestamp": now() }),
    ]
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

fn job_of(messages: &[Value], window: Option<u64>) -> SummaryJob {
    let (context, end) = (context(messages), EntryId::new((messages.len() - 1).to_string()));
    let words = messages[1]["content"].as_str().unwrap();
    let conversation = Conversation::new(Arc::new(context), end.clone(), end, window);
    SummaryJob { conversation: Some(Arc::new(conversation)), ..job(words) }
}

fn answer(text: &str, reason: &str, cached: u64) -> Script {
    let usage = json!({ "prompt_tokens": 9_500, "completion_tokens": 50, "prompt_tokens_details": { "cached_tokens": cached } });
    let answer = json!({ "choices": [{ "message": { "content": text }, "finish_reason": reason }], "usage": usage });
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Script { status: 200, headers, body: answer.to_string().into_bytes(), ..Script::default() }
}

fn refused(status: u16, message: &str) -> Script {
    let body = json!({ "error": { "message": message } }).to_string().into_bytes();
    Script {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body,
        ..Script::default()
    }
}

struct Outcome {
    written: Result<SummaryText, EngineError>,
    asked: Vec<Asked>,
}

impl Outcome {
    fn report(&self) -> &RequestReport {
        self.written.as_ref().unwrap().request.as_ref().unwrap()
    }

    /// For each request, whether it continued a conversation.
    fn continued(&self) -> Vec<bool> {
        let is_continued = |asked: &Asked| !asked.text.contains("<conversation>");
        self.asked.iter().map(is_continued).collect()
    }
}

fn ask(choice: &str, messages: &[Value], window: Option<u64>, answers: Vec<Script>) -> Outcome {
    let tries = answers.len();
    let server = Server::start_several(answers);
    let summarizer =
        json!({ "provider": "openai", "baseUrl": server.address(), "model": "m", "conversationProvider": "local" });
    let layer = json!({ "retry": { "baseDelayMs": 1 }, "compactd": { "summaryRequest": choice } });
    let settings = Settings::default().with(&layer).unwrap();
    let modelled = ModelSummarizer::new("tested", model("tested", &summarizer), &settings);
    let written = run(modelled.summarize(job_of(messages, window), &job_context()));
    let asked = (0..tries).map(|_| server.asked()).collect();
    assert!(server.is_silent());
    Outcome { written, asked }
}

#[test]
fn a_continued_conversation_gives_the_summary() {
    let long = "Make peace, and again. ".repeat(1500);
    for choice in ["continue", "auto"] {
        let outcome = ask(choice, &running(&long), Some(100_000), vec![answer(SUMMARY, "stop", 9_000)]);
        let written = outcome.written.as_ref().unwrap();
        assert_eq!((written.text.as_str(), written.attempts), (SUMMARY, 1));
        let report = outcome.report();
        assert!(report.is_continued && report.obstacle.is_none(), "{report:?}");
        assert_eq!(report.cached_tokens, Some(9_000));
        let (transcript, continued) = (report.transcript.unwrap(), report.continued.unwrap());
        // The usage of the answer covers the conversation without the kept message.
        assert!((9_110..9_800).contains(&continued.tokens), "{report:?}");
        assert!(transcript.tokens > 8_500, "{report:?}");
        let body = &outcome.asked[0].body;
        let last = body["messages"].as_array().unwrap().last().unwrap();
        assert!(last["content"].as_str().unwrap().contains("## Critical Context"));
        assert_eq!(body["messages"][0], json!({ "role": "system", "content": "Be kind." }));
        assert!(!outcome.asked[0].text.contains("kept"), "what is kept is not sent");
    }
}

#[track_caller]
fn check_back(answers: Vec<Script>, continued: &[bool], reason: Reason) {
    let outcome = ask("continue", &running("Make peace."), None, answers);
    assert_eq!(outcome.written.as_ref().unwrap().text, SUMMARY);
    let report = outcome.report();
    assert_eq!(report.obstacle.as_ref().map(|obstacle| obstacle.reason), Some(reason), "{report:?}");
    assert!(!report.is_continued && !report.obstacle.as_ref().unwrap().detail.is_empty());
    assert_eq!(outcome.continued(), continued);
    assert_eq!(outcome.written.as_ref().unwrap().attempts as usize, continued.len());
}

#[test]
fn whatever_goes_wrong_leads_back_to_a_transcript() {
    let good = || answer(SUMMARY, "stop", 0);
    let once = [true, false];
    check_back(vec![answer("", "tool_calls", 9_000), good()], &once, Reason::ToolCall);
    check_back(vec![answer("", "stop", 9_000), good()], &once, Reason::Empty);
    check_back(vec![answer("<think>only this</think>", "stop", 9_000), good()], &once, Reason::Empty);
    check_back(vec![answer("## Goal", "content_filter", 9_000), good()], &once, Reason::Stopped);
    check_back(vec![refused(400, "unknown role"), good()], &once, Reason::Refused);
    check_back(
        vec![
            refused(400, "This model's maximum context length is 8192 tokens, however you requested 9500 tokens"),
            good(),
        ],
        &once,
        Reason::Overflow,
    );
    let twice = [true, true, false];
    check_back(
        vec![answer("## Goal", "length", 9_000), answer("## Goal", "length", 9_000), good()],
        &twice,
        Reason::CutOff,
    );
    check_back(
        vec![answer("## Goal", "stop", 9_000), answer("## Goal", "stop", 9_000), good()],
        &twice,
        Reason::Headings,
    );
}

#[test]
fn a_server_that_reads_a_part_of_it_is_found() {
    let long = "Make peace, and again. ".repeat(5000);
    let mut part = answer(SUMMARY, "stop", 0);
    part.body = String::from_utf8(part.body).unwrap().replace("9500", "4096").into_bytes();
    let mut whole = answer(SUMMARY, "stop", 0);
    whole.body = String::from_utf8(whole.body).unwrap().replace("9500", "30000").into_bytes();
    let outcome = ask("continue", &running(&long), None, vec![part, whole]);
    assert_eq!(outcome.report().obstacle.as_ref().unwrap().reason, Reason::Truncated);
    assert_eq!(outcome.continued(), [true, false]);
}

#[test]
fn an_answer_without_headings_is_repaired_and_one_that_was_cut_off_gets_more_room() {
    let outcome = ask(
        "continue",
        &running("Make peace."),
        None,
        vec![answer("## Goal\n- x", "stop", 9_000), answer(SUMMARY, "stop", 9_000)],
    );
    assert_eq!(outcome.continued(), [true, true]);
    assert!(outcome.report().is_continued);
    let repair = outcome.asked[1].body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert!(repair.as_str().unwrap().contains("lacks these headings: "), "{repair}");
    // The usage of both is reported.
    assert_eq!(outcome.report().cached_tokens, Some(18_000));
    let outcome = ask(
        "continue",
        &running("Make peace."),
        None,
        vec![answer("## Goal", "length", 9_000), answer(SUMMARY, "stop", 9_000)],
    );
    let limits: Vec<u64> = outcome.asked.iter().map(|asked| asked.body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!((outcome.continued(), limits), (vec![true, true], vec![8000, 16_000]));
}

#[test]
fn a_key_that_is_refused_is_refused_for_a_transcript_too() {
    let outcome = ask("continue", &running("Make peace."), None, vec![refused(401, "no such key")]);
    assert!(matches!(outcome.written, Err(EngineError::SummarizerFailed { retryable: false, .. })));
    let outcome =
        ask("continue", &running("Make peace."), None, vec![refused(503, "busy"), answer(SUMMARY, "stop", 9_000)]);
    assert_eq!((outcome.continued(), outcome.report().is_continued), (vec![true, true], true));
}

#[test]
fn what_would_not_fit_or_pay_is_a_transcript_from_the_start() {
    let check = |choice, messages: &[Value], window, reason| {
        let outcome = ask(choice, messages, window, vec![answer(SUMMARY, "stop", 0)]);
        assert_eq!(outcome.continued(), [false]);
        assert_eq!(outcome.report().obstacle.as_ref().unwrap().reason, reason, "{:?}", outcome.report());
    };
    check("transcript", &running("Make peace."), None, Reason::Settings);
    check("continue", &running("Make peace."), Some(12_000), Reason::TooLarge);
    // A transcript of a few words costs less than a conversation of nine thousand tokens from a cache.
    check("auto", &running("Make peace."), None, Reason::CostsMore);
    let mut other = running("Make peace.");
    other[2]["model"] = json!("other");
    check("continue", &other, None, Reason::OtherModel);
    let mut silent = running("Make peace.");
    silent.remove(0);
    silent.insert(0, json!({ "role": "user", "content": "before" }));
    check("continue", &silent, None, Reason::PromptUnknown);
}

/// After a missed cache, conversations are not continued automatically again.
#[test]
fn what_a_cache_did_not_have_is_not_tried_again() {
    let long = "Make peace, and again. ".repeat(1500);
    let server = Server::start_several(vec![answer(SUMMARY, "stop", 0)]);
    let summarizer =
        json!({ "provider": "openai", "baseUrl": server.address(), "model": "m", "conversationProvider": "local" });
    let modelled = ModelSummarizer::new("tested", model("tested", &summarizer), &Settings::default());
    let (job_context, messages) = (job_context(), running(&long));
    let written = run(async {
        let first = modelled.summarize(job_of(&messages, None), &job_context).await.unwrap();
        let second = modelled.summarize(job_of(&messages, None), &job_context).await.unwrap();
        [first, second].map(|written| written.request.unwrap())
    });
    assert!(written[0].is_continued);
    assert_eq!(written[1].obstacle.as_ref().unwrap().reason, Reason::CacheMissed);
}

/// Answers and instructions are redacted in the same way for both kinds of requests.
#[test]
fn secrets_come_back_in_no_summary() {
    let secret = ["gh", "p_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"].concat();
    let summary = SUMMARY.replace("- (none)", &format!("- The token is {secret}"));
    let server = Server::start(answer(&summary, "stop", 9_000));
    let summarizer =
        json!({ "provider": "openai", "baseUrl": server.address(), "model": "m", "conversationProvider": "local" });
    let settings = Settings::default().with(&json!({ "compactd": { "summaryRequest": "continue" } })).unwrap();
    let modelled = ModelSummarizer::new("tested", model("tested", &summarizer), &settings);
    let messages = running(&format!("Use {secret} for it."));
    let job = SummaryJob { custom_instructions: Some(format!("look at {secret}")), ..job_of(&messages, None) };
    let written = run(modelled.summarize(job, &job_context())).unwrap();
    assert!(!written.text.contains(&secret) && written.text.contains("[redacted:"), "{}", written.text);
    let body = server.asked().body;
    let sent = body["messages"].as_array().unwrap();
    assert!(!sent.last().unwrap().to_string().contains(&secret));
    // The model has seen the conversation unredacted. A changed conversation would miss the cache.
    assert!(sent[1].to_string().contains(&secret));
}

#[test]
fn whose_conversations_a_model_continues_is_a_matter_of_its_server() {
    let provider = |settings: Value| match model("tested", &settings).continues() {
        Some(Continues::OfModel { provider, .. }) => provider,
        _ => None,
    };
    assert_eq!(provider(json!({ "provider": "anthropic", "model": "m" })).as_deref(), Some("anthropic"));
    assert_eq!(provider(json!({ "provider": "openai", "model": "m" })).as_deref(), Some("openai"));
    let elsewhere = json!({ "provider": "openai", "model": "m", "baseUrl": "https://proxy.example/v1" });
    assert_eq!(provider(elsewhere), None);
    let named = json!({ "provider": "openai", "model": "m", "baseUrl": "https://proxy.example/v1", "conversationProvider": "proxy" });
    assert_eq!(provider(named).as_deref(), Some("proxy"));
}

/// In real sessions, every call is sent with its result directly after it, and no empty message is sent, wherever the
/// session is cut.
#[test]
fn real_sessions_are_sent_with_every_call_answered() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let files = std::fs::read_dir(corpus.join("sessions")).into_iter().flatten().flatten().map(|file| file.path());
    let files = files.chain([corpus.join("large-session.jsonl")]);
    let files: Vec<_> = files.filter(|file| file.is_file() && !file.to_string_lossy().contains(".llm-")).collect();
    if files.len() < 2 {
        let _ = writeln!(std::io::stderr(), "skipped: the real sessions are not here ({})", corpus.display());
        return;
    }
    let store = FileStore::new("", Durability::None);
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")) {
        let options = OpenOptions { read_only: true, ..OpenOptions::default() };
        let session = store.open(&session_store::Locator::from(file), &options).unwrap();
        let context = session.context(session.leaf_id()).unwrap().projection;
        let said: Vec<&EntryId> =
            context.entries().iter().filter(|entry| !entry.messages.is_empty()).map(|entry| entry.entry.id()).collect();
        for end in [said.len() / 3, said.len() - 2].map(|at| said[at]) {
            let prefix = Prefix::of(&context, end).unwrap();
            for (message, of_context) in prefix.messages.iter().zip(llm_context(&context)) {
                assert_eq!(message.raw().get(), of_context.raw().get(), "{}", file.display());
            }
            check_pairs(&sent_for(prefix), file);
        }
    }
}

/// The messages of a conversation in a request to Anthropic.
fn sent_for(prefix: Prefix) -> Vec<Value> {
    let server = Server::start(Script { status: 500, ..Script::default() });
    let settings = json!({ "provider": "anthropic", "model": "m", "baseUrl": server.address() });
    let request = SummaryRequest {
        kind: RequestKind::History,
        system_prompt: String::new(),
        prompt: "Write notes.".to_owned(),
        max_tokens: 1,
        estimated_tokens: 1,
    };
    let request = ContinuedRequest { prefix: Arc::new(prefix), request, first_kept: EntryId::new("0") };
    run(model("tested", &settings).continue_conversation(&request, &request_context(), &|_| {})).unwrap_err();
    server.asked().body["messages"].as_array().unwrap().clone()
}

fn check_pairs(messages: &[Value], file: &Path) {
    let ids = |message: &Value, kind: &str, member: &str| {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let ids = blocks.iter().filter(|block| block["type"] == kind).map(|block| block[member].to_string());
        ids.collect::<BTreeSet<_>>()
    };
    for (message, next) in messages.iter().zip(&messages[1..]) {
        let (calls, results) = (ids(message, "tool_use", "id"), ids(next, "tool_result", "tool_use_id"));
        assert_eq!(calls, results, "{}", file.display());
        assert_ne!(message["content"], json!([]), "{}", file.display());
    }
    let marks = messages.iter().filter(|message| message.to_string().contains("cache_control")).count();
    assert_eq!(marks, 1, "{}", file.display());
}
