//! Programs as models: their input, their exit status, and the end of their processes.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use compaction_engine::models::{Answer, FailureKind, ModelError, StopReason, summary_of};
use serde_json::json;

use super::harness::{ask, context, model, request, run};

/// Asks a shell that runs `script`.
fn shell(script: &str) -> (Result<Answer, ModelError>, String) {
    ask(model("mine", &settings(script)).as_ref(), &request())
}

fn settings(script: &str) -> serde_json::Value {
    json!({ "provider": "command", "command": ["/bin/sh", "-c", script], "env": { "GIVEN": "by settings" } })
}

#[test]
fn a_program_reads_the_prompt_and_writes_the_summary() {
    let (answer, streamed) =
        shell("printf '\\n[%s %s %s]\\n' \"$COMPACTD_KIND\" $COMPACTD_MAX_TOKENS \"$GIVEN\"; cat; echo");
    let answer = answer.unwrap();
    let text = "[history 321 by settings]\nYou summarise.\n\n<conversation>\nGrüße, 世界 🦀\n</conversation>";
    assert_eq!((answer.text.as_str(), &answer.stop, &answer.usage), (text, &StopReason::Stop, &None));
    assert_eq!(streamed.trim(), text);
}

#[test]
fn its_end_decides() {
    for (script, kind, cause) in [
        ("echo half; exit 3", FailureKind::Refused, "it ended with status 3"),
        (
            "echo one >&2; echo two >&2; echo >&2; printf '\\033[1mthree\\n' >&2; echo four >&2; exit 1",
            FailureKind::Refused,
            "it ended with status 1: two; [1mthree; four",
        ),
        (
            "printf 'key: sk-sen%s-3c1d77' tinel >&2; exit 1",
            FailureKind::Refused,
            "it ended with status 1: key: [secret]",
        ),
        ("echo busy >&2; exit 75", FailureKind::Server, "it ended with status 75, failing for now: busy"),
        ("kill -9 $$", FailureKind::Refused, "it was ended by signal 9"),
        (
            "printf '\\377'",
            FailureKind::Refused,
            "its output is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0",
        ),
        (
            "while :; do echo 0123456789012345678901234567890123456789; done",
            FailureKind::Refused,
            "it wrote more than 4194304 bytes",
        ),
    ] {
        let error = shell(script).0.unwrap_err();
        assert_eq!((error.kind, error.cause.as_str()), (kind, format!("mine: /bin/sh: {cause}").as_str()), "{script}");
    }
}

#[test]
fn what_it_says_of_its_failure_decides() {
    for (said, status, kind) in [
        ("Error: Request failed with status code 429: Too Many Requests", 1, FailureKind::RateLimited),
        (
            "Error: Error code: 429 - {\"error\":{\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\"}}",
            1,
            FailureKind::Quota,
        ),
        (
            "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
            1,
            FailureKind::Overloaded,
        ),
        ("Prompt is too long", 1, FailureKind::Overflow),
        (
            "openai.BadRequestError: Error code: 400 - This model's maximum context length is 8192 tokens.",
            2,
            FailureKind::Overflow,
        ),
        ("Error: 401 Incorrect API key provided", 1, FailureKind::Authentication),
        ("ThrottlingException: Rate exceeded", 75, FailureKind::RateLimited),
        ("the prompt is wrong", 75, FailureKind::Server),
        ("Traceback: ValueError: no such option", 2, FailureKind::Refused),
    ] {
        for stream in ["1>&2", ""] {
            let is_known = kind != FailureKind::Refused && kind != FailureKind::Server;
            let script = format!("cat <<'END' {stream}\nLoading…\n{said}\nEND\nexit {status}");
            let error = shell(&script).0.unwrap_err();
            assert_eq!(error.kind, kind, "{script}: {error}");
            // A part of a summary is not part of the error.
            assert_eq!(error.cause.contains(&one_line(said)), is_known || !stream.is_empty(), "{error}");
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn codes_for_a_terminal_and_thinking_are_not_shown() {
    let script =
        "printf '\\033[1m<thi'; sleep 0.05; printf 'nk>hm</think>\\n## Go\\033['; sleep 0.05; printf '0mal\\033[K'";
    let (answer, streamed) = shell(script);
    assert_eq!(streamed, "## Goal");
    assert_eq!(summary_of(&answer.unwrap().text), "## Goal");
}

#[test]
fn no_part_of_a_key_is_left_where_a_long_text_is_cut() {
    let key = "printf ' sk-sen%s-3c1d77 end' tinel >&2; exit 1";
    let script = format!("head -c 590 /dev/zero | tr '\\0' x >&2; {key}");
    let error = shell(&script).0.unwrap_err();
    assert!(error.cause.ends_with("x [secret]…"), "{error}");
    // The end of a long output is kept. It begins with a whole word.
    let script = format!("printf 'sk-sen%s-3c' tinel >&2; head -c 9000 /dev/zero | tr '\\0' x >&2; {key}");
    let error = shell(&script).0.unwrap_err();
    assert_eq!(error.cause, "mine: /bin/sh: it ended with status 1: [secret] end");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let settings = json!({ "provider": "command", "command": ["/no/such/program"] });
    let error = ask(model("mine", &settings).as_ref(), &request()).0.unwrap_err();
    assert_eq!(error.kind, FailureKind::Refused);
    assert!(error.cause.starts_with("mine: /no/such/program: failed to start: "), "{error}");
}

#[test]
fn an_empty_answer_is_an_answer() {
    assert_eq!(shell("cat > /dev/null").0.unwrap().text, "");
}

#[test]
fn pipes_of_any_size_do_not_stand_still() {
    let mut large = request();
    large.prompt = "Grüße 🦀 ".repeat(200_000);
    for script in [
        "echo done",
        "exec <&-; sleep 0.1; echo done",
        "head -c 1000000 /dev/zero >&2; cat > /dev/null; echo done",
        "head -c 1000000 /dev/zero | tr '\\0' ' '; cat > /dev/null; echo done",
    ] {
        let (answer, _) = ask(model("mine", &settings(script)).as_ref(), &large);
        assert_eq!(answer.unwrap().text, "done", "{script}");
    }
    let (answer, streamed) = ask(model("mine", &settings("cat")).as_ref(), &large);
    let text = answer.unwrap().text;
    assert_eq!(text, format!("{}\n\n{}", large.system_prompt, large.prompt).trim());
    assert_eq!(streamed.trim(), text);
}

#[test]
fn what_a_program_leaves_running_ends_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join("left");
    let script = format!("sleep 300 & echo $! > '{}'; echo done", left.display());
    assert_eq!(shell(&script).0.unwrap().text, "done");
    wait_until("the process that was left is gone", || !is_running(&id_in(&left)));
}

#[test]
fn a_caller_that_goes_ends_the_program_and_all_of_its_group() {
    let directory = tempfile::tempdir().unwrap();
    let [parent, child] = ["parent", "child"].map(|name| directory.path().join(name));
    let script = format!(
        "trap '' TERM; sleep 300 & echo $! > '{}'; echo $$ > '{}'; echo started; wait",
        child.display(),
        parent.display()
    );
    let model = model("mine", &settings(&script));
    run(async {
        let started = tokio::sync::Notify::new();
        let streamed = Mutex::new(String::new());
        let on_delta = |piece: &str| {
            streamed.lock().unwrap().push_str(piece);
            started.notify_one();
        };
        let (request, context) = (request(), context());
        tokio::select! {
            outcome = model.complete(&request, &context, &on_delta) => panic!("{outcome:?}"),
            () = started.notified() => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => panic!("it was not started"),
        }
        // The runtime continues, as the server's does. It collects the status, so that no zombie remains.
        // The first process of the system collects the rest of the group later.
        let end = Instant::now() + Duration::from_secs(20);
        while exists(&id_in(&parent)) || is_running(&id_in(&child)) {
            assert!(Instant::now() < end, "the group is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

fn id_in(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

/// Whether the process exists. A zombie counts.
fn exists(id: &str) -> bool {
    let shown = std::process::Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
    !shown.stdout.is_empty()
}

/// Whether the process is running.
fn is_running(id: &str) -> bool {
    let shown = std::process::Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
    !shown.stdout.is_empty() && !shown.stdout.trim_ascii().starts_with(b"Z")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
