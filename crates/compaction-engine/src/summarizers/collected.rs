//! The ledgers of a compaction, which the summarizer without a model and the account both need.

use std::sync::Arc;

use compaction_core::preparation::{Ledgers, Preparation};
use tokio::sync::OnceCell;

use crate::error::EngineError;
use crate::threads::blocking;

/// The ledgers of a preparation; collected once, by whoever asks first.
#[derive(Debug)]
pub struct Collected {
    preparation: Arc<Preparation>,
    ledgers: OnceCell<Ledgers>,
}

impl Collected {
    /// Nothing is collected yet.
    pub(crate) fn new(preparation: Arc<Preparation>) -> Self {
        Self { preparation, ledgers: OnceCell::new() }
    }

    /// The ledgers, as soon as they are collected.
    pub(crate) async fn ledgers(&self) -> Result<Ledgers, EngineError> {
        let collecting = || {
            let preparation = Arc::clone(&self.preparation);
            blocking(move || Ok(preparation.ledgers()))
        };
        self.ledgers.get_or_try_init(collecting).await.cloned()
    }
}
