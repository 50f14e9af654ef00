//! Paths that clients give.

use crate::errors::RpcError;

/// Fails with `invalidParams` for a path that no system takes.
pub(crate) fn check_path(member: &str, path: &str) -> Result<(), RpcError> {
    match path.contains('\0') {
        true => Err(RpcError::invalid_params(member, "a path without a NUL")),
        false => Ok(()),
    }
}
