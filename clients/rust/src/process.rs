//! The child process: its end is awaited by one task, and forced if it takes too long.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// How the process ended, if it has.
type Ended = Option<Result<ExitStatus, String>>;

/// A process that ends at the latest some time after this handle is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    ended: watch::Receiver<Ended>,
    /// Asks for the end within the grace time; dropping it asks as well.
    end: mpsc::Sender<()>,
}

impl Process {
    /// Watches over `child`, which has `grace` to end once it is asked to.
    pub(crate) fn new(mut child: Child, grace: Duration) -> io::Result<Self> {
        let pid = child.id().ok_or_else(|| io::Error::other("server ended at once"))?;
        let (ended_sender, ended) = watch::channel(None);
        let (end, mut asked) = mpsc::channel(1);
        tokio::spawn(async move {
            let status = tokio::select! {
                status = child.wait() => status,
                _ = asked.recv() => end_within(&mut child, grace).await,
            };
            ended_sender.send_replace(Some(status.map_err(|error| error.to_string())));
        });
        Ok(Self { pid, ended, end })
    }

    /// Id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Gives the process the grace time to end, after which it is killed.
    pub(crate) fn ask_to_end(&self) {
        let _asked_before = self.end.try_send(());
    }

    /// Waits for the end.
    pub(crate) async fn wait(&self) -> io::Result<ExitStatus> {
        let mut ended = self.ended.clone();
        let outcome = ended.wait_for(Option::is_some).await.map_err(|_| io::Error::other("runtime is ending"))?;
        match &*outcome {
            Some(Ok(status)) => Ok(*status),
            Some(Err(error)) => Err(io::Error::other(error.clone())),
            None => Err(io::Error::other("server has not ended")),
        }
    }
}

async fn end_within(child: &mut Child, grace: Duration) -> io::Result<ExitStatus> {
    match timeout(grace, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            child.start_kill()?;
            child.wait().await
        }
    }
}
