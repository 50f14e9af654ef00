//! The life of the server, from the first byte to the exit code.

use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

pub use compaction_engine::build_ahead;
use compaction_engine::threads::MAX_THREADS;
use session_store::SessionStore;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::dispatch::{Dispatcher, Signal};
use crate::methods;
use crate::server::{Catalog, GRACE_PERIOD, Server};
use crate::transport::{Closing, Framing, Input, Outbound, read_messages};

/// Options of the pipes.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The framing. `None` to detect it from the first byte.
    pub framing: Option<Framing>,
    /// Maximum number of bytes of a message.
    pub max_message_bytes: usize,
}

/// Time that cancelled requests get to end, and that the client gets to read the queued messages.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);
/// Interval between checks that the parent is alive.
const PARENT_CHECK: Duration = Duration::from_secs(1);

/// What the server can do.
const CATALOG: Catalog =
    Catalog { methods: methods::names, notifications: methods::NOTIFICATIONS, document: methods::document };

/// Why the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Input,
    /// The client no longer reads, so nothing can be sent.
    Output,
    Exit,
    Signal,
    ParentDied,
}

/// Serves `input` until it ends, `output` breaks, `exit` comes, SIGTERM, SIGINT, SIGHUP or SIGQUIT arrives, or the
/// parent dies.
///
/// The exit code is 0, or 1 for `exit` without `shutdown` (protocol/README.md, "Lifecycle").
pub fn serve(
    input: impl AsFd,
    output: impl Write + AsFd + Send + 'static,
    options: Options,
) -> anyhow::Result<ExitCode> {
    serve_store(input, output, options, None)
}

/// As [`serve`], with sessions in `store` if it is given.
pub fn serve_store(
    input: impl AsFd,
    output: impl Write + AsFd + Send + 'static,
    options: Options,
    store: Option<Arc<dyn SessionStore>>,
) -> anyhow::Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(MAX_THREADS).build()?;
    let code = runtime.block_on(run(input, output, options, store));
    // A cancelled read may still be running.
    runtime.shutdown_background();
    code
}

async fn run(
    input: impl AsFd,
    output: impl Write + AsFd + Send + 'static,
    options: Options,
    store: Option<Arc<dyn SessionStore>>,
) -> anyhow::Result<ExitCode> {
    let outbound = Outbound::spawn(output)?;
    let _closing = Closing(outbound.clone());
    let server = Arc::new(Server::new(outbound.clone(), CATALOG, options.max_message_bytes, store));
    let dispatcher = Arc::new(Dispatcher::new(Arc::clone(&server), outbound.clone())?);
    let ended = CancellationToken::new();
    let inputs = read_messages(&input, options.framing, options.max_message_bytes, outbound.clone(), ended.clone())?;
    let end = listen(&server, &dispatcher, &outbound, inputs, &ended).await?;
    tracing::debug!(?end, "ending");
    let was_shut_down = server.is_shut_down();
    if end == End::Input {
        // What has not finished by then is cancelled below.
        let finishing = async {
            dispatcher.idle().await;
            server.operations_ended().await;
        };
        let _ = tokio::time::timeout(GRACE_PERIOD, finishing).await;
    }
    server.end.cancel();
    let ending = async {
        dispatcher.idle().await;
        server.shut_down().await;
    };
    if tokio::time::timeout(SHUTDOWN_LIMIT, ending).await.is_err() {
        tracing::warn!(running = dispatcher.running(), "requests did not end in time");
    }
    outbound.close(SHUTDOWN_LIMIT);
    Ok(if end == End::Exit && !was_shut_down { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Serves messages until something ends the server. The loop notices an end even while it waits, above all for a client
/// that does not read.
async fn listen(
    server: &Arc<Server>,
    dispatcher: &Arc<Dispatcher>,
    outbound: &Outbound,
    mut inputs: Receiver<Input>,
    ended: &CancellationToken,
) -> anyhow::Result<End> {
    let (dispatcher, replies) = (Arc::clone(dispatcher), outbound.clone());
    // In its own task, so that a message does not poll the other branches of the select below.
    let serve = AbortOnDropHandle::new(tokio::spawn(async move {
        while let Some(Input::Message(incoming, bytes)) = inputs.recv().await {
            tracing::trace!(bytes, "message");
            // No message is read from a client that does not read its replies, so that the queue of replies stays
            // bounded.
            replies.ready().await;
            if dispatcher.accept(incoming).await == Signal::Exit {
                return End::Exit;
            }
        }
        End::Input
    }));
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut quit = signal(SignalKind::quit())?;
    Ok(tokio::select! {
        end = serve => end?,
        _ = terminate.recv() => End::Signal,
        _ = interrupt.recv() => End::Signal,
        _ = hangup.recv() => End::Signal,
        _ = quit.recv() => End::Signal,
        () = parent_dies(server) => End::ParentDied,
        () = outbound.broken() => End::Output,
        () = never_read(outbound, ended) => End::Input,
    })
}

/// Ends when the input has ended and the client does not read the replies within the limit.
async fn never_read(outbound: &Outbound, ended: &CancellationToken) {
    ended.cancelled().await;
    loop {
        let is_read = tokio::time::timeout(SHUTDOWN_LIMIT, outbound.ready()).await.is_ok();
        if !is_read {
            return;
        }
        tokio::time::sleep(GRACE_PERIOD).await;
    }
}

/// Ends when the parent that `initialize` named has died.
async fn parent_dies(server: &Server) {
    let mut check = tokio::time::interval(PARENT_CHECK);
    loop {
        check.tick().await;
        if parent_died(server) {
            return;
        }
    }
}

fn parent_died(server: &Server) -> bool {
    let process_id = server.configuration().ok().and_then(|configuration| configuration.process_id);
    let parent = process_id.and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
    let is_gone = |parent| rustix::process::test_kill_process(parent) == Err(rustix::io::Errno::SRCH);
    parent.is_some_and(|parent| is_gone(parent) || is_zombie(parent))
}

/// Whether a process has ended and its parent has not yet collected its status. Such a process can be signalled, but
/// reads and writes nothing.
fn is_zombie(process: rustix::process::Pid) -> bool {
    let path = format!("/proc/{}/stat", process.as_raw_nonzero());
    // The name before the state may contain any character. Systems without this file cannot tell.
    let status = std::fs::read(path).unwrap_or_default();
    let state = status.iter().rposition(|byte| *byte == b')').and_then(|end| status.get(end + 2));
    matches!(state, Some(b'Z' | b'X'))
}
