// What must hold for a session that is opened by its end. Included by the fuzz target and by the test
// that replays its seeds.

use session_store::{MemoryLog, Session, SessionOptions};

/// Bytes of an entry behind the header, more than are read first from the end.
const FAR_BYTES: usize = 70_000;

/// Opens a session wholly and by its end: leaf and context must be the same, also when the header
/// lies far before the rest.
pub(crate) fn tail_session(bytes: &[u8]) {
    check(bytes);
    if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let text = "x".repeat(FAR_BYTES);
        let far = format!(
            "{{\"type\":\"custom\",\"id\":\"far\",\"parentId\":null,\"timestamp\":\"T\",\"data\":\"{text}\"}}\n"
        );
        check(&[&bytes[..=end], far.as_bytes(), &bytes[end + 1..]].concat());
    }
}

fn check(bytes: &[u8]) {
    let open = |whole_bytes| {
        let options = SessionOptions { whole_bytes, ..SessionOptions::default() };
        Session::open(Box::new(MemoryLog::new(bytes)), options)
    };
    match (open(u64::MAX), open(0)) {
        (Ok(whole), Ok(tail)) => assert_eq!(shown(&tail), shown(&whole)),
        (Err(_), Err(_)) => {}
        (whole, tail) => panic!("{:?} and {:?}", whole.map(|_| ()), tail.map(|_| ())),
    }
}

fn shown(session: &Session) -> String {
    let leaf = session.leaf_id();
    let projection = session.context(leaf).unwrap().projection;
    let messages: Vec<&str> = projection.messages().map(|message| message.raw().get()).collect();
    let (level, model) = (projection.thinking_level(), projection.model());
    format!("{leaf:?} {level} {model:?} {:?} {messages:?}", projection.diagnostics())
}
