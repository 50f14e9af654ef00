//! The server of a command: a thread of this process that speaks the protocol over pipes, as the program does. A
//! separate process would take longer to start than most calls take.

use std::io::{self, pipe};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use compactd_client::{Options, Server};
use rpc_server::run;
use rpc_server::transport::Framing;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::{register_conditional_default, register_usize};
use signal_hook::low_level::emulate_default_handler;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;
use tracing_subscriber::filter::LevelFilter;

use crate::log::{self, Log};

/// Maximum number of bytes of a message to such a server. Its client is this process, which has the message in memory
/// anyway: a batch of long messages of a session may be longer than a server accepts from another program.
const MAX_MESSAGE_BYTES: usize = u32::MAX as usize;

/// Starts a server on a thread of this process. It logs errors to standard error.
///
/// A signal that ends programs ends the server first, as it ends one that is a process, and then this process.
///
/// # Errors
/// The system gives no pipe or no thread.
pub(super) fn start(options: Options) -> io::Result<Server> {
    let log = log()?;
    let running = Running::begin()?;
    let ((input, to_server), (from_server, output)) = (pipe()?, pipe()?);
    let (to_server, from_server) =
        (Sender::from_owned_fd(to_server.into())?, Receiver::from_owned_fd(from_server.into())?);
    let (sender, ended) = oneshot::channel();
    let serve = move || {
        let options = run::Options { framing: Some(Framing::Lines), max_message_bytes: MAX_MESSAGE_BYTES };
        let served = run::serve(input, output, options);
        let code = served.unwrap_or_else(|error| {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        });
        log.flush(log::FLUSH_LIMIT);
        // A signal that ended the server ends this process here.
        drop(running);
        // The command may have ended already.
        let _ = sender.send(code);
    };
    thread::Builder::new().name("server".to_owned()).spawn(serve)?;
    Ok(options.connect(to_server, from_server, async {
        let code = ended.await.map_err(|_| io::Error::other("it ended with a panic"))?;
        // The status of a process has its exit code in the second byte.
        Ok(ExitStatus::from_raw(i32::from(code != ExitCode::SUCCESS) << 8))
    }))
}

/// The log of all servers of this process.
fn log() -> io::Result<Log> {
    static LOG: OnceLock<Log> = OnceLock::new();
    if let Some(log) = LOG.get() {
        return Ok(log.clone());
    }
    let log = log::start(None, LevelFilter::ERROR).map_err(io::Error::other)?;
    Ok(LOG.get_or_init(|| log).clone())
}

/// The signals that end a process and that a server takes itself.
pub(super) const ENDING: [i32; 4] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT];

/// How these signals are handled. A process cannot give a handler back, so without a server the handler does what the
/// system would have done.
#[derive(Debug, Default)]
struct Signals {
    /// Whether the handlers are there.
    are_taken: AtomicBool,
    /// Number of servers that run.
    servers: Mutex<usize>,
    /// Whether no server runs.
    is_idle: Arc<AtomicBool>,
    /// The last signal that arrived; 0 if none did.
    received: Arc<AtomicUsize>,
}

/// A server that runs. Meanwhile, it takes the signals.
struct Running(&'static Signals);

impl Running {
    fn begin() -> io::Result<Self> {
        static SIGNALS: OnceLock<Signals> = OnceLock::new();
        let signals = SIGNALS.get_or_init(Signals::default);
        let mut servers = signals.servers.lock().unwrap_or_else(PoisonError::into_inner);
        signals.is_idle.store(false, Ordering::SeqCst);
        if !signals.are_taken.swap(true, Ordering::SeqCst) {
            for signal in ENDING {
                register_conditional_default(signal, Arc::clone(&signals.is_idle))?;
                register_usize(signal, Arc::clone(&signals.received), usize::try_from(signal).unwrap_or_default())?;
            }
        }
        *servers += 1;
        Ok(Self(signals))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut servers = self.0.servers.lock().unwrap_or_else(PoisonError::into_inner);
        *servers -= 1;
        if *servers > 0 {
            return;
        }
        self.0.is_idle.store(true, Ordering::SeqCst);
        let received = i32::try_from(self.0.received.load(Ordering::SeqCst)).unwrap_or_default();
        if received != 0 {
            // It does not return for these signals.
            let _ = emulate_default_handler(received);
        }
    }
}
