//! The sessions that are open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session_store::Session;

use crate::errors::RpcError;
use crate::session::{OpenSession, Slot, StoreErrors as _};

/// All open sessions by id.
#[derive(Debug, Default)]
pub struct Sessions {
    by_id: Mutex<HashMap<String, Arc<OpenSession>>>,
}

impl Sessions {
    /// The open session with this id.
    pub fn get(&self, id: &str) -> Option<Arc<OpenSession>> {
        self.lock().get(id).cloned()
    }

    /// Adds a session; its id must not be in use.
    pub fn insert(&self, session: Arc<OpenSession>) {
        self.lock().insert(session.id.clone(), session);
    }

    /// Closes a session whose lock is held, if it is not closed already. It is forgotten after its
    /// file is free, so that whoever does not find it here can open the file.
    pub(crate) fn close(&self, open: &OpenSession, slot: &mut Slot) -> Result<(), RpcError> {
        let session = slot.take().ok_or_else(|| open.not_open())?;
        let _leaving = Leaving { sessions: self, open };
        let closing = |mut session: Session| session.close();
        closing(session).map_err(|error| open.store_error(&error))
    }

    /// All open sessions.
    pub fn all(&self) -> Vec<Arc<OpenSession>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<OpenSession>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that is being closed; dropped when it is, whatever came of it.
struct Leaving<'a> {
    sessions: &'a Sessions,
    open: &'a OpenSession,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.open.id);
        self.open.has_closed();
    }
}
