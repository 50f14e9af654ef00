//! Ids of the requests under way: which replies are awaited, and what a dropped future must cancel.
//!
//! jsonrpsee gives out the ids and hides them. This layer looks at each request on its way out.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jsonrpsee::core::middleware::{Batch, Notification, RpcServiceT};
use jsonrpsee::types::{Id, Request};

tokio::task_local! {
    /// Where the layer leaves the id for the future that makes the request.
    static SLOT: Arc<OnceLock<u64>>;
}

/// Runs `request` and leaves the id that it got in `slot`.
pub(crate) async fn with_slot<F: Future>(slot: Arc<OnceLock<u64>>, request: F) -> F::Output {
    SLOT.scope(slot, request).await
}

/// Ids whose replies have not come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Awaited(Arc<Mutex<HashSet<u64>>>);

impl Awaited {
    /// Takes the id off the list; false if it is not on it.
    pub(crate) fn take(&self, id: u64) -> bool {
        self.ids().remove(&id)
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, id: &Id<'_>) {
        if let Id::Number(id) = *id {
            self.ids().insert(id);
            // Outside of `with_slot` nobody wants to know.
            let _unwanted = SLOT.try_with(|slot| slot.set(id));
        }
    }
}

/// The layer.
#[derive(Debug, Clone)]
pub(crate) struct NoteIds<S> {
    pub(crate) inner: S,
    pub(crate) awaited: Awaited,
}

impl<S: RpcServiceT> RpcServiceT for NoteIds<S> {
    type MethodResponse = S::MethodResponse;
    type NotificationResponse = S::NotificationResponse;
    type BatchResponse = S::BatchResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = Self::MethodResponse> + Send + 'a {
        self.awaited.note(&request.id);
        self.inner.call(request)
    }

    fn batch<'a>(&self, requests: Batch<'a>) -> impl Future<Output = Self::BatchResponse> + Send + 'a {
        self.inner.batch(requests)
    }

    fn notification<'a>(
        &self,
        notification: Notification<'a>,
    ) -> impl Future<Output = Self::NotificationResponse> + Send + 'a {
        self.inner.notification(notification)
    }
}
