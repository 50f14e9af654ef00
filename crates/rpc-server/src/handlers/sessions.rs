//! `createSession`, `openSession`, `continueSession`, `closeSession`, `listSessions`,
//! `setSessionName`, `getSessionStats`, `checkSession`.

use std::path::Path;
use std::sync::Arc;

use compaction_core::entry::iso_timestamp;
use compaction_core::formats::Converted;
use compaction_engine::session::{AgentModel, OpenSession, WriteGuard};
use session_store::{CreateOptions, Cursor, ListOptions, Locator, OpenOptions, Precondition, Session, SessionStore};

use super::append::appended;
use super::messages::{SubmittedMessages, append_with_one_write};
use super::subscriptions;
use crate::call::{CallContext, blocking_in};
use crate::convert;
use crate::errors::RpcError;
use crate::params::check_path;
use crate::server::{GRACE_PERIOD, Server};
use crate::wire::{self, *};

/// Creates a session and opens it.
pub(crate) async fn create(call: CallContext, params: CreateSessionParams) -> Result<OpenSessionResult, RpcError> {
    if params.ephemeral && params.path.is_some() {
        return Err(RpcError::invalid_params("path", "none where `ephemeral` is true: such a session has no file"));
    }
    params.parent_session.as_ref().map_or(Ok(()), |path| check_path("parentSession", path))?;
    params.session_id.as_deref().map_or(Ok(()), check_new_id)?;
    let _turn = call.opening_turn().await?;
    let server = Arc::clone(&call.server);
    let model = auto_model(params.auto_compaction.as_ref())?;
    if let Some(session_id) = &params.session_id
        && !is_free_now(&call, session_id).await?
    {
        let open = server.sessions.get(session_id);
        let path = open.and_then(|open| open.locator.as_ref().map(ToString::to_string));
        return Err(RpcError::SessionIdInUse { session_id: session_id.clone(), path });
    }
    let is_quick = params.ephemeral || server.is_store_quick();
    blocking_in(is_quick, move || {
        let messages = SubmittedMessages::list(params.messages, params.format)?.checked()?.into_messages();
        let configuration = server.configuration()?;
        let cwd = params.cwd.as_deref().map(|cwd| server.resolve("cwd", cwd)).transpose()?;
        let options = CreateOptions {
            cwd: text(cwd.as_deref().unwrap_or(&configuration.cwd)),
            session_dir: params.session_dir.as_deref().map(|text| server.locate("sessionDir", text)).transpose()?,
            locator: params.path.as_deref().map(|text| server.locate("path", text)).transpose()?,
            name: params.name,
            parent_session: params.parent_session,
            id: params.session_id,
        };
        let store = if params.ephemeral { server.memory() } else { server.store()? };
        let session = store.create(&options).map_err(|error| RpcError::from_store(&error, ""))?;
        let session = begun_with(&**store, session, messages)?;
        let opened = add(&server, store, session, None)?;
        set_auto_compaction(&server, &opened, model);
        Ok(opened)
    })
    .await
}

/// Appends the first messages of a new session. If they cannot be written, the session is discarded.
fn begun_with(store: &dyn SessionStore, mut session: Session, messages: Vec<Converted>) -> Result<Session, RpcError> {
    if messages.is_empty() {
        return Ok(session);
    }
    let Err(error) = append_with_one_write(&mut session, &[], messages, &Precondition::None) else {
        return Ok(session);
    };
    let error = RpcError::from_store(&error, &session.header().id);
    store.discard(session);
    Err(error)
}

/// Maximum length of an id that a client chooses: it becomes part of the file's name.
const MAX_ID_LENGTH: usize = 128;

fn check_new_id(id: &str) -> Result<(), RpcError> {
    match id.len() <= MAX_ID_LENGTH && session_store::is_valid_session_id(id) {
        true => Ok(()),
        false => Err(RpcError::invalid_params(
            "sessionId",
            "letters, digits and, not at the ends, '.', '_' and '-', 128 characters at most",
        )),
    }
}

/// Opens a session file.
pub(crate) async fn open(call: CallContext, params: OpenSessionParams) -> Result<OpenSessionResult, RpcError> {
    let _turn = call.opening_turn().await?;
    let locator = call.server.locate("path", &params.path)?;
    let model = auto_model(params.auto_compaction.as_ref())?;
    let opened = open_at(&call, locator, params.read_only).await?;
    set_auto_compaction(&call.server, &opened, model);
    Ok(opened)
}

/// Opens the most recent session of a working directory.
pub(crate) async fn continue_recent(
    call: CallContext,
    params: ContinueSessionParams,
) -> Result<OpenSessionResult, RpcError> {
    let _turn = call.opening_turn().await?;
    let server = Arc::clone(&call.server);
    let model = auto_model(params.auto_compaction.as_ref())?;
    let locator = blocking_in(server.is_store_quick(), move || {
        let configuration = server.configuration()?;
        let cwd = params.cwd.as_deref().map(|cwd| server.resolve("cwd", cwd)).transpose()?;
        let cwd = text(cwd.as_deref().unwrap_or(&configuration.cwd));
        let found = server.store()?.most_recent(&cwd, None);
        found.map_err(|error| RpcError::from_store(&error, ""))?.ok_or(RpcError::NothingToContinue { cwd })
    });
    let locator = locator.await?;
    let opened = open_at(&call, locator, false).await?;
    set_auto_compaction(&call.server, &opened, model);
    Ok(opened)
}

/// The model for automatic compaction, if the call names one. Fails if it has no window.
pub(crate) fn auto_model(options: Option<&AutoCompactionOptions>) -> Result<Option<AgentModel>, RpcError> {
    let model = options.map(|options| AgentModel::from(options.model.clone()));
    match model.as_ref().is_some_and(|model| model.context_window == 0) {
        true => Err(RpcError::invalid_params("autoCompaction.model.contextWindow", "a number of tokens above 0")),
        false => Ok(model),
    }
}

/// Switches automatic compaction on for an open session, if a model is given.
fn set_auto_compaction(server: &Server, opened: &OpenSessionResult, model: Option<AgentModel>) {
    if let (Some(model), Some(session)) = (model, server.sessions.get(&opened.session_id)) {
        session.auto_compaction.set(Some(model));
    }
}

async fn open_at(call: &CallContext, locator: Locator, read_only: bool) -> Result<OpenSessionResult, RpcError> {
    loop {
        let (server, wanted) = (Arc::clone(&call.server), locator.clone());
        if let Some(open) = blocking_in(call.server.is_store_quick(), move || find_open(&server, &wanted)).await?
            && let Some(opened) = reopen(call, open, locator.clone(), read_only).await?
        {
            return Ok(opened);
        }
        match open_anew(&call.server, locator.clone(), read_only).await {
            Err(RpcError::SessionIdInUse { session_id, .. }) if is_free_now(call, &session_id).await? => {}
            outcome => return outcome,
        }
    }
}

async fn open_anew(server: &Arc<Server>, locator: Locator, read_only: bool) -> Result<OpenSessionResult, RpcError> {
    let (server, is_quick) = (Arc::clone(server), server.is_store_quick());
    let opening = move || {
        let opened = open_stored(&server, &locator, read_only);
        let opened = opened.map_err(|error| held_by_this_server(&server, &locator, error))?;
        add(&server, server.store()?, opened, None)
    };
    blocking_in(is_quick, opening).await
}

/// A session that is locked may be open in this server under another name, such as a hard link.
fn held_by_this_server(server: &Server, locator: &Locator, error: RpcError) -> RpcError {
    let (RpcError::SessionLocked { .. }, Ok(store)) = (&error, server.store()) else {
        return error;
    };
    let is_held = |open: &Arc<OpenSession>| open.locator.as_ref().is_some_and(|open| store.is_same(open, locator));
    let holder = server.sessions.all().into_iter().find(is_held);
    holder.map_or(error, |open| RpcError::SessionIdInUse {
        session_id: open.id.clone(),
        path: open.locator.as_ref().map(Locator::to_string),
    })
}

/// Whether the session id is free, after waiting for an earlier call that closes its session.
async fn is_free_now(call: &CallContext, session_id: &str) -> Result<bool, RpcError> {
    match call.server.sessions.get(session_id) {
        Some(open) => Ok(still_open(call, &open).await?.is_none()),
        None => Ok(true),
    }
}

/// Waits for the turn to change a session. `None` if an earlier call closes it.
async fn still_open(call: &CallContext, open: &OpenSession) -> Result<Option<WriteGuard>, RpcError> {
    let waiting = async {
        let stored = open.write().await;
        if stored.is_some() && open.check_not_closing().is_ok() {
            return Ok(Some(stored));
        }
        drop(stored);
        open.closed().await;
        Ok(None)
    };
    call.unless_cancelled(waiting).await
}

fn open_stored(server: &Server, locator: &Locator, read_only: bool) -> Result<Session, RpcError> {
    let options = OpenOptions { read_only, cwd: text(&server.configuration()?.cwd) };
    server.store()?.open(locator, &options).map_err(|error| RpcError::from_store(&error, ""))
}

/// Returns the session that is open at this place already. If it is read-only and the call wants to write, it is
/// reopened for writing. `None` if it is no longer open.
async fn reopen(
    call: &CallContext,
    open: Arc<OpenSession>,
    locator: Locator,
    read_only: bool,
) -> Result<Option<OpenSessionResult>, RpcError> {
    let Some(mut stored) = still_open(call, &open).await? else {
        return Ok(None);
    };
    let server = Arc::clone(&call.server);
    blocking_in(open.is_quick(), move || {
        let session = open.opened(stored.as_ref())?;
        if session.is_read_only() && !read_only {
            open.replace(&mut stored, open_stored(&server, &locator, false)?);
        }
        Ok(Some(opened(open.opened(stored.as_ref())?, None)))
    })
    .await
}

fn find_open(server: &Server, locator: &Locator) -> Result<Option<Arc<OpenSession>>, RpcError> {
    let Some(locator) = server.store()?.canonical(locator) else { return Ok(None) };
    Ok(server.sessions.all().into_iter().find(|open| open.locator.as_ref() == Some(&locator)))
}

/// Adds a session that `store` just opened. Its id must not be in use.
pub(super) fn add(
    server: &Arc<Server>,
    store: &Arc<dyn SessionStore>,
    mut session: Session,
    editor_text: Option<String>,
) -> Result<OpenSessionResult, RpcError> {
    let session_id = session.header().id.clone();
    if let Some(other) = server.sessions.get(&session_id) {
        if let Err(error) = session.close() {
            tracing::warn!(%error, session = session_id, "closing a session failed");
        }
        return Err(RpcError::SessionIdInUse { session_id, path: other.locator.as_ref().map(Locator::to_string) });
    }
    let result = opened(&session, editor_text);
    let (open, reports_changes) = OpenSession::new(Arc::clone(store), session);
    let open = Arc::new(open);
    server.sessions.insert(Arc::clone(&open));
    if reports_changes {
        tokio::spawn(subscriptions::read_changes(Arc::clone(server), open));
    }
    Ok(result)
}

fn opened(session: &Session, editor_text: Option<String>) -> OpenSessionResult {
    OpenSessionResult {
        session_id: session.header().id.clone(),
        path: session.locator().map(Locator::to_string),
        header: Header::from(&*session.header().raw),
        leaf_id: convert::id(session.leaf_id()),
        entry_count: session.entry_count().map(|count| count as u64),
        read_only: session.is_read_only(),
        migrated_from: session.migrated_from(),
        diagnostics: session.diagnostics().iter().map(convert::diagnostic).collect(),
        editor_text,
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Flushes a session and releases its lock.
pub(crate) async fn close(call: CallContext, _: SessionParams) -> Result<Null, RpcError> {
    let (open, stored) = call.unless_cancelled(call.write_guard()).await?;
    let mut stored = end_operation(&open, stored).await;
    let server = Arc::clone(&call.server);
    blocking_in(open.is_quick(), move || server.sessions.close(&open, &mut stored).map(|()| Null)).await
}

/// Waits for the running operation, and aborts it after a while. The operation may need the session until then; calls
/// do not get it any more.
async fn end_operation(open: &Arc<OpenSession>, stored: WriteGuard) -> WriteGuard {
    if open.operation_id().is_none() {
        return stored;
    }
    open.begin_closing();
    drop(stored);
    if tokio::time::timeout(GRACE_PERIOD, open.operation_ended()).await.is_err() {
        open.abort_operation();
        let _ = tokio::time::timeout(GRACE_PERIOD, open.operation_ended()).await;
    }
    open.write().await
}

/// Lists sessions, newest activity first.
pub(crate) async fn list(call: CallContext, params: ListSessionsParams) -> Result<ListSessionsResult, RpcError> {
    let (server, cancel) = (Arc::clone(&call.server), call.cancel.clone());
    let listing = blocking_in(call.server.is_store_quick(), move || {
        let configuration = server.configuration()?;
        let cwd = params.cwd.as_deref().map(|cwd| server.resolve("cwd", cwd)).transpose()?;
        let options = ListOptions {
            cwd: text(cwd.as_deref().unwrap_or(&configuration.cwd)),
            session_dir: params.session_dir.as_deref().map(|text| server.locate("sessionDir", text)).transpose()?,
            all: params.all,
            limit: params.limit.map(|limit| limit as usize),
            cursor: params.cursor.as_deref().map(read_cursor).transpose()?,
        };
        let page = server.store()?.list_unless(&options, &|| cancel.is_cancelled());
        let page = page.map_err(|error| RpcError::from_store(&error, ""))?;
        Ok(ListSessionsResult {
            sessions: page.sessions.into_iter().map(summary).collect(),
            next_cursor: page.next.map(|cursor| format!("{}:{}", cursor.modified, cursor.locator)),
        })
    });
    call.unless_cancelled(listing).await
}

fn read_cursor(cursor: &str) -> Result<Cursor, RpcError> {
    let parts = cursor.split_once(':').and_then(|(modified, place)| Some((modified.parse().ok()?, place)));
    let (modified, place) = parts.ok_or_else(|| RpcError::invalid_params("cursor", "a nextCursor of this method"))?;
    Ok(Cursor { modified, locator: Locator::from(place) })
}

fn summary(summary: session_store::SessionSummary) -> wire::SessionSummary {
    wire::SessionSummary {
        path: summary.locator.to_string(),
        session_id: summary.session_id,
        cwd: summary.cwd,
        name: summary.name.map(|name| on_one_line(&name)),
        parent_session: summary.parent_session,
        created: summary.created,
        modified: iso_timestamp(summary.modified),
        message_count: summary.message_count as u64,
        first_message: summary.first_message,
    }
}

/// A name without line breaks, which lists of sessions cannot show (docs/session-format.md, "Labels and names").
fn on_one_line(name: &str) -> String {
    name.split(['\r', '\n']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Names a session.
pub(crate) async fn set_name(call: CallContext, params: SetSessionNameParams) -> Result<AppendedResult, RpcError> {
    call.write(move |access| Ok(appended(&access.append(|session| session.set_name(&params.name))?.entry))).await
}

/// Counts messages, tokens and cost of a session.
pub(crate) async fn stats(call: CallContext, _: SessionParams) -> Result<SessionStats, RpcError> {
    call.read(|session, open| {
        let stats = session.stats().map_err(|error| open.store_failure(error))?;
        Ok(convert::stats(&stats))
    })
    .await
}

/// Reads every body of a session and reports problems.
pub(crate) async fn check(call: CallContext, params: CheckSessionParams) -> Result<CheckSessionResult, RpcError> {
    let diagnostics = match (params.session_id, params.path) {
        (Some(_), _) => {
            call.read(|session, open| Ok(session.check().map_err(|error| open.store_failure(error))?)).await?
        }
        (None, Some(path)) => {
            let (store, locator) = (Arc::clone(call.server.store()?), call.server.locate("path", &path)?);
            let is_quick = store.is_quick();
            let checking =
                blocking_in(is_quick, move || store.check(&locator).map_err(|error| RpcError::from_store(&error, "")));
            call.unless_cancelled(checking).await?
        }
        (None, None) => {
            return Err(RpcError::invalid_params("sessionId", "the id of an open session, or a file in `path`"));
        }
    };
    Ok(CheckSessionResult { diagnostics: diagnostics.iter().map(convert::diagnostic).collect() })
}
