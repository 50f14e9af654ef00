//! Looking names up, a few at once.
//!
//! The system's look-up blocks a thread until the name server answers or is given up, and cannot be
//! ended before. The pool of threads is also the one that reads and writes sessions, so that silent name
//! servers must never take all of it.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::vec::IntoIter;

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tokio::sync::Semaphore;
use tower_service::Service;

/// Look-ups at once. Together with the calls that work at once they are fewer than the threads.
const LOOKUPS: usize = 4;
static RUNNING: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(LOOKUPS)));

/// Finds the addresses of a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lookup;

impl Service<Name> for Lookup {
    type Response = IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        // The port is that of the address, and is put in later.
        let look_up = move || (name.as_str(), 0).to_socket_addrs();
        Box::pin(limited(Arc::clone(&RUNNING), look_up))
    }
}

/// Runs `work` on a thread once `running` has room. The room is given back when the work ends, not when
/// nobody waits for it any more.
async fn limited<T: Send + 'static>(
    running: Arc<Semaphore>,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let room = running.acquire_owned().await.map_err(io::Error::other)?;
    let work = move || {
        let _room = room;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_takes_its_room_until_it_ends() {
        let running = Arc::new(Semaphore::new(1));
        let (answer, silence) = mpsc::channel::<()>();
        let silent = limited(Arc::clone(&running), move || silence.recv().map_err(io::Error::other));
        assert!(Box::pin(silent).as_mut().now_or_never().is_none(), "the name server is silent");
        let second = limited(Arc::clone(&running), || Ok(2));
        let mut second = Box::pin(second);
        assert!(second.as_mut().now_or_never().is_none());
        // The pool itself goes on.
        assert_eq!(tokio::task::spawn_blocking(|| 3).await.unwrap(), 3);
        assert!(second.as_mut().now_or_never().is_none());
        answer.send(()).unwrap();
        assert_eq!(second.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn names_have_addresses() {
        let name: Name = "localhost".parse().unwrap();
        let mut addresses = Lookup.call(name).await.unwrap();
        assert!(addresses.all(|address| address.ip().is_loopback()));
    }
}
