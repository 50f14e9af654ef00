//! How the engine handles answers: the second request after an answer that was cut off, retries, smaller requests, and
//! the summary within the text.

use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::file_operations::FileTools;
use compaction_core::message::Message;
use compaction_core::preparation::PreparedMessage;
use compaction_core::prompts::{OutputLimits, PromptTexts, RequestKind};
use compaction_engine::EngineError;
use compaction_engine::Settings;
use compaction_engine::summarizers::{ModelSummarizer, Summarizer, SummaryJob, SummaryText};
use serde_json::{Value, json};

use super::harness::{job_context, model, run};
use super::server::{Script, Server};

pub(super) const SUMMARY: &str = "## Goal\n- Peace\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n\n### Done\n- [x] All\n\n\
    ### In Progress\n- [ ] Nothing\n\n### Blocked\n- (none)\n\n## Key Decisions\n- (none)\n\n## Next Steps\n1. Go\n\n\
    ## Critical Context\n- (none)";

pub(super) fn job(text: &str) -> SummaryJob {
    let message = Arc::new(Message::user_text(text, None));
    SummaryJob {
        kind: RequestKind::History,
        messages: vec![PreparedMessage { entry_id: EntryId::new("00000001"), message }],
        previous_summary: None,
        previous_ledger: None,
        file_tools: FileTools::default(),
        citations: false,
        custom_instructions: None,
        replace_instructions: false,
        turn: Vec::new(),
        texts: Arc::new(PromptTexts::default()),
        limits: OutputLimits { reserve_tokens: 10_000, model_max_tokens: None },
        local_tokens: 0,
        thinking: Default::default(),
        ledgers: None,
        conversation: None,
        redactor: None,
    }
}

/// Writes a summary with the model of these settings.
fn write(summarizer: &Value, text: &str) -> Result<SummaryText, EngineError> {
    let retry = json!({ "retry": { "baseDelayMs": 1 } });
    let settings = Settings::default().with(&retry).unwrap();
    let modelled = ModelSummarizer::new("tested", model("tested", summarizer), &settings);
    run(modelled.summarize(job(text), &job_context()))
}

fn answer(text: &str, reason: &str, written: Option<u64>) -> Script {
    let usage = written.map(|written| json!({ "prompt_tokens": 9, "completion_tokens": written }));
    let answer = json!({ "choices": [{ "message": { "content": text }, "finish_reason": reason }], "usage": usage });
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Script { status: 200, headers, body: answer.to_string().into_bytes(), ..Script::default() }
}

/// Asks a server with these answers. The second value is the requested limits.
fn ask(settings: Value, answers: Vec<Script>) -> (Result<SummaryText, EngineError>, Vec<u64>) {
    let tries = answers.len();
    let server = Server::start_several(answers);
    let mut summarizer = settings;
    summarizer["provider"] = json!("openai");
    summarizer["baseUrl"] = json!(server.address());
    let outcome = write(&summarizer, "Make peace.");
    let limits = (0..tries).map(|_| server.asked().body["max_tokens"].as_u64().unwrap()).collect();
    assert!(server.is_silent());
    (outcome, limits)
}

fn check_cut(settings: Value, written: &[Option<u64>], limits: &[u64], reason: &str) {
    let answers = written.iter().map(|written| answer("## Goal", "length", *written)).collect();
    let (outcome, asked) = ask(settings, answers);
    assert_eq!(asked, limits);
    match outcome.unwrap_err() {
        EngineError::SummaryRejected { reason: given } => assert_eq!(given, reason),
        other => panic!("{other}"),
    }
}

#[test]
fn a_second_try_has_more_room_and_says_what_is_known() {
    let none = [None, None];
    let twice = "it was cut off twice, at 8000 output tokens and at";
    check_cut(json!({ "model": "unknown" }), &none, &[8000, 16_000], &format!("{twice} 16000 output tokens"));
    // A known limit is requested at once.
    check_cut(
        json!({ "model": "gpt-4o-mini" }),
        &[None],
        &[16_384],
        "it was cut off at 16384 output tokens, the model's limit",
    );
    check_cut(
        json!({ "model": "unknown", "maxOutputTokens": 9000 }),
        &[None],
        &[9000],
        "it was cut off at 9000 output tokens, the model's limit",
    );
    check_cut(
        json!({ "model": "unknown", "contextWindow": 200_000 }),
        &none,
        &[8000, 16_000],
        &format!("{twice} 16000 output tokens"),
    );
    check_cut(
        json!({ "model": "claude-3-haiku-20240307" }),
        &[None],
        &[4096],
        "it was cut off at 4096 output tokens, the model's limit",
    );
    check_cut(
        json!({ "model": "unknown" }),
        &[Some(512), Some(512)],
        &[8000, 16_000],
        "it was cut off twice, by the server after 512 of 8000 output tokens and by the server after 512 of 16000 output \
         tokens",
    );
}

#[test]
fn a_small_window_is_named_where_it_leaves_no_room() {
    let server = Server::start(answer("## Goal", "length", None));
    let settings =
        json!({ "provider": "openai", "baseUrl": server.address(), "model": "unknown", "contextWindow": 2100 });
    let error = write(&settings, &"peace ".repeat(2000)).unwrap_err();
    let EngineError::SummaryRejected { reason } = error else { panic!("{error}") };
    assert!(reason.starts_with("it was cut off ") && !reason.contains("the model's limit"), "{reason}");
}

#[test]
fn a_provider_that_finds_every_request_too_large_is_quoted() {
    for (status, body, quoted) in [
        (413, "{\"error\":{\"message\":\"the proxy takes 1 MB\"}}", "tested: HTTP 413: the proxy takes 1 MB; "),
        (
            400,
            "{\"error\":{\"message\":\"This is too much\",\"code\":\"context_length_exceeded\"}}",
            "tested: HTTP 400: This is too much (context_length_exceeded); ",
        ),
    ] {
        let body = body.as_bytes().to_vec();
        let server = Server::start(Script { status, body, ..Script::default() });
        let settings = json!({ "provider": "openai", "baseUrl": server.address(), "model": "unknown" });
        let error = write(&settings, &"peace ".repeat(200)).unwrap_err();
        let EngineError::SummarizerFailed { cause, .. } = error else { panic!("{error}") };
        let rest = cause.strip_prefix(quoted).unwrap_or_else(|| panic!("{cause}"));
        assert!(rest.starts_with("failed to fit "), "{cause}");
    }
}

#[test]
fn an_answer_that_is_whole_the_second_time_is_the_summary() {
    let answers = vec![answer("## Goal", "length", None), answer(SUMMARY, "stop", None)];
    let (outcome, _) = ask(json!({ "model": "unknown" }), answers);
    let written = outcome.unwrap();
    assert_eq!((written.text.as_str(), written.attempts), (SUMMARY, 2));
}

#[test]
fn ends_by_the_server_are_tried_again() {
    for reason in ["abort", "insufficient_system_resource", "error"] {
        let answers = vec![answer("## Go", reason, None), answer(SUMMARY, "stop", None)];
        let (outcome, _) = ask(json!({ "model": "unknown" }), answers);
        assert_eq!(outcome.unwrap().text, SUMMARY, "{reason}");
    }
}

#[test]
fn what_stands_around_a_summary_is_none_of_it() {
    for text in [
        format!("<think>hm</think>\n```markdown\n{SUMMARY}\n```"),
        format!("Let me see.\n</think>\n\nHere it is:\n\n{SUMMARY}"),
        format!("[THINK]hm[/THINK]{SUMMARY}<|im_end|>"),
    ] {
        let (outcome, _) = ask(json!({ "model": "unknown" }), vec![answer(&text, "stop", None)]);
        assert_eq!(outcome.unwrap().text, SUMMARY, "{text}");
    }
    let (outcome, _) = ask(json!({ "model": "unknown" }), vec![answer("<think>hm</think>", "stop", None)]);
    let error = outcome.unwrap_err();
    assert!(matches!(&error, EngineError::SummaryRejected { reason } if reason == "it is empty"), "{error}");
}

#[test]
fn a_program_that_finds_the_prompt_too_long_gets_less_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary");
    std::fs::write(&summary, format!("\u{feff}\u{1b}[1m<think>hm</think>\n```md\n{SUMMARY}\n```\u{1b}[0m\r\n"))
        .unwrap();
    let sizes = directory.path().join("sizes");
    let script = format!(
        "size=$(wc -c); echo $size >> '{}'; if [ $size -gt 30000 ]; then echo 'Prompt is too long'; exit 1; fi; cat '{}'",
        sizes.display(),
        summary.display()
    );
    let settings = json!({ "provider": "command", "command": ["/bin/sh", "-c", script], "contextWindow": 100_000 });
    let written = write(&settings, &"Make peace, and again. ".repeat(2000)).unwrap();
    assert_eq!(written.text, SUMMARY);
    let sizes = std::fs::read_to_string(&sizes).unwrap();
    assert!(sizes.lines().count() > 1, "{sizes}");
}

#[test]
fn a_program_with_a_temporary_failure_is_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary");
    std::fs::write(&summary, SUMMARY).unwrap();
    let script = format!(
        "cat > /dev/null; if mkdir '{0}/once' 2> /dev/null; then echo 'Error: 429 Too Many Requests' >&2; exit 1; fi; cat '{0}/summary'",
        directory.path().display()
    );
    let written =
        write(&json!({ "provider": "command", "command": ["/bin/sh", "-c", script] }), "Make peace.").unwrap();
    assert_eq!((written.text.as_str(), written.attempts), (SUMMARY, 2));
}
