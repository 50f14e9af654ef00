//! Server-sent events out of the body of an answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{Stream, StreamExt, unfold};
use hyper::body::Bytes;
use sse_stream::{Error, SseByteStream};

use super::http::{Exchange, HttpError};

/// Most bytes of one event. The largest in earnest is the last of a `responses` stream, which holds
/// the whole answer once more.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, HttpError>> + Send>>;

/// The events of one answer.
pub(super) struct Events {
    events: SseByteStream<Chunks>,
    /// Bytes since the last event: the parser itself would read on for ever.
    pending: Arc<AtomicUsize>,
    /// Since when events are read without letting others work.
    busy_since: Instant,
}

/// How long events are read before others have their turn: what has come already is never waited for.
const TURN: Duration = Duration::from_millis(5);

impl Events {
    /// The events of `exchange`.
    pub(super) fn new(exchange: Exchange) -> Self {
        let pending = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&pending);
        let chunks = unfold(Some((exchange, counted)), |state| async {
            let (mut exchange, counted) = state?;
            match exchange.chunk().await {
                Ok(Some(chunk)) if counted.fetch_add(chunk.len(), Ordering::Relaxed) > MAX_EVENT_BYTES => {
                    Some((Err(HttpError::TooLarge { limit: MAX_EVENT_BYTES }), None))
                }
                Ok(Some(chunk)) => Some((Ok(chunk), Some((exchange, counted)))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Self { events: SseByteStream::new(Box::pin(chunks)), pending, busy_since: Instant::now() }
    }

    /// The data of the next event that has some; `None` at the end of the stream. An event that the
    /// end cuts off is none.
    pub(super) async fn next(&mut self) -> Result<Option<String>, HttpError> {
        while let Some(event) = self.events.next().await {
            if self.busy_since.elapsed() >= TURN {
                tokio::task::yield_now().await;
                self.busy_since = Instant::now();
            }
            self.pending.store(0, Ordering::Relaxed);
            if let Some(data) = event.map_err(cause)?.data.filter(|data| !data.trim().is_empty()) {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

fn cause(error: Error) -> HttpError {
    match error {
        Error::Body(source) => match source.downcast::<HttpError>() {
            Ok(error) => *error,
            Err(other) => HttpError::Broken(other.to_string()),
        },
        other => HttpError::Broken(format!("the stream of events cannot be read: {other}")),
    }
}
