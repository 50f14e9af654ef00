//! State that all calls share: the configuration of `initialize`, the open sessions, and the end of the server.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use compaction_engine::session::OpenSession;
use compaction_engine::settings::SettingsLayers;
use compaction_engine::{Engine, Settings, threads};
use serde::Serialize;
use serde_json::value::RawValue;
use session_store::{Durability, FileStore, Locator, MemoryStore, Session, SessionStore, StoreError, resolve_path};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use crate::arrivals::{Arrivals, PendingOperations};
use crate::client_host::{self, ClientPreferences};
use crate::client_host::{ClientCallError, ClientCalls, ClientHost};
use crate::errors::RpcError;
use crate::params::check_path;
use crate::transport::{Cork, Outbound};
use crate::unknown::ReportedNames;
use crate::wire::ClientCapabilities;

/// Time that requests get to finish after the end of input, and that a running operation gets before its session is
/// closed, so that a script may write its calls and close the pipe. Then they are cancelled: no client waits minutes
/// for a model.
///
/// Builds for tests are many times slower, so they wait longer.
pub(crate) const GRACE_PERIOD: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1500 } else { 500 });
/// The server, shared by all calls.
#[derive(Debug)]
pub struct Server {
    /// The open sessions.
    pub sessions: Sessions,
    /// The lock for calls that add sessions.
    pub(crate) opening: Arc<RwLock<()>>,
    /// The queues of calls that wait for them.
    pub(crate) arrivals: Arc<Arrivals>,
    /// Cancelled when the server ends.
    pub end: CancellationToken,
    /// Cancelled when the server ends or is shut down. Nothing begins after that, and everything that runs ends.
    pub(crate) closing: CancellationToken,
    /// Operations whose calls have arrived and that have not begun.
    pub(crate) pending_operations: Arc<PendingOperations>,
    /// Requests that wait for an answer of the client.
    pub client_calls: Arc<ClientCalls>,
    /// What the server offers.
    pub(crate) catalog: Catalog,
    /// Maximum number of bytes of a message of the client.
    pub(crate) max_message_bytes: usize,
    /// When the server started.
    pub(crate) started: Instant,
    /// Unknown names that were reported to the client.
    pub(crate) reported: ReportedNames,
    outbound: Outbound,
    configuration: OnceLock<Configuration>,
    /// Passed at the start, or created once, because it caches what its lists find out.
    store: OnceLock<Arc<dyn SessionStore>>,
    /// The store of sessions that end with the server.
    memory: Arc<dyn SessionStore>,
    is_shut_down: AtomicBool,
}

/// What the server offers.
#[derive(Debug, Clone, Copy)]
pub struct Catalog {
    /// Returns the names of its methods.
    pub methods: fn() -> Vec<&'static str>,
    /// Names of its notifications.
    pub notifications: &'static [&'static str],
    /// Returns its OpenRPC document.
    pub document: fn() -> serde_json::Value,
}

/// The store of session files, as `initialize` configured it.
fn file_store(configuration: &Configuration) -> Arc<dyn SessionStore> {
    let store = FileStore::new(&configuration.agent_dir, configuration.durability);
    let store = store.with_max_line_bytes(configuration.max_line_bytes);
    let store = store.with_session_dir(configuration.session_dir.clone());
    Arc::new(store.with_base(&configuration.cwd, configuration.home.clone()))
}

/// The configuration that `initialize` made.
#[derive(Debug)]
pub struct Configuration {
    /// The directory for `~`, if there is one.
    pub home: Option<PathBuf>,
    /// Working directory of sessions that name none.
    pub cwd: PathBuf,
    /// A flat directory of sessions, instead of one per working directory.
    pub session_dir: Option<PathBuf>,
    /// The directory of the agent's files.
    pub agent_dir: PathBuf,
    /// The engine, with the settings of all layers except that of a call.
    pub engine: Arc<Engine>,
    /// When the store waits for the disk. The store is created once, so this is fixed at the start.
    pub durability: Durability,
    /// Maximum number of bytes of a line that the store keeps.
    pub max_line_bytes: usize,
    /// The parts of results and notifications that the client wants.
    pub(crate) preferences: ClientPreferences,
    /// Hooks that the client answers.
    pub hooks: Vec<String>,
    /// Process id of the parent.
    pub process_id: Option<u32>,
}

impl Server {
    /// A server that talks to its client through `outbound`, takes messages of at most `max_message_bytes`, and
    /// keeps sessions in `store`, or else as files.
    pub fn new(
        outbound: Outbound,
        catalog: Catalog,
        max_message_bytes: usize,
        store: Option<Arc<dyn SessionStore>>,
    ) -> Self {
        let end = CancellationToken::new();
        Self {
            sessions: Sessions::default(),
            opening: Arc::default(),
            arrivals: Arc::default(),
            closing: end.child_token(),
            end,
            pending_operations: Arc::default(),
            client_calls: Arc::default(),
            catalog,
            max_message_bytes,
            started: Instant::now(),
            reported: ReportedNames::default(),
            outbound,
            configuration: OnceLock::new(),
            store: store.map_or_else(OnceLock::new, OnceLock::from),
            memory: Arc::new(MemoryStore),
            is_shut_down: AtomicBool::new(false),
        }
    }

    /// The configuration. Fails before `initialize`.
    pub fn configuration(&self) -> Result<&Configuration, RpcError> {
        self.configuration.get().ok_or(RpcError::NotInitialized)
    }

    /// Sets the configuration. Fails the second time.
    pub fn configure(&self, configuration: Configuration) -> Result<&Configuration, RpcError> {
        self.configuration.set(configuration).map_err(|_| RpcError::invalid_request("initialize was called before"))?;
        self.configuration()
    }

    /// An engine with these settings for this client.
    pub(crate) fn engine_with(&self, settings: SettingsLayers, client: &ClientCapabilities) -> Engine {
        let host = ClientHost::new(Arc::clone(&self.client_calls), self.outbound.clone(), client);
        Engine::new(Arc::new(host), settings, self.closing.clone())
    }

    /// The engine. Fails before `initialize`.
    pub fn engine(&self) -> Result<&Arc<Engine>, RpcError> {
        Ok(&self.configuration()?.engine)
    }

    /// The current settings, with the current content of the settings files. A call asks once and keeps the answer.
    pub async fn settings_now(&self) -> Result<Arc<Settings>, RpcError> {
        Ok(self.engine()?.settings_now().await?)
    }

    /// The store of sessions.
    pub fn store(&self) -> Result<&Arc<dyn SessionStore>, RpcError> {
        let configuration = self.configuration()?;
        Ok(self.store.get_or_init(|| file_store(configuration)))
    }

    /// Whether the store is quick. Before `initialize` it counts as slow.
    pub(crate) fn is_store_quick(&self) -> bool {
        self.store().is_ok_and(|store| store.is_quick())
    }

    /// The store of sessions that end with the server.
    pub fn memory(&self) -> &Arc<dyn SessionStore> {
        &self.memory
    }

    /// The locator of a place that a client gave as parameter `member`.
    pub fn locate(&self, member: &str, text: &str) -> Result<Locator, RpcError> {
        self.store()?.locate(text).map_err(|error| match error {
            StoreError::InvalidLocator { expected, .. } => RpcError::invalid_params(member, expected),
            error => RpcError::from_store(&error, ""),
        })
    }

    /// The absolute path for a path that a client gave as parameter `member`.
    pub fn resolve(&self, member: &str, path: &str) -> Result<PathBuf, RpcError> {
        check_path(member, path)?;
        let configuration = self.configuration()?;
        Ok(resolve_path(path, &configuration.cwd, configuration.home.as_deref()))
    }

    /// Sends a request to the client and waits at most `limit` for the answer.
    pub async fn ask<P: Serialize>(
        &self,
        method: &str,
        params: &P,
        limit: Duration,
    ) -> Result<Box<RawValue>, ClientCallError> {
        let params = serde_json::to_string(params).map_err(ClientCallError::refused)?;
        self.client_calls.ask(&self.outbound, method, &params, limit).await
    }

    /// Sends a notification that is not an event of the engine.
    pub(crate) fn notify<P: Serialize>(&self, method: &str, params: &P) {
        match client_host::text_of(method, params) {
            Ok(notification) => self.outbound.push(notification),
            Err(error) => tracing::error!(%error, "a notification could not be written"),
        }
    }

    /// Whether the client answers a hook.
    pub fn has_hook(&self, hook: &str) -> bool {
        self.configuration().is_ok_and(|configuration| configuration.hooks.iter().any(|name| name == hook))
    }

    /// Fails if too many bytes of replies wait for their batches.
    pub(crate) fn batch_room(&self) -> Result<(), RpcError> {
        match self.outbound.may_hold() {
            true => Ok(()),
            false => Err(RpcError::BatchTooLarge),
        }
    }

    /// Cancels all operations.
    pub(crate) fn abort_operations(&self) {
        for session in self.sessions.all() {
            session.abort_operation();
        }
    }

    /// Waits until no operation runs.
    pub(crate) async fn operations_ended(&self) {
        if let Ok(engine) = self.engine() {
            engine.operations_ended().await;
        }
    }

    /// Waits until the client has read enough that new replies may be made.
    pub async fn output_ready(&self) {
        self.outbound.ready().await;
    }

    /// Holds back notifications until the reply of the call that causes them.
    pub(crate) fn cork(&self) -> Cork<'_> {
        self.outbound.cork()
    }

    /// Whether `shutdown` was called.
    pub fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Ordering::Relaxed)
    }

    /// Ends all operations, then closes each session after the calls that came before.
    pub async fn shut_down(self: &Arc<Self>) {
        self.is_shut_down.store(true, Ordering::Relaxed);
        self.closing.cancel();
        self.abort_operations();
        self.operations_ended().await;
        for session in self.sessions.all() {
            let mut stored = session.write().await;
            let (server, id) = (Arc::clone(self), session.id.clone());
            // Closing waits for the disk. It takes no permit, because calls with a permit may be waiting for the
            // client.
            let closing = threads::run(move || server.sessions.close(&session, &mut stored));
            if let Err(error) = closing.await.map_err(RpcError::from).flatten() {
                tracing::warn!(%error, session = id, "closing a session failed");
            }
        }
    }
}

/// All open sessions by id.
#[derive(Debug, Default)]
pub struct Sessions {
    by_id: Mutex<HashMap<String, Arc<OpenSession>>>,
}

impl Sessions {
    /// The open session with this id.
    pub fn get(&self, id: &str) -> Option<Arc<OpenSession>> {
        self.lock().get(id).cloned()
    }

    /// Adds a session. Its id must not be in use.
    pub fn insert(&self, session: Arc<OpenSession>) {
        self.lock().insert(session.id.clone(), session);
    }

    /// Closes a session whose lock is held, unless it is closed already. It is removed from the list after its file is
    /// free, so that a call that does not find it can open the file.
    pub(crate) fn close(&self, open: &OpenSession, stored: &mut Option<Session>) -> Result<(), RpcError> {
        let session = stored.take().ok_or_else(|| open.not_open())?;
        let _closing = ClosingSession { sessions: self, open };
        let closing = |mut session: Session| session.close();
        Ok(closing(session).map_err(|error| open.store_failure(error))?)
    }

    /// All open sessions.
    pub fn all(&self) -> Vec<Arc<OpenSession>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<OpenSession>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a session from the list when it is dropped, whether closing succeeded or not.
struct ClosingSession<'a> {
    sessions: &'a Sessions,
    open: &'a OpenSession,
}

impl Drop for ClosingSession<'_> {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.open.id);
        self.open.has_closed();
    }
}
