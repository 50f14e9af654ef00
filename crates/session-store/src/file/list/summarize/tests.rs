//! The quick reader against the JSON reader.

use proptest::prelude::*;

use super::*;

fn empty() -> SessionSummary {
    SessionSummary {
        locator: "s.jsonl".into(),
        session_id: "s".to_owned(),
        cwd: String::new(),
        name: None,
        parent_session: None,
        created: String::new(),
        modified: i64::MIN,
        message_count: 0,
        first_message: String::new(),
    }
}

/// Both readers must say the same of `line`; whether the quick one could read it.
#[track_caller]
fn check(line: &[u8]) -> bool {
    for first_message in ["", "earlier"] {
        let start = SessionSummary { first_message: first_message.to_owned(), ..empty() };
        let (mut quick, mut slow) = (start.clone(), start);
        add_line(&mut quick, line);
        add_slowly(&mut slow, line);
        assert_eq!(quick, slow, "{}", String::from_utf8_lossy(line));
    }
    Glance::of(line).is_some()
}

#[test]
fn plain_lines_are_read_quickly() {
    for line in [
        r#"{"type":"message","id":"a","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"a \"b\" \\","timestamp":5}}"#,
        r#" { "type" : "message" , "message" : { "role" : "assistant" , "content" : [ { } , [ ] , -1.5e+3 , true , null ] } } "#,
        r#"{"type":"message","message":{"role":"assistant","timestamp":1.5e3}}"#,
        r#"{"type":"message","message":{"role":"assistant","timestamp":"7"},"timestamp":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"type":"message","message":{"role":"assistant","timestamp":1},"message":{"role":"user"}}"#,
        r#"{"type":"message","message":{"role":"assistant","timestamp":1},"message":"text"}"#,
        r#"{"type":"message","message":{"content":[{"role":"user","timestamp":9}],"role":"assistant","timestamp":3}}"#,
        r#"{"type":"message"}"#,
        r#"{"type":"session_info","name":"a\r\nbé😀"}"#,
        r#"{"type":"session_info","name":"x","name":7}"#,
        r#"{"type":"session_info"}"#,
        r#"{"type":7,"x":"\ud800"}"#,
        "{}",
    ] {
        assert!(check(line.as_bytes()), "{line}");
    }
}

#[test]
fn what_is_not_plain_is_left_to_the_json_reader() {
    for line in [
        r#"{"t\u0079pe":"message","message":{"role":"user","content":"x","timestamp":5}}"#,
        r#"{"type":"message","message":{"r\u006fle":"assistant","timestamp":5}}"#,
        "{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":\"a\tb\"}}",
        r#"{"type":"message","message":{"role":"assistant","content":"x"#,
        r#"{"type":"message","message":{"role":"assistant"}} x"#,
        r#"{"type":"message","message":{"role":"assistant","n":01}}"#,
        r#"{"type":"message","message":{"role":"assistant","n":1.}}"#,
        r#"{"type":"message","message":{"role":"assistant","n":[1 2]}}"#,
        r#"{"type":"message","message":{"role":"assistant","n":[1}}}"#,
        r#"{"type":"message","message":{"role":"assistant","n":"\x"}}"#,
        r#"{"type":"message","message":{"role":"assistant","n":"\u12g4"}}"#,
        r#"{"type":"message","message":{"role":"assistant","n":nul}}"#,
        r#"{"type":"message",}"#,
        "[]",
        "",
    ] {
        assert!(!check(line.as_bytes()), "{line}");
    }
    let deep = format!(r#"{{"type":"message","x":{}{}}}"#, "[".repeat(90_000), "]".repeat(90_000));
    assert!(!check(deep.as_bytes()));
    // The value of an escaped type and role is read there as well.
    for line in [
        r#"{"type":"m\u0065ssage","message":{"role":"assistant","timestamp":5}}"#,
        r#"{"type":"message","message":{"role":"\u0075ser","content":"x","timestamp":5}}"#,
    ] {
        check(line.as_bytes());
    }
}

/// What lines are made of.
const PIECES: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b" ",
    b"\"",
    b"\\",
    b"\"type\":\"message\"",
    b"\"type\":\"session_info\"",
    b",\"message\":{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":5}",
    b",\"message\":{\"role\":\"assistant\",\"timestamp\":1e400}",
    b"\"role\":\"assistant\"",
    b",\"name\":\"n\\u00e9 \\ud83d\"",
    b",\"timestamp\":\"2026-01-01T00:00:00.000Z\"",
    b"\"timestamp\":-12.5E3",
    b"\"a\":true",
    b"null",
    b"\xff\xc3",
    b"\x01",
    b"0",
    b"\\u00",
];

/// Lines made of the pieces that matter, most of them nearly right.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let piece = proptest::sample::select(PIECES);
    let pieces = proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat());
    let entry = pieces.clone().prop_map(|inner| [&b"{\"type\":\"message\""[..], &inner, b"}"].concat());
    let message = pieces.clone().prop_map(|inner| {
        [&b"{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"x\":"[..], &inner, b",\"timestamp\":3}}"]
            .concat()
    });
    prop_oneof![pieces, entry, message]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn both_readers_say_the_same(line in line()) {
        check(&line);
    }

    #[test]
    fn one_byte_may_be_anything(at in 0_usize..200, byte: u8) {
        let line = br#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"a \"b\" \\ \n"},[1.5e3,-0,true]],"timestamp":17000}}"#;
        let mut line = line.to_vec();
        let at = at % line.len();
        line[at] = byte;
        check(&line);
    }
}
