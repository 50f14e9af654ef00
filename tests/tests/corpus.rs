//! The figures of a real session, over the protocol: as the version 1 file that it is, and as the
//! version 3 file that it becomes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use compactd_client::Server;
use compactd_tests::binary::binary;
use serde_json::{Value, json};

/// Characters by which this project's mark of a cut result is shorter than the reference's, of
/// whose text the corpus tells the length.
const SHORTER_MARK: usize = 14;

struct Fixture {
    server: Server,
    home: tempfile::TempDir,
}

impl Fixture {
    async fn start() -> Self {
        let home = tempfile::tempdir().expect("there is room for a temporary directory");
        let mut command = Command::new(binary().expect("the server is built"));
        command.env_clear().env("HOME", home.path()).current_dir(home.path()).stderr(Stdio::null());
        let fixture = Self { server: Server::spawn(command).expect("the server starts"), home };
        let hello = json!({ "protocolVersion": 1, "clientInfo": { "name": "test" }, "agentDir": fixture.home.path() });
        fixture.call("initialize", hello).await;
        fixture
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        self.server.request(method, &params).await.unwrap_or_else(|error| panic!("{method} fails: {error}"))
    }

    async fn open(&self, path: &Path) -> Value {
        self.call("openSession", json!({ "path": path })).await
    }
}

fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let path = root.join("../shared/corpus/large-session.jsonl");
    if !path.exists() {
        // Without standard error nobody is there to be told.
        let _ = writeln!(std::io::stderr(), "skipped: the real session is not here ({})", path.display());
        return None;
    }
    Some(path)
}

/// What the reference answers for the session, reserve 16384 and keep 20000.
async fn check_figures(fixture: &Fixture, session: &Value) {
    let params = json!({ "sessionId": session, "settings": { "reserveTokens": 16384, "keepRecentTokens": 20000 } });
    let preparation = fixture.call("prepareCompaction", params).await["preparation"].take();
    let entries = fixture.call("getEntries", json!({ "sessionId": session })).await["entries"].take();
    assert_eq!(entries[837]["id"], preparation["firstKeptEntryId"]);
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    assert_eq!(count(&preparation["messagesToSummarize"]), 730);
    assert_eq!(count(&preparation["turnPrefixMessages"]), 3);
    assert_eq!(preparation["isSplitTurn"], json!(true));
    assert_eq!(preparation["tokensBefore"], json!(177_657));
    let operations = &preparation["fileOps"];
    assert_eq!(["read", "written", "edited"].map(|list| count(&operations[list])), [21, 3, 20]);
    let params = json!({ "messages": preparation["messagesToSummarize"] });
    let text = fixture.call("serializeConversation", params).await["text"].take();
    let text = text.as_str().expect("a text");
    let marks = text.matches(" more characters]").count();
    assert_eq!(text.encode_utf16().count() + marks * SHORTER_MARK, 337_482);
}

#[tokio::test]
async fn both_versions_of_the_file_give_the_figures() {
    let Some(corpus) = corpus() else {
        return;
    };
    let fixture = Fixture::start().await;
    let path = fixture.home.path().join("session.jsonl");
    let bytes = std::fs::read(&corpus).expect("the corpus is readable");
    std::fs::write(&path, &bytes).expect("the copy is written");

    let opened = fixture.open(&path).await;
    assert_eq!(opened["migratedFrom"], json!(1));
    check_figures(&fixture, &opened["sessionId"]).await;
    assert_eq!(std::fs::read(&path).expect("readable"), bytes, "reading has changed the file");

    // The first append makes it a version 3 file; a name gives the model nothing.
    fixture.call("setSessionName", json!({ "sessionId": opened["sessionId"], "name": "real" })).await;
    fixture.call("closeSession", json!({ "sessionId": opened["sessionId"] })).await;
    let backup = fixture.home.path().join("session.jsonl.v1.bak");
    assert_eq!(std::fs::read(backup).expect("the original was kept"), bytes);
    let opened = fixture.open(&path).await;
    assert_eq!((&opened["migratedFrom"], &opened["header"]["version"]), (&Value::Null, &json!(3)));
    check_figures(&fixture, &opened["sessionId"]).await;
}
