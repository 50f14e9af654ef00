//! What the client is told of a navigation: a start where a summary is written or nobody waits, and
//! then exactly one end.

use std::sync::{Arc, OnceLock};

use crate::errors::RpcError;
use crate::server::Server;
use crate::wire::*;

/// Whether the client was told that an operation has started, and of which.
#[derive(Clone, Default)]
pub(super) struct Started(Arc<OnceLock<String>>);

impl Started {
    /// The operation that was told of.
    pub(super) fn operation_id(&self) -> Option<String> {
        self.0.get().cloned()
    }

    /// Tells the client, once.
    pub(super) fn tell(&self, server: &Server, params: &NavigateTreeParams, start: Start<'_>) {
        if self.0.set(start.operation_id.to_owned()).is_ok() {
            tell_start(server, params, start);
        }
    }
}

/// What there is to tell of a start.
pub(super) struct Start<'a> {
    pub(super) operation_id: &'a str,
    pub(super) old_leaf_id: Option<String>,
    /// Tokens of what is summarised.
    pub(super) estimated_tokens: u64,
}

fn tell_start(server: &Server, params: &NavigateTreeParams, start: Start<'_>) {
    server.notify(
        "branchSummaryStart",
        &BranchSummaryStart {
            session_id: params.session_id.clone(),
            operation_id: start.operation_id.to_owned(),
            target_id: params.target_id.clone(),
            old_leaf_id: start.old_leaf_id,
            estimated_tokens: start.estimated_tokens,
        },
    );
}

/// Tells the client how a navigation ended.
pub(super) fn tell_end(
    server: &Server,
    params: NavigateTreeParams,
    operation_id: String,
    outcome: &Result<NavigationResult, RpcError>,
    is_aborted: bool,
) {
    server.notify(
        "branchSummaryEnd",
        &BranchSummaryEnd {
            session_id: params.session_id,
            operation_id,
            result: outcome.as_ref().ok().cloned(),
            aborted: is_aborted,
            error: outcome.as_ref().err().map(RpcError::to_body),
        },
    );
}
