//! How a server is started and listened to.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

use crate::answers::{Answers, Hooked};
use crate::process::{Process, find_binary};
use crate::protocol::Hooks;
use crate::{ClientError, Framing, Server};

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Sent,
    /// From the server to the client.
    Received,
}

/// Sees every message in the order of the pipe, stray lines included. It must not wait.
pub type Tap = Arc<dyn Fn(Direction, &str) + Send + Sync>;

/// How a server is started and listened to.
#[derive(Clone)]
pub struct Options {
    pub(crate) timeout: Duration,
    pub(crate) framing: Framing,
    pub(crate) max_notifications: usize,
    pub(crate) max_notification_bytes: usize,
    pub(crate) grace: Duration,
    pub(crate) own_process_group: bool,
    pub(crate) tap: Option<Tap>,
    pub(crate) answers: Option<Arc<dyn Answers>>,
}

impl Default for Options {
    /// No time-out, lines, 65536 notifications or 256 MiB of them, 5 s to end, our process group.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(100 * 365 * 24 * 3600),
            framing: Framing::Lines,
            max_notifications: 65536,
            max_notification_bytes: 256 << 20,
            grace: Duration::from_secs(5),
            own_process_group: false,
            tap: None,
            answers: None,
        }
    }
}

impl Options {
    /// Time after which a request fails with [`ClientError::TimedOut`] and is cancelled.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Framing of both directions.
    #[must_use]
    pub fn framing(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// Notifications, and bytes of their parameters, that wait for the caller at most. Beyond that
    /// they are lost, and [`ClientError::NotificationsLost`] stands in their place.
    #[must_use]
    pub fn notification_limits(self, count: usize, bytes: usize) -> Self {
        Self { max_notifications: count, max_notification_bytes: bytes, ..self }
    }

    /// Time that the server has to end by itself before it is killed.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Whether the server gets a process group of its own, so that Ctrl-C in a terminal does not end
    /// it together with this process. It ends with its input all the same, however this process ends.
    #[must_use]
    pub fn own_process_group(self, own_process_group: bool) -> Self {
        Self { own_process_group, ..self }
    }

    /// Lets `tap` see every message.
    #[must_use]
    pub fn tap(self, tap: impl Fn(Direction, &str) + Send + Sync + 'static) -> Self {
        Self { tap: Some(Arc::new(tap)), ..self }
    }

    /// Answers the server's requests by typed functions; without them they are refused as unknown methods.
    #[must_use]
    pub fn hooks(self, hooks: impl Hooks + 'static) -> Self {
        self.answers(Hooked(hooks))
    }

    /// Answers the server's requests as they come, in the place of [`Self::hooks`].
    #[must_use]
    pub fn answers(self, answers: impl Answers + 'static) -> Self {
        Self { answers: Some(Arc::new(answers)), ..self }
    }

    /// Starts the program that [`find_binary`] finds, as [`Self::spawn`] does.
    ///
    /// # Errors
    /// [`ClientError::NoBinary`] if there is none, [`ClientError::Process`] if it cannot be started.
    pub fn start(self) -> Result<Server, ClientError> {
        self.spawn(std::process::Command::new(find_binary()?))
    }

    /// Starts `command` with piped input and output, inside a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// [`ClientError::Process`] if the program cannot be started.
    pub fn spawn(self, command: impl Into<Command>) -> Result<Server, ClientError> {
        Server::run(command.into(), self)
    }

    /// Talks with a server that runs in this process, such as `rpc_server::run::serve` on a thread of its own, inside a
    /// tokio runtime with time. `input` and `output` are our ends of its pipes, and `ended` reports its end. It cannot be
    /// killed: after the grace time, [`Server::shutdown`] fails instead.
    pub fn connect(
        self,
        input: impl AsyncWrite + Unpin + Send + 'static,
        output: impl AsyncRead + Unpin + Send + 'static,
        ended: impl Future<Output = io::Result<ExitStatus>> + Send + 'static,
    ) -> Server {
        let process = Process::of_this(ended, self.grace);
        Server::over(input, output, process, self)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Options");
        shown.field("timeout", &self.timeout).field("framing", &self.framing).field("grace", &self.grace);
        shown.finish_non_exhaustive()
    }
}
