//! Operations on sessions in memory, without a server. The tests check the events and questions of the host in order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::entry::EntryId;
use compaction_core::message::Message;
use compaction_engine::host::{
    BeforeCompaction, BeforeNavigation, CompactionDone, Decision, GivenSummary, GivenText, Navigation,
    NavigationChanges, Question,
};
use compaction_engine::session::AgentModel;
use compaction_engine::settings::SettingsLayers;
use compaction_engine::{
    CompactionRequest, Engine, EngineError, ErrorKind, Event, Host, NavigationRequest, OpenSession, Settings,
};
use serde_json::{Value, json};
use session_store::log::{Batch, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog};
use session_store::{Durability, Locator, MemoryLog, MemoryStore, Session, SessionOptions};
use tokio_util::sync::CancellationToken;

/// The answer of the host to both hooks.
#[derive(Debug, Clone)]
enum Say {
    Nothing,
    Cancel,
    Give(&'static str),
    Panic,
}

/// A host that records its events and questions.
#[derive(Debug)]
struct Recorder {
    events: Mutex<Vec<String>>,
    say: Say,
}

#[async_trait]
impl Host for Recorder {
    fn notify(&self, event: Event) {
        self.events.lock().unwrap().push(shown(&event));
    }

    fn answers(&self, question: Question) -> bool {
        question != Question::Summary && !matches!(self.say, Say::Nothing)
    }

    async fn before_compaction(
        &self,
        question: BeforeCompaction,
        _: Duration,
    ) -> Result<Decision<Option<GivenSummary>>, EngineError> {
        self.events.lock().unwrap().push(format!("asked about {} entries", question.branch.len()));
        Ok(match self.say {
            Say::Nothing => Decision::Go(None),
            Say::Cancel => Decision::Cancel,
            Say::Panic => panic!("the host panics"),
            Say::Give(text) => Decision::Go(Some(GivenSummary {
                text: GivenText { summary: text.to_owned(), details: None, usage: None },
                first_kept_entry_id: None,
                tokens_before: None,
            })),
        })
    }

    async fn before_navigation(
        &self,
        question: BeforeNavigation,
        _: Duration,
    ) -> Result<Decision<NavigationChanges>, EngineError> {
        self.events.lock().unwrap().push(format!("asked about {} left entries", question.abandoned.len()));
        Ok(match self.say {
            Say::Cancel => Decision::Cancel,
            _ => Decision::Go(NavigationChanges::default()),
        })
    }
}

fn shown(event: &Event) -> String {
    match event {
        Event::EntryAppended { entry, .. } => format!("appended {}", entry.kind_name()),
        Event::SessionChanged { .. } => "changed".to_owned(),
        Event::LeafChanged { .. } => "leaf changed".to_owned(),
        Event::CompactionStarted { .. } => "compaction started".to_owned(),
        Event::CompactionEnded(end) => match &end.outcome {
            Ok(CompactionDone::Compacted(done)) => format!("compacted by {}", done.summarizer),
            Ok(CompactionDone::Clipped(_)) => "clipped".to_owned(),
            Err(error) => format!("compaction failed: {error}"),
        },
        Event::NavigationStarted { .. } => "navigation started".to_owned(),
        Event::NavigationEnded { outcome, .. } => match outcome {
            Ok(Navigation { is_cancelled: true, .. }) => "navigation called off".to_owned(),
            Ok(_) => "navigated".to_owned(),
            Err(error) => format!("navigation failed: {error}"),
        },
        Event::Progress(progress) => format!("{:?}", progress.phase),
    }
}

fn engine(settings: &Value, say: Say) -> (Arc<Recorder>, Arc<Engine>) {
    let settings = Settings::default().with(settings).unwrap();
    let host = Arc::new(Recorder { events: Mutex::default(), say });
    let layers = SettingsLayers::without_files(&settings);
    let engine = Engine::new(Arc::clone(&host) as Arc<dyn Host>, layers, CancellationToken::new());
    (host, Arc::new(engine))
}

/// An engine, its host, and a conversation in memory.
struct Scene {
    host: Arc<Recorder>,
    engine: Arc<Engine>,
    session: Arc<OpenSession>,
    ids: Vec<EntryId>,
}

impl Scene {
    async fn new(say: Say) -> Self {
        let (host, engine) = engine(&json!({ "compaction": { "keepRecentTokens": 40 } }), say);
        let said = |number: usize| {
            let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
            let text = format!("Step {number}: the parser reads the header first. {}", "It is long. ".repeat(100));
            message(&json!({ "role": role, "content": text }))
        };
        let messages: Vec<Message> = (0..6).map(said).collect();
        let session = Arc::new(OpenSession::of_messages(&messages).unwrap());
        let ids = {
            let stored = session.read().await;
            let view = session.view(stored.as_ref()).unwrap();
            view.read(|session| session.branch_ids(session.leaf_id())).unwrap()
        };
        Self { host, engine, session, ids }
    }

    async fn navigate(&self, request: NavigationRequest) -> Result<Navigation, EngineError> {
        let settings = self.engine.settings();
        let chain = self.engine.summarizers(None, &settings)?;
        let turn = (Arc::clone(&self.session), self.session.write().await);
        let (parent, request_cancel) = (CancellationToken::new(), CancellationToken::new());
        let begun = self.engine.begin_navigation(turn, request, &settings, chain, parent, request_cancel).await?;
        self.engine.start_navigation(begun).await
    }

    fn check_events(&self, expected: &[&str]) {
        assert_eq!(*self.host.events.lock().unwrap(), expected);
        assert_eq!(self.session.operation_id(), None, "the claim has ended");
    }
}

fn message(message: &Value) -> Message {
    Message::from_json(&message.to_string()).unwrap()
}

#[tokio::test]
async fn a_compaction_is_reported_from_start_to_end() {
    let scene = Scene::new(Say::Nothing).await;
    let compaction = scene.engine.compact(&scene.session, CompactionRequest::default()).await.unwrap();
    assert!(compaction.tokens_after < compaction.tokens_before, "{compaction:?}");
    scene.check_events(&["compaction started", "appended compaction", "compacted by extractive"]);
    let again = scene.engine.compact(&scene.session, CompactionRequest::default()).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyCompacted, "{again}");
}

#[tokio::test]
async fn a_host_gives_the_summary_or_calls_it_off() {
    let scene = Scene::new(Say::Give("All of it was about the parser.")).await;
    let compaction = scene.engine.compact(&scene.session, CompactionRequest::default()).await.unwrap();
    assert_eq!((compaction.summary.as_str(), compaction.from_hook), ("All of it was about the parser.", true));
    scene.check_events(&["compaction started", "asked about 6 entries", "appended compaction", "compacted by hook"]);

    let scene = Scene::new(Say::Cancel).await;
    let error = scene.engine.compact(&scene.session, CompactionRequest::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CancelledByHook);
    let failed = "compaction failed: a hook cancelled the operation";
    scene.check_events(&["compaction started", "asked about 6 entries", failed]);

    let scene = Scene::new(Say::Give(" ")).await;
    let error = scene.engine.compact(&scene.session, CompactionRequest::default()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable(), error.attempts()), (ErrorKind::SummaryRejected, false, None));
}

#[tokio::test]
async fn what_panics_ends_and_frees_the_session() {
    let scene = Scene::new(Say::Panic).await;
    let error = scene.engine.compact(&scene.session, CompactionRequest::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    let failed = "compaction failed: the compaction panicked";
    scene.check_events(&["compaction started", "asked about 6 entries", failed]);
}

#[tokio::test]
async fn a_navigation_with_a_summary_goes_the_same_way() {
    let scene = Scene::new(Say::Nothing).await;
    let mut request = NavigationRequest::to(scene.ids[1].clone());
    request.summarize = true;
    let navigation = scene.navigate(request).await.unwrap();
    assert_eq!(navigation.old_leaf_id, scene.ids.last().cloned());
    assert!(navigation.summary_entry.is_some());
    scene.check_events(&["navigation started", "appended branch_summary", "leaf changed", "navigated"]);

    let scene = Scene::new(Say::Cancel).await;
    let mut request = NavigationRequest::to(scene.ids[1].clone());
    request.waits = false;
    assert!(scene.navigate(request).await.unwrap().is_cancelled);
    scene.check_events(&["asked about 4 left entries", "navigation started", "navigation called off"]);
}

/// A log whose syncs fail, as those of a broken disk.
#[derive(Debug)]
struct UnsyncedLog(MemoryLog);

impl SessionLog for UnsyncedLog {
    fn locator(&self) -> Option<&Locator> {
        None
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        self.0.read(span)
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        self.0.refresh()
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Span, LogError> {
        self.0.append(batch)
    }

    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        self.0.replace_all(backup_suffix, hold, rewrite)
    }

    fn sync(&mut self) -> io::Result<()> {
        Err(io::Error::other("no disk"))
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        Ok(Box::new(|| Err(io::Error::other("no disk"))))
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        self.0.cut(end, length)
    }

    fn release(&mut self) {
        self.0.release();
    }
}

/// Messages whose tool result is larger than a window of 20,000 tokens, after enough others for a compaction.
fn with_large_result() -> Vec<Value> {
    let words = "word ".repeat(1500);
    let call = json!({ "type": "toolCall", "id": "c", "name": "read", "arguments": { "path": "a" } });
    let turns = (0..6)
        .flat_map(|_| [json!({ "role": "user", "content": words }), json!({ "role": "assistant", "content": words })]);
    let result =
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "word ".repeat(60_000) });
    turns
        .chain([json!({ "role": "user", "content": "go" }), json!({ "role": "assistant", "content": [call] }), result])
        .collect()
}

#[tokio::test]
async fn a_compaction_that_was_announced_ends_although_the_disk_refuses_what_was_shortened_before() {
    let (host, engine) = engine(&json!({}), Say::Nothing);
    let mut text = format!("{}\n", json!({ "type": "session", "version": 3, "id": "s", "cwd": "/" }));
    let mut parent = Value::Null;
    for (number, message) in with_large_result().into_iter().enumerate() {
        let id = format!("e{number}");
        let entry = json!({ "type": "message", "id": id, "parentId": parent, "message": message });
        text += &format!("{entry}\n");
        parent = json!(id);
    }
    let options = SessionOptions { durability: Durability::Always, ..SessionOptions::default() };
    let stored = Session::open(Box::new(UnsyncedLog(MemoryLog::new(text))), options).unwrap();
    let session = Arc::new(OpenSession::new(Arc::new(MemoryStore), stored).0);
    session.auto_compaction.set(Some(AgentModel {
        provider: "acme".to_owned(),
        id: "m".to_owned(),
        context_window: 20_000,
        max_output_tokens: None,
    }));
    engine.check_size(&session).await;
    let has_ended = async {
        while !host
            .events
            .lock()
            .unwrap()
            .iter()
            .any(|event| event.starts_with("compact") && !event.ends_with("started"))
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), has_ended).await;
    let events = host.events.lock().unwrap().clone();
    assert!(events.starts_with(&["appended context_edit".to_owned(), "compaction started".to_owned()]), "{events:?}");
    assert!(ended.is_ok(), "{events:?}");
    assert_eq!(session.operation_id(), None, "the claim has ended");
}
