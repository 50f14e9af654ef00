//! What all calls share: the configuration of `initialize`, the open sessions, the way out.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::value::RawValue;
use session_store::{Durability, FileStore};
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::arrivals::Arrivals;
use crate::call::blocking;
use crate::client_calls::{ClientCallError, ClientCalls};
use crate::errors::RpcError;
use crate::handlers::lifecycle::{check_path, expand_home};
use crate::pending_operations::PendingOperations;
use crate::sessions::Sessions;
use crate::settings::{Settings, SettingsLayers};
use crate::summarizers::providers::PrintedKeys;
use crate::transport::{Cork, Outbound};
use crate::unknown::Told;

/// The server, shared by all calls.
#[derive(Debug)]
pub struct Server {
    /// Sessions that are open.
    pub sessions: Sessions,
    /// Held by calls that add sessions.
    pub(crate) opening: Arc<RwLock<()>>,
    /// Calls that wait behind them.
    pub(crate) arrivals: Arc<Arrivals>,
    /// Cancelled when the server ends.
    pub end: CancellationToken,
    /// Cancelled when the server ends or is shut down: nothing new begins, and what runs ends.
    pub(crate) closing: CancellationToken,
    /// Operations whose calls have arrived.
    pub(crate) pending_operations: Arc<PendingOperations>,
    /// Compactions and navigations that run, also those whose call has been answered.
    pub(crate) operations: TaskTracker,
    /// Requests that wait for the client.
    pub client_calls: ClientCalls,
    /// Keys that programs have printed for summarizers.
    pub(crate) printed_keys: PrintedKeys,
    /// When the server started.
    pub(crate) started: Instant,
    /// Names that the client has been told nothing reads.
    pub(crate) told: Told,
    outbound: Outbound,
    configuration: OnceLock<Configuration>,
    /// Made once, as it remembers what its lists learned.
    store: OnceLock<FileStore>,
    is_shut_down: AtomicBool,
}

/// What `initialize` settled.
#[derive(Debug)]
pub struct Configuration {
    /// Working directory for sessions that name none.
    pub cwd: PathBuf,
    /// A flat directory of sessions, instead of one per working directory.
    pub session_dir: Option<PathBuf>,
    /// Where the agent keeps its files.
    pub agent_dir: PathBuf,
    /// Settings of all layers but the call's. See [`Server::settings`].
    pub settings: SettingsLayers,
    /// When the store waits for the disk: it is made once, with what is set at the start.
    pub durability: Durability,
    /// Bytes of a line that the store holds at most, settled with it.
    pub max_line_bytes: usize,
    /// Whether the client wants progress notifications.
    pub wants_progress: bool,
    /// Whether the client wants whole entries in `entryAppended`.
    pub wants_entry_bodies: bool,
    /// Whether the client wants ledgers in the results of compactions.
    pub wants_ledgers: bool,
    /// Whether the client answers `summarize`.
    pub client_summarizes: bool,
    /// Hooks that the client answers.
    pub hooks: Vec<String>,
    /// Process id of the parent.
    pub process_id: Option<u32>,
}

impl Server {
    /// A server that talks to its client through `outbound`.
    pub fn new(outbound: Outbound) -> Self {
        let end = CancellationToken::new();
        Self {
            sessions: Sessions::default(),
            opening: Arc::default(),
            arrivals: Arc::default(),
            closing: end.child_token(),
            end,
            pending_operations: Arc::default(),
            operations: TaskTracker::new(),
            client_calls: ClientCalls::default(),
            printed_keys: PrintedKeys::default(),
            started: Instant::now(),
            told: Told::default(),
            outbound,
            configuration: OnceLock::new(),
            store: OnceLock::new(),
            is_shut_down: AtomicBool::new(false),
        }
    }

    /// What `initialize` settled; fails before it.
    pub fn configuration(&self) -> Result<&Configuration, RpcError> {
        self.configuration.get().ok_or(RpcError::NotInitialized)
    }

    /// Settles the configuration; fails the second time.
    pub fn configure(&self, configuration: Configuration) -> Result<&Configuration, RpcError> {
        self.configuration.set(configuration).map_err(|_| RpcError::invalid_request("initialize was called before"))?;
        self.configuration()
    }

    /// The settings in force, with what the settings files hold now. Looks at files, so that it
    /// belongs on a thread for blocking work; elsewhere there is [`Self::settings_now`]. A call asks
    /// once and keeps what it got.
    pub fn settings(&self) -> Result<Arc<Settings>, RpcError> {
        Ok(self.configuration()?.settings.current())
    }

    /// The same from a task.
    pub async fn settings_now(self: &Arc<Self>) -> Result<Arc<Settings>, RpcError> {
        let server = Arc::clone(self);
        blocking(move || server.settings()).await
    }

    /// The store of session files.
    pub fn store(&self) -> Result<FileStore, RpcError> {
        let configuration = self.configuration()?;
        let make = || {
            let store = FileStore::new(&configuration.agent_dir, configuration.durability);
            store.with_max_line_bytes(configuration.max_line_bytes)
        };
        Ok(self.store.get_or_init(make).clone())
    }

    /// An absolute path from one that a client gave as `member` of its parameters.
    pub fn resolve(&self, member: &str, path: &str) -> Result<PathBuf, RpcError> {
        check_path(member, path)?;
        Ok(without_dots(&self.configuration()?.cwd.join(expand_home(path))))
    }

    /// Asks the client and waits for its answer, for at most `limit`.
    pub async fn ask<P: Serialize>(
        &self,
        method: &str,
        params: &P,
        limit: Duration,
    ) -> Result<Box<RawValue>, ClientCallError> {
        self.client_calls.ask(&self.outbound, method, params, limit).await
    }

    /// Whether the client answers a hook.
    pub fn has_hook(&self, hook: &str) -> bool {
        self.configuration().is_ok_and(|configuration| configuration.hooks.iter().any(|name| name == hook))
    }

    /// Fails if too many replies wait for the rest of their batches.
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
        self.operations.close();
        self.operations.wait().await;
    }

    /// Waits until the client has read enough that new replies may be made.
    pub async fn output_ready(&self) {
        self.outbound.ready().await;
    }

    /// Whether the client has read enough that what can be left out need not be.
    pub(crate) fn has_room_for_output(&self) -> bool {
        self.outbound.has_room()
    }

    /// Holds back notifications until the reply of the call that makes them.
    pub(crate) fn cork(&self) -> Cork<'_> {
        self.outbound.cork()
    }

    /// Tells the client something. Waits for nothing, so that it can be called under a lock.
    pub fn notify<P: Serialize>(&self, method: &str, params: &P) {
        match serde_json::to_string(params) {
            Ok(params) => {
                self.outbound.push(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}"));
            }
            Err(error) => tracing::error!(method, %error, "a notification could not be written"),
        }
    }

    /// Whether `shutdown` was called.
    pub fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Ordering::Relaxed)
    }

    /// Ends all operations, then closes all sessions: each once the calls before it are done.
    pub async fn shut_down(&self) {
        self.is_shut_down.store(true, Ordering::Relaxed);
        self.closing.cancel();
        self.abort_operations();
        self.operations_ended().await;
        for session in self.sessions.all() {
            let mut slot = session.slot.write().await;
            if let Err(error) = self.sessions.close(&session, &mut slot) {
                tracing::warn!(%error, session = session.id, "closing a session failed");
            }
        }
    }
}

/// A path without `.` and `..`, so that one directory has one name. Links are not followed: the
/// path may not exist yet.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
