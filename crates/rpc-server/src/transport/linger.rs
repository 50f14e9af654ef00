//! Waiting awake for the next message of a client that sends one right after the other.
//!
//! Going to sleep and being woken takes longer than most calls: on virtual machines 20 µs and more
//! for each side. So the loop stays awake for a moment where the last messages came that quickly. A
//! client that takes its time costs nothing (docs/decisions/0015-reading-in-the-loop.md).

use std::future::{Future, poll_fn};
use std::num::NonZero;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long the loop stays awake after a message, and how soon the one before must have been
/// followed by it.
const QUICK: Duration = Duration::from_micros(100);

/// How quickly messages follow each other.
#[derive(Debug)]
pub(super) struct Linger {
    /// When the last message came.
    last: Instant,
    is_quick: bool,
    /// Whether there is a processor for the client beside ours; asked for when it matters.
    has_company: Option<bool>,
}

impl Linger {
    pub(super) fn new() -> Self {
        Self { last: Instant::now(), is_quick: false, has_company: None }
    }

    /// Waits for a message, at first awake where the last ones came quickly. All other tasks go on.
    pub(super) async fn wait<T>(&mut self, message: impl Future<Output = T>) -> T {
        let mut message = pin!(message);
        while self.is_awake() {
            let polled = poll_fn(|context| Poll::Ready(message.as_mut().poll(context))).await;
            if let Poll::Ready(message) = polled {
                return self.came(message);
            }
            tokio::task::yield_now().await;
        }
        let message = message.await;
        self.came(message)
    }

    fn is_awake(&mut self) -> bool {
        let is_soon = self.is_quick && self.last.elapsed() < QUICK;
        is_soon && *self.has_company.get_or_insert_with(has_company)
    }

    fn came<T>(&mut self, message: T) -> T {
        let now = Instant::now();
        self.is_quick = now.duration_since(self.last) < QUICK;
        self.last = now;
        message
    }
}

/// On a lone processor the client could not run while we are awake.
fn has_company() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors > NonZero::<usize>::MIN)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    fn awake() -> Linger {
        Linger { last: Instant::now(), is_quick: true, has_company: Some(true) }
    }

    async fn hand_over(linger: &mut Linger) {
        let (sender, mut receiver) = mpsc::channel(1);
        let other = tokio::spawn(async move {
            for number in 0..1000 {
                sender.send(number).await.unwrap();
                if number % 10 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
        for number in 0..1000 {
            assert_eq!(linger.wait(receiver.recv()).await, Some(number));
        }
        assert_eq!(linger.wait(receiver.recv()).await, None);
        other.await.unwrap();
    }

    #[tokio::test]
    async fn messages_come_in_order_and_others_go_on() {
        hand_over(&mut awake()).await;
        hand_over(&mut Linger { has_company: Some(false), ..awake() }).await;
        hand_over(&mut Linger { is_quick: false, ..awake() }).await;
    }

    #[tokio::test]
    async fn a_slow_client_is_waited_for_asleep() {
        let mut linger = awake();
        linger.wait(tokio::time::sleep(QUICK * 20)).await;
        assert!(!linger.is_awake());
        linger.wait(async {}).await;
        // How quick that was is the machine's affair; a wait without end must end awake time as well.
        linger.is_quick = true;
        while linger.is_awake() {}
        assert!(linger.is_quick);
    }

    #[tokio::test]
    async fn a_lone_processor_is_left_to_the_client() {
        let mut linger = Linger { has_company: Some(false), ..awake() };
        assert!(!linger.is_awake());
    }
}
