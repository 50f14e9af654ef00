//! `subscribe` and `unsubscribe`, and the tasks that read what other programs write.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use compaction_core::entry::{Entry, EntryId};
use compaction_engine::session::{OpenSession, SessionAccess, change};
use compaction_engine::{Event, threads};
use session_store::log::LogChange;
use tokio_util::sync::CancellationToken;

use crate::call::CallContext;
use crate::convert;
use crate::errors::RpcError;
use crate::server::Server;
use crate::wire::*;

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
            // The earlier subscription, if there is one, continues and gets what is new.
            Err(error) => {
                access.announce_foreign(foreign);
                return Err(error);
            }
        };
        // What is new is sent once: with the entries after `since`, if they are wanted.
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
    let (session, open) = (access.session(), access.open());
    let (mut entries, mut bytes, mut last) = (Vec::new(), 0, since.clone());
    loop {
        let page = session.entries(Some(&last), Some(PAGE_ENTRIES)).map_err(|error| open.store_failure(error))?;
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

/// Looks once; `None` if calls use the session or all threads. Looks wait for neither: calls would have to wait behind
/// a look that holds the session.
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

/// Reads changes by other programs when the store reports them, and tells the client, until the session is closed.
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
    use std::iter;

    use futures_util::FutureExt as _;

    use super::*;

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
