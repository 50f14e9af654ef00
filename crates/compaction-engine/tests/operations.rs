//! Operations on sessions in memory, without a server. The tests check the events and questions of the host in order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::entry::EntryId;
use compaction_core::message::Message;
use compaction_core::pins::{pin_members, remove_pinned_entries};
use compaction_core::tokens::estimate_text;
use compaction_engine::host::{
    BeforeCompaction, BeforeNavigation, CompactionDone, Decision, GivenSummary, GivenText, Navigation,
    NavigationChanges, Question,
};
use compaction_engine::session::{AgentModel, SessionAccess};
use compaction_engine::settings::SettingsLayers;
use compaction_engine::{
    CompactionRequest, Engine, EngineError, ErrorKind, Event, Host, NavigationRequest, OpenSession, Settings,
};
use serde_json::{Value, json};
use session_store::log::{Batch, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog};
use session_store::{Durability, Locator, MemoryLog, MemoryStore, NewEntry, Parent, Session, SessionOptions};
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
async fn an_extractive_summary_and_its_facts_hold_no_secret() {
    let password = format!("tr0ub4dor+{}", 31);
    let (_, engine) = engine(&json!({ "compaction": { "keepRecentTokens": 40 } }), Say::Nothing);
    let said = [
        ("user", format!("Set DB_PASSWORD={password} in the file .env, and never commit that file.")),
        ("assistant", format!("I wrote {password} into .env and did not commit it. {}", "It is long. ".repeat(400))),
        ("user", format!("Good. Now describe the set-up in docs/setup.md. {}", "It is long. ".repeat(40))),
        ("assistant", "It is described. ".repeat(40)),
    ];
    let messages = said.map(|(role, text)| message(&json!({ "role": role, "content": text })));
    let session = Arc::new(OpenSession::of_messages(&messages).unwrap());
    let done = engine.compact(&session, CompactionRequest::default()).await.unwrap();
    let stored = format!("{}\n{}", done.summary, done.details.get());
    assert!(stored.contains("[redacted:password]") && stored.contains(".env"), "{stored}");
    assert!(!stored.contains(&password), "{stored}");
    assert_eq!(done.redactions.values().sum::<u32>(), 2, "{:?}", done.redactions);
}

/// A summary has room, so what was said in the removed part of the newest turn stays.
#[tokio::test]
async fn a_short_turn_that_is_split_keeps_its_sentences() {
    let (_, engine) = engine(&json!({ "compaction": { "keepRecentTokens": 40 } }), Say::Nothing);
    let rule = |number: usize| format!("Rule {number} of the gate says that order {number}7 waits in room {number}3.");
    let answer: Vec<String> = (1..25).map(rule).collect();
    let code = "row = read()\n".repeat(130);
    let said = [
        ("user", format!("Add an action that blocks an account. {}", "It is urgent. ".repeat(100))),
        ("assistant", format!("The action `block` is in place. {}", "It was tried. ".repeat(100))),
        ("user", "Now close an order without a review if the confidence is above 0.9.".to_owned()),
        ("assistant", format!("{}\n```\n{code}```\n", answer.join(" "))),
        ("assistant", "I can offer another way. ".repeat(10)),
    ];
    let messages = said.map(|(role, text)| message(&json!({ "role": role, "content": text })));
    let session = Arc::new(OpenSession::of_messages(&messages).unwrap());
    let compaction = engine.compact(&session, CompactionRequest::default()).await.unwrap();
    for sentence in answer {
        assert!(compaction.summary.contains(&sentence), "{sentence}\n{}", compaction.summary);
    }
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

/// Numbers that look drawn by chance, the same in every run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn words(&mut self, count: usize) -> String {
        const WORDS: [&str; 12] = [
            "parser",
            "header",
            "must",
            "reads",
            "never",
            "because",
            "error:",
            "src/main.rs",
            "decided",
            "test",
            "the",
            "table",
        ];
        (0..count).map(|_| self.one_of(&WORDS)).collect::<Vec<_>>().join(" ")
    }
}

/// A turn of a few messages: words of a person, calls with their results, an answer.
fn turn(drawn: &mut Drawn, number: usize) -> Vec<Value> {
    let request = drawn.one_of(&[1, 3, 40, 400]);
    let mut turn = vec![json!({ "role": "user", "content": format!("Request {number}: {}", drawn.words(request)) })];
    for step in 0..drawn.one_of(&[0, 1, 3, 9]) {
        let (id, length) = (format!("c{number}-{step}"), drawn.one_of(&[1, 10, 300]));
        let call = json!({ "type": "toolCall", "id": id, "name": "bash", "arguments": { "command": drawn.words(4) } });
        turn.push(json!({ "role": "assistant", "content": [call], "stopReason": "toolUse" }));
        let content = json!([{ "type": "text", "text": drawn.words(length) }]);
        turn.push(json!({ "role": "toolResult", "toolCallId": id, "toolName": "bash", "content": content }));
    }
    if drawn.below(3) > 0 {
        let length = drawn.one_of(&[1, 20, 200]);
        turn.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": drawn.words(length) }], "stopReason": "stop" }));
    }
    turn
}

/// The context as text, and its messages' tokens.
async fn context_of(session: &Arc<OpenSession>) -> (String, Vec<(EntryId, u64)>) {
    let context = session.context().await.unwrap();
    let messages = context.entries().iter().flat_map(|projected| {
        projected.messages.iter().map(|message| (projected.entry.id().clone(), message.tokens())).collect::<Vec<_>>()
    });
    let texts: Vec<&str> = context.messages().map(|message| message.raw().get()).collect();
    (texts.join("\n"), messages.collect())
}

/// Tokens that a part of a summary without a model may always take, and those of the text between two parts.
const LEAST_TOKENS: u64 = 256;
const JOINT_TOKENS: u64 = 32;

/// Chains of compactions with pins, split turns and small reserves: a summary that no model writes is never larger than
/// what it replaces, each operation ends with a result or an error that changes nothing, and pins stay in the context.
#[tokio::test]
async fn chains_of_compactions_stay_bounded_and_lose_no_pin() {
    let (mut compacted, mut not_smaller) = (0, 0);
    for seed in 0..12 {
        let mut drawn = Drawn(seed);
        let reserve = drawn.one_of(&[0, 1, 60, 400, 2_000, 16_384]);
        let settings =
            json!({ "compaction": { "reserveTokens": reserve, "keepRecentTokens": drawn.one_of(&[1, 40, 400]) } });
        let (_, engine) = engine(&settings, Say::Nothing);
        let session =
            Arc::new(OpenSession::of_messages(&[message(&json!({ "role": "user", "content": "Begin." }))]).unwrap());
        let mut pinned: Vec<String> = Vec::new();
        let (mut compactions, mut previous) = (0, 0);
        for round in 0..40 {
            if compactions == 8 {
                break;
            }
            {
                let mut stored = session.write().await;
                let mut access = SessionAccess::new(&engine, &session, stored.as_mut()).unwrap();
                for number in 0..drawn.one_of(&[1, 1, 4]) {
                    for said in turn(&mut drawn, round * 10 + number) {
                        let members = json!({ "message": said }).to_string();
                        access
                            .append(|session| session.append(NewEntry::new("message", &members), Parent::Leaf))
                            .unwrap();
                    }
                }
                if drawn.below(4) == 0 && pinned.len() < 5 {
                    let size = drawn.one_of(&[10, 30, 900]);
                    let text = format!("pinned {seed} {round} {}", drawn.words(size));
                    let members = json!({ "message": { "role": "user", "content": text } }).to_string();
                    let appended =
                        access.append(|session| session.append(NewEntry::new("message", &members), Parent::Leaf));
                    let pin = pin_members(appended.unwrap().entry.id(), true);
                    access.append(|session| session.append(NewEntry::new("custom", &pin), Parent::Leaf)).unwrap();
                    pinned.push(text);
                }
            }
            let (_, before) = context_of(&session).await;
            let mut request = CompactionRequest::default();
            request.force = drawn.below(2) == 0;
            let is_forced = request.force;
            let compacting = tokio::time::timeout(Duration::from_secs(30), engine.compact(&session, request));
            let outcome = compacting.await.expect("a compaction ends");
            let (text, after) = context_of(&session).await;
            for pin in &pinned {
                assert!(text.contains(pin.as_str()), "seed {seed}, round {round}: {pin} is lost: {text}");
            }
            let pins: u64 = pinned.iter().map(|pin| estimate_text(pin) + 8).sum();
            match outcome {
                Ok(compaction) => {
                    (compacted, compactions) = (compacted + 1, compactions + 1);
                    let is_kept = |id: &EntryId| after.iter().any(|(kept, _)| kept == id);
                    let replaced: u64 = before.iter().filter(|(id, _)| !is_kept(id)).map(|(_, tokens)| tokens).sum();
                    let own = remove_pinned_entries(&compaction.summary);
                    previous = estimate_text(&own);
                    // Each part may take its least room. Without `force`, that must be less than what is replaced.
                    let parts = own.contains("(split turn)").then_some(LEAST_TOKENS + JOINT_TOKENS);
                    let least = parts.filter(|_| is_forced).unwrap_or_default();
                    let most = replaced.max(LEAST_TOKENS) + least;
                    assert!(previous <= most, "seed {seed}, round {round}: {previous} for {replaced}: {own}");
                }
                Err(EngineError::NotSmaller { summary_tokens, replaced_tokens }) => {
                    not_smaller += 1;
                    assert!(!is_forced && summary_tokens >= replaced_tokens);
                    let least = pins + previous + 2 * LEAST_TOKENS + JOINT_TOKENS;
                    assert!(replaced_tokens <= least, "seed {seed}, round {round}: {replaced_tokens} for {least}");
                    assert_eq!(before, after);
                }
                Err(error) => {
                    let is_expected =
                        error.kind() == ErrorKind::NothingToCompact || matches!(error, EngineError::NoGain { .. });
                    assert!(is_expected, "seed {seed}, round {round}: {error}");
                    assert_eq!(before, after);
                }
            }
        }
    }
    assert!(compacted > 50 && not_smaller * 10 < compacted, "{compacted} {not_smaller}");
}
