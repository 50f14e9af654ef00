//! `createSession`, `openSession`, `continueSession`, `closeSession`, `listSessions`, `setSessionName`,
//! `getSessionStats`, `checkSession`; and `subscribe` and `unsubscribe`, with the tasks that read changes by other
//! programs.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use compaction_core::entry::{Entry, EntryId, iso_timestamp};
use compaction_core::formats::Converted;
use compaction_engine::session::{AgentModel, OpenSession, SessionAccess, WriteGuard, change};
use compaction_engine::{Event, threads};
use session_store::log::LogChange;
use session_store::{
    CreateOptions, Cursor, ListOptions, Locator, OpenOptions, Parent, Precondition, Session, SessionStore,
};
use tokio_util::sync::CancellationToken;

use super::messages::{SubmittedMessages, appended, new_entries};
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
    let Err(error) = session.append_all(&new_entries(messages), Parent::Leaf, &Precondition::None) else {
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
        if open.view(stored.as_ref())?.session.is_read_only() && !read_only {
            open.replace(&mut stored, open_stored(&server, &locator, false)?);
        }
        Ok(Some(opened(open.view(stored.as_ref())?.session, None)))
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
        tokio::spawn(read_changes(Arc::clone(server), open));
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
    call.read(|view| Ok(convert::stats(&view.read(Session::stats)?))).await
}

/// Reads every body of a session and reports problems.
pub(crate) async fn check(call: CallContext, params: CheckSessionParams) -> Result<CheckSessionResult, RpcError> {
    let diagnostics = match (params.session_id, params.path) {
        (Some(_), _) => call.read(|view| Ok(view.read(Session::check)?)).await?,
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

/// Interval between looks at a session whose store does not report changes. Looking is one system call for a file. It
/// also works on file systems of networks, where no system reports changes by other machines.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum number of bytes of the entries after `since`.
const MAX_SINCE_BYTES: usize = 8 * 1024 * 1024;
/// Entries that are read at once for `since`. Few, because each may be long.
const PAGE_ENTRIES: usize = 8;

/// Sends each entry that other programs write to the client from now on.
pub(crate) async fn subscribe(call: CallContext, params: SubscribeParams) -> Result<SubscribeResult, RpcError> {
    let server = Arc::clone(&call.server);
    let subscribing = call.write(move |access| {
        let foreign = access.read_foreign()?;
        let entries = match params.since {
            Some(since) => entries_after(access, &EntryId::new(since)),
            None => Ok(Vec::new()),
        };
        let entries = match entries {
            Ok(entries) => entries,
            // The earlier subscription, if there is one, continues and gets the new entries.
            Err(error) => {
                access.announce_foreign(foreign);
                return Err(error);
            }
        };
        // New entries are sent once: with the entries after `since`, if they are requested.
        access.open().unsubscribe();
        for entry in entries {
            access.notify(Event::EntryAppended { session_id: access.open().id.clone(), entry });
        }
        access.announce_foreign(foreign);
        let (open, leaf_id) = (Arc::clone(access.open()), convert::id(access.session().leaf_id()));
        Ok((open.subscribe(), open, leaf_id))
    });
    let (subscription, open, leaf_id) = subscribing.await?;
    if open.locator.is_some() {
        tokio::spawn(look_for_changes(server, open, subscription));
    }
    Ok(SubscribeResult { leaf_id })
}

/// All entries after `since`, in file order. Fails if they are too long.
fn entries_after(access: &SessionAccess<'_>, since: &EntryId) -> Result<Vec<Arc<Entry>>, RpcError> {
    let (mut entries, mut bytes, mut last) = (Vec::new(), 0, since.clone());
    loop {
        let page = access.view().read(|session| session.entries(Some(&last), Some(PAGE_ENTRIES)))?;
        let Some(end) = page.last() else { return Ok(entries) };
        last = end.id().clone();
        bytes += page.iter().map(|entry| entry.approximate_length()).sum::<usize>();
        if bytes > MAX_SINCE_BYTES {
            let expected = format!(
                "an entry that at most {MAX_SINCE_BYTES} bytes of entries follow; {bytes} or more follow {since}, and \
                 getEntries returns them in pages"
            );
            return Err(RpcError::invalid_params("since", expected));
        }
        entries.extend(page);
    }
}

/// Ends a subscription.
pub(crate) async fn unsubscribe(call: CallContext, _: SessionParams) -> Result<UnsubscribeResult, RpcError> {
    call.write(|access| Ok(UnsubscribeResult { was_subscribed: access.open().unsubscribe() })).await
}

/// Looks for changes by other programs, and reads them, until the subscription ends.
async fn look_for_changes(server: Arc<Server>, open: Arc<OpenSession>, subscription: CancellationToken) {
    let mut reported = None;
    let looking = async {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            server.output_ready().await;
            let Some(looked) = pending_change(&open).await else { continue };
            let problem = read_change(&server, &open, looked).await;
            if let Some((kind, message)) = problem.as_ref().filter(|_| problem != reported) {
                report(&server, &open, *kind, message);
            }
            reported = problem;
        }
    };
    tokio::select! {
        () = subscription.cancelled() => {}
        () = server.end.cancelled() => {}
        () = looking => {}
    }
}

/// Looks once; `None` if calls use the session or all threads. Looks wait for neither: calls would have to wait for a
/// look that locks the session.
async fn pending_change(open: &Arc<OpenSession>) -> Option<io::Result<LogChange>> {
    let _permit = threads::try_permit(open.is_quick())?;
    let guard = open.try_read()?;
    let looked =
        threads::run(move || guard.as_ref().map_or(Ok(LogChange::Unchanged), |session| session.pending_change()));
    looked.await.ok()
}

/// Reads what a look found. Returns a problem that the client should know about.
async fn read_change(
    server: &Arc<Server>,
    open: &Arc<OpenSession>,
    looked: io::Result<LogChange>,
) -> Option<(DiagnosticKind, String)> {
    let unreadable =
        |error: &dyn Display| (DiagnosticKind::SessionUnreadable, format!("the file cannot be read: {error}"));
    let is_replaced = match looked {
        Ok(LogChange::Unchanged) => return None,
        Ok(change) => change == LogChange::Replaced,
        Err(error) => return Some(unreadable(&error)),
    };
    let replaced = "the file was truncated, rewritten or replaced";
    match refresh(server, open).await {
        Ok(()) if is_replaced => {
            report(server, open, DiagnosticKind::SessionReplaced, &format!("{replaced}, and was read again"));
            None
        }
        Ok(()) => None,
        Err(RpcError::NoSessionAt { .. }) => Some((DiagnosticKind::SessionDeleted, "the file was deleted".to_owned())),
        Err(error) if is_replaced => {
            Some((DiagnosticKind::SessionReplaced, format!("{replaced}, and cannot be read: {error}")))
        }
        Err(error) => Some(unreadable(&error)),
    }
}

async fn refresh(server: &Server, open: &Arc<OpenSession>) -> Result<(), RpcError> {
    let guard = open.write().await;
    change(Arc::clone(server.engine()?), Arc::clone(open), guard, |access| Ok(access.refresh()?)).await
}

fn report(server: &Server, open: &OpenSession, kind: DiagnosticKind, problem: &str) {
    let place = open.locator.as_ref().map(ToString::to_string).unwrap_or_default();
    let diagnostic = RequestDiagnostic {
        kind,
        method: "subscribe".to_owned(),
        path: "sessionId".to_owned(),
        nearest: None,
        session_id: Some(open.id.clone()),
        message: format!("subscribe: {place}: {problem}"),
    };
    server.notify("diagnostic", &diagnostic);
}

/// Reads changes by other programs when the store reports them, and notifies the client, until the session is closed.
pub(super) async fn read_changes(server: Arc<Server>, open: Arc<OpenSession>) {
    loop {
        tokio::select! {
            () = open.closed() => return,
            () = server.end.cancelled() => return,
            () = open.changed() => {}
        }
        if let Err(error) = refresh(&server, &open).await {
            tracing::debug!(%error, session = open.id, "what others wrote could not be read; the next call tells");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn a_look_waits_for_nothing_and_holds_no_session_meanwhile() {
        let open = Arc::new(OpenSession::of_messages([]).unwrap());
        assert!(pending_change(&open).await.is_some());
        let permits: Vec<_> = iter::from_fn(|| threads::try_permit(open.is_quick())).collect();
        assert!(!permits.is_empty());
        assert!(matches!(pending_change(&open).now_or_never(), Some(None)));
        drop(permits);
        let guard = open.write().await;
        assert!(matches!(pending_change(&open).now_or_never(), Some(None)));
        drop(guard);
        assert!(pending_change(&open).await.is_some());
    }
}
