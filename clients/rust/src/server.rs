//! A running compactd, and the calls to it.

use std::fmt;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::stream::{self, Stream};
use jsonrpsee::async_client::{Client, ClientBuilder};
use jsonrpsee::core::client::ClientT;
use jsonrpsee::core::client::async_client::RpcService;
use jsonrpsee::core::middleware::RpcServiceBuilder;
use jsonrpsee::core::traits::ToRpcParams;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

use crate::ClientError;
use crate::answers::Answering;
use crate::notifications::{Notification, Queue};
use crate::options::Options;
use crate::process::Process;
use crate::protocol::Event;
use crate::transport::{Incoming, NoteIds, Pending, Receiver, Sender, start_writing, with_slot};

/// A running compactd. Calls may be made from many tasks at once.
///
/// Dropping it closes the server's input, which ends the server; it is killed after the grace time.
pub struct Server {
    client: Arc<Client<NoteIds<RpcService>>>,
    process: Process,
    notifications: Arc<Queue>,
    strays: Arc<AtomicU64>,
}

impl Server {
    /// Starts the program that [`crate::find_binary`] finds, with the default [`Options`].
    ///
    /// # Errors
    /// [`ClientError::NoBinary`] if there is none, [`ClientError::Process`] if it cannot be started.
    pub fn start() -> Result<Self, ClientError> {
        Options::default().start()
    }

    /// Starts `command` with the default [`Options`].
    ///
    /// # Errors
    /// [`ClientError::Process`] if the program cannot be started.
    pub fn spawn(command: impl Into<Command>) -> Result<Self, ClientError> {
        Options::default().spawn(command)
    }

    /// The options to start a server with.
    pub fn options() -> Options {
        Options::default()
    }

    /// Sends a request and waits for its result. Dropping the future cancels the request. The functions that are
    /// named after methods do the same with typed parameters and results.
    ///
    /// # Errors
    /// [`ClientError::Rpc`] if the server answers with an error, [`ClientError::MessageTooLarge`] if it does not read a
    /// message of that length, [`ClientError::Closed`] if it ends first, [`ClientError::TimedOut`], or
    /// [`ClientError::Convert`].
    pub async fn request<P, R>(&self, method: &str, params: &P) -> Result<R, ClientError>
    where
        P: Serialize + ?Sized + Sync,
        R: DeserializeOwned,
    {
        let params = Params(to_raw_value(params)?);
        let mut cancel = CancelOnDrop { client: Arc::clone(&self.client), id: Arc::default(), answered: false };
        let outcome = with_slot(Arc::clone(&cancel.id), self.client.request(method, params)).await;
        let outcome = outcome.map_err(ClientError::from);
        cancel.answered = !matches!(outcome, Err(ClientError::TimedOut));
        outcome
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// [`ClientError::Closed`] if the server is gone, [`ClientError::MessageTooLarge`], or [`ClientError::Convert`].
    pub async fn notify<P: Serialize + ?Sized + Sync>(&self, method: &str, params: &P) -> Result<(), ClientError> {
        Ok(self.client.notification(method, Params(to_raw_value(params)?)).await?)
    }

    /// Waits for the next notification. All come here, in the order in which they were sent; those
    /// that the server sent before a reply are here when the reply is. For one task at a time.
    ///
    /// # Errors
    /// [`ClientError::Closed`] after the last one, [`ClientError::NotificationsLost`] in place of
    /// those that did not fit the queue.
    pub async fn next_notification(&self) -> Result<Notification, ClientError> {
        self.notifications.next().await
    }

    /// The next notification if it has come already; errors as [`Self::next_notification`].
    pub fn try_next_notification(&self) -> Option<Result<Notification, ClientError>> {
        self.notifications.try_next()
    }

    /// The notifications from here on, typed by their method. The stream ends when the server ends. Notifications
    /// that were lost or cannot be read are errors in the stream. Only one task may read at a time.
    pub fn events(&self) -> impl Stream<Item = Result<Event, ClientError>> + '_ {
        stream::unfold((), async |()| match self.next_notification().await {
            Err(ClientError::Closed(_)) => None,
            outcome => Some((outcome.and_then(Event::try_from), ())),
        })
    }

    /// Sends `shutdown`, then `exit`, and waits. A server that takes longer than the grace time is killed.
    ///
    /// # Errors
    /// [`ClientError::Process`] if the wait fails. A server that has already ended is no error.
    pub async fn shutdown(&self) -> Result<ExitStatus, ClientError> {
        self.process.ask_to_end();
        let both = async {
            let _result: Option<Box<RawValue>> = self.request("shutdown", &json!({})).await?;
            self.notify("exit", &json!({})).await
        };
        tokio::select! {
            // The exit status shows whether the server read both messages.
            Ok(()) = both => {}
            status = self.process.wait() => return Ok(status?),
        }
        self.wait().await
    }

    /// Waits until the server has ended by itself.
    ///
    /// # Errors
    /// [`ClientError::Process`] if the wait fails.
    pub async fn wait(&self) -> Result<ExitStatus, ClientError> {
        Ok(self.process.wait().await?)
    }

    /// Process id of the server.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// How many lines of output were no protocol, or replies to requests that were never made. They are warnings of
    /// `tracing`, too.
    pub fn strays(&self) -> u64 {
        self.strays.load(Ordering::Relaxed)
    }

    pub(crate) fn run(mut command: Command, options: Options) -> Result<Self, ClientError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        if options.own_process_group {
            separate(&mut command);
        }
        let mut child = command.spawn()?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).expect("both were asked to be piped");
        let process = Process::new(child, options.grace)?;
        Ok(Self::over(input, output, process, options))
    }

    /// Talks over the pipes of a server that runs in `process`.
    pub(crate) fn over(
        input: impl AsyncWrite + Unpin + Send + 'static,
        output: impl AsyncRead + Unpin + Send + 'static,
        process: Process,
        options: Options,
    ) -> Self {
        let outgoing = start_writing(input, options.framing, options.tap.clone());
        let notifications = Arc::new(Queue::new(options.max_notifications, options.max_notification_bytes));
        let (pending, strays) = (Pending::default(), Arc::default());
        let incoming = Incoming {
            pending: pending.clone(),
            notifications: Arc::clone(&notifications),
            answering: Answering::new(options.answers.clone(), outgoing.downgrade(), pending.clone()),
            strays: Arc::clone(&strays),
        };
        let receiver = Receiver::new(output, options.framing, incoming, options.tap.clone());
        let layers =
            RpcServiceBuilder::new().layer_fn(move |inner: RpcService| NoteIds { inner, pending: pending.clone() });
        let builder = ClientBuilder::new().request_timeout(options.timeout).set_rpc_middleware(layers);
        let client = Arc::new(builder.build_with_tokio(Sender(outgoing), receiver));
        Self { client, process, notifications, strays }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("pid", &self.pid()).finish_non_exhaustive()
    }
}

/// Puts the child into a process group that the signals of our terminal do not reach.
fn separate(command: &mut Command) {
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(windows)]
    command.creation_flags(0x200); // CREATE_NEW_PROCESS_GROUP
}

/// Parameters that are already JSON text.
struct Params(Box<RawValue>);

impl ToRpcParams for Params {
    fn to_rpc_params(self) -> Result<Option<Box<RawValue>>, serde_json::Error> {
        Ok(Some(self.0))
    }
}

/// Cancels the request on the server if the future goes away before the answer has come.
struct CancelOnDrop {
    client: Arc<Client<NoteIds<RpcService>>>,
    id: Arc<OnceLock<u64>>,
    answered: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.get().copied().filter(|_| !self.answered) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let client = Arc::clone(&self.client);
        runtime.spawn(async move {
            let params = to_raw_value(&json!({ "id": id })).map(Params);
            if let Ok(params) = params {
                // A server that is gone has nothing left to cancel.
                let _gone = client.notification("$/cancelRequest", params).await;
            }
        });
    }
}
