//! Open sessions as the server sees them.

pub use compaction_engine::session::{OpenSession, SessionAccess, Slot};
use session_store::StoreError;

use crate::errors::RpcError;

/// Errors of the store as the wire knows them.
pub(crate) trait StoreErrors {
    /// An error of the store that was met while serving this session.
    fn store_error(&self, error: &StoreError) -> RpcError;
}

impl StoreErrors for OpenSession {
    fn store_error(&self, error: &StoreError) -> RpcError {
        RpcError::from_store(error, &self.id)
    }
}
