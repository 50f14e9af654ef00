//! The example of the README; a test compares the two and runs it.
#![expect(clippy::print_stdout, reason = "it shows what it gets")]

use compactd_client::protocol::{
    AppendMessageParams, ClientInfo, CompactParams, CompactResult, ContextFormat, CreateSessionParams,
    GetContextParams, InitializeParams, RecallParams,
};
use compactd_client::{ClientError, Server};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ClientError> {
    let server = Server::start()?;
    server.initialize(&InitializeParams::new(1, ClientInfo::new("my-agent"))).await?;
    let session = CreateSessionParams { session_dir: Some("sessions".into()), ..Default::default() };
    let id = server.create_session(&session).await?.session_id;

    for step in 1..=30 {
        let question = format!("Step {step}: write a test for src/part{step}.ts. Never change the public API.");
        let answer = format!("I wrote test/part{step}.ts and ran it: {} assertions pass.", step * 3);
        let question = json!({ "role": "user", "content": question });
        let answer = json!({ "role": "assistant", "content": [{ "type": "text", "text": answer }] });
        for message in [question, answer] {
            server.append_message(&AppendMessageParams::new(&id, message)).await?;
        }
    }

    let settings = Some(json!({ "keepRecentTokens": 200 }));
    let result = server.compact(&CompactParams { settings, ..CompactParams::new(&id) }).await?;
    if let CompactResult::CompactionResult(done) = result {
        println!("{} tokens before, {} after", done.tokens_before, done.tokens_after);
        println!("{}", done.summary.lines().take(6).collect::<Vec<_>>().join("\n"));
    }

    let format = Some(ContextFormat::Llm);
    let context = server.get_context(&GetContextParams { format, ..GetContextParams::new(&id) }).await?;
    println!("the model now sees {} messages", context.messages.len());
    let query = Some("part7.ts".into());
    let recalled = server.recall(&RecallParams { query, ..RecallParams::new(&id) }).await?;
    println!("recalled: {}", recalled.entries[0].text);

    server.shutdown().await?;
    Ok(())
}
