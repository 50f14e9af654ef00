//! The queue of notifications: in order, bounded, and honest about what it lost.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use crate::ClientError;

/// A notification of the server.
#[derive(Debug, Clone)]
pub struct Notification {
    /// Its name, as `entryAppended`.
    pub method: String,
    /// Its parameters, as they came.
    pub params: Box<RawValue>,
}

impl Notification {
    /// Reads the parameters.
    ///
    /// # Errors
    /// [`ClientError::Convert`] if they are not of this type.
    pub fn parse<P: DeserializeOwned>(&self) -> Result<P, ClientError> {
        Ok(serde_json::from_str(self.params.get())?)
    }
}

/// Between the reader of the pipe, which must never wait, and the caller, who may be slow.
///
/// The reader also carries the replies: if it waited for the caller, a caller who waits for a reply
/// would wait for ever. So a full queue loses notifications, and says how many in their place.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    arrived: Notify,
    max_count: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    closed: Option<String>,
}

#[derive(Debug)]
enum Item {
    Notification(Notification),
    Lost(u64),
}

impl Queue {
    /// A queue of at most `max_count` notifications and `max_bytes` bytes of parameters.
    pub(crate) fn new(max_count: usize, max_bytes: usize) -> Self {
        Self { state: Mutex::default(), arrived: Notify::new(), max_count, max_bytes }
    }

    /// Adds a notification, or counts it as lost.
    pub(crate) fn push(&self, notification: Notification) {
        let mut state = self.state();
        let size = notification.params.get().len();
        if state.items.len() < self.max_count && state.bytes + size <= self.max_bytes {
            state.bytes += size;
            state.items.push_back(Item::Notification(notification));
        } else if let Some(Item::Lost(count)) = state.items.back_mut() {
            *count += 1;
        } else {
            state.items.push_back(Item::Lost(1));
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// Says that nothing more will come, and why.
    pub(crate) fn close(&self, reason: String) {
        self.state().closed.get_or_insert(reason);
        self.arrived.notify_one();
    }

    /// The next notification, when there is one. For one caller at a time.
    pub(crate) async fn next(&self) -> Result<Notification, ClientError> {
        loop {
            if let Some(outcome) = self.try_next() {
                return outcome;
            }
            self.arrived.notified().await;
        }
    }

    /// The next notification, if there is one by now; an error if none will come any more.
    pub(crate) fn try_next(&self) -> Option<Result<Notification, ClientError>> {
        let mut state = self.state();
        match state.items.pop_front() {
            Some(Item::Notification(notification)) => {
                state.bytes -= notification.params.get().len();
                Some(Ok(notification))
            }
            Some(Item::Lost(count)) => Some(Err(ClientError::NotificationsLost { count })),
            None => {
                let reason = state.closed.clone()?;
                self.arrived.notify_one(); // Other callers that wait must hear of the end, too.
                Some(Err(ClientError::Closed(reason)))
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(text: &str) -> Notification {
        Notification { method: "m".into(), params: RawValue::from_string(text.into()).unwrap() }
    }

    fn push(queue: &Queue, texts: &[&str]) {
        texts.iter().for_each(|text| queue.push(notification(text)));
    }

    fn drain(queue: &Queue) -> Vec<String> {
        let next = || queue.try_next();
        std::iter::from_fn(next)
            .map(|outcome| outcome.map_or_else(|error| error.to_string(), |n| n.params.get().to_owned()))
            .take(10)
            .collect()
    }

    #[test]
    fn keeps_the_order() {
        let queue = Queue::new(10, 100);
        push(&queue, &["1", "2", "3"]);
        assert_eq!(drain(&queue), ["1", "2", "3"]);
    }

    #[test]
    fn says_what_was_lost_in_its_place() {
        let queue = Queue::new(2, 100);
        push(&queue, &["1", "2", "3", "4"]);
        assert_eq!(drain(&queue), ["1", "2", "2 notifications were lost because nobody read them"]);
        queue.push(notification("5"));
        assert_eq!(drain(&queue), ["5"]);
    }

    #[test]
    fn counts_bytes_too() {
        let queue = Queue::new(10, 5);
        push(&queue, &["1234", "12", "1"]);
        assert_eq!(drain(&queue)[..2], ["1234", "1 notifications were lost because nobody read them"]);
    }

    #[test]
    fn ends_after_the_last_one() {
        let queue = Queue::new(10, 100);
        queue.push(notification("1"));
        queue.close("end of output".into());
        assert_eq!(drain(&queue)[..2], ["1", "server is gone: end of output"]);
    }
}
