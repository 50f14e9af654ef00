//! The program: where it is found, and the process. One task waits for its end, and kills it if it takes too long.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::ClientError;

/// The path of the program: what `COMPACTD_BIN` names, else `compactd` beside the running program, on the path, or
/// where `cargo install` puts programs.
///
/// # Errors
/// [`ClientError::NoBinary`] if there is none; it says what to do.
pub fn find_binary() -> Result<PathBuf, ClientError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(named) = variable("COMPACTD_BIN") {
        return Ok(named.into());
    }
    let executable = std::env::current_exe().unwrap_or_default();
    let beside = executable.parent().map(Path::to_owned);
    let path = variable("PATH").unwrap_or_default();
    let cargo_home = variable("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let directories = beside.into_iter().chain(std::env::split_paths(&path));
    let directories = directories.chain(cargo_home.map(|home| home.join("bin")));
    find_in(directories).ok_or_else(|| {
        ClientError::NoBinary(format!(
            "no program compactd was found: COMPACTD_BIN is not set, and there is none beside {}, on the path, or \
             where cargo installs. Install it by `cargo install compactd`, or set COMPACTD_BIN to its path",
            executable.display()
        ))
    })
}

fn find_in(directories: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let name = format!("compactd{}", std::env::consts::EXE_SUFFIX);
    // An empty entry of the path means the working directory, which is no place to run programs from.
    let directories = directories.filter(|directory| !directory.as_os_str().is_empty());
    directories.map(|directory| directory.join(&name)).find(|program| is_program(program))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// How the process ended, if it has.
type Ended = Option<Result<ExitStatus, String>>;

/// A process that ends at the latest some time after this handle is dropped, or this process where the server runs in it.
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

    /// Watches over a server of this process, whose end `ended` reports. It has `grace` to end once it is asked to; it
    /// cannot be killed, so the wait then fails.
    pub(crate) fn of_this(
        ended: impl Future<Output = io::Result<ExitStatus>> + Send + 'static,
        grace: Duration,
    ) -> Self {
        let (ended_sender, receiver) = watch::channel(None);
        let (end, mut asked) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut ended = pin!(ended);
            let status = tokio::select! {
                status = &mut ended => status,
                _ = asked.recv() => timeout(grace, ended).await.unwrap_or_else(|late| Err(late.into())),
            };
            ended_sender.send_replace(Some(status.map_err(|error| error.to_string())));
        });
        Self { pid: std::process::id(), ended: receiver, end }
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
