use super::*;

fn large_session() -> Option<Vec<Arc<Message>>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/large-session.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no session at {}", path.display());
        return None;
    };
    let message = |line: &str| {
        let object = crate::json::RawObject::parse(line).ok()?;
        Message::from_json(object.get("message")?).ok().map(Arc::new)
    };
    Some(text.lines().filter_map(message).collect())
}

#[test]
fn show() {
    let Some(messages) = large_session() else { return };
    let input = ExtractiveInput {
        kind: SummaryKind::History,
        messages: &messages[..730],
        previous_summary: None,
        custom_instructions: None,
        max_tokens: 13107,
    };
    let t = std::time::Instant::now();
    let s = summarize(&input, &|| false).unwrap();
    eprintln!("{:?} {} tokens\n{s}", t.elapsed(), crate::tokens::estimate_text(&s));
}
