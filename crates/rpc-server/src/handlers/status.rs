//! `ping` and `getStatus`.

use rustix::process::{Resource, getrlimit};

use super::lifecycle::{PROTOCOL_MINOR_VERSION, PROTOCOL_VERSION, server_info};
use crate::call::{CallContext, blocking};
use crate::errors::RpcError;
use crate::wire::*;

/// Tells that the server is there.
pub(crate) async fn ping(_: CallContext, _: NoParams) -> Result<Null, RpcError> {
    Ok(Null)
}

/// Tells what the server holds and does.
pub(crate) async fn get(call: CallContext, _: NoParams) -> Result<ServerStatus, RpcError> {
    let mut open = call.server.sessions.all();
    open.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let operations = open.iter().filter_map(|session| {
        Some(OperationStatus { session_id: session.id.clone(), operation_id: session.operation_id()? })
    });
    let operations = operations.collect();
    let sessions = open.iter().map(|session| OpenSessionStatus {
        session_id: session.id.clone(),
        path: session.locator.as_ref().map(ToString::to_string),
        read_only: session.is_read_only(),
        auto_compaction: session.auto_compaction.model().is_some(),
    });
    let sessions = sessions.collect();
    Ok(ServerStatus {
        server_info: server_info(),
        protocol_version: PROTOCOL_VERSION,
        protocol_minor_version: PROTOCOL_MINOR_VERSION,
        process_id: std::process::id(),
        uptime_ms: u64::try_from(call.server.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        sessions,
        operations,
        memory: blocking(|| Ok(memory())).await?,
    })
}

fn memory() -> MemoryStatus {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
    MemoryStatus {
        resident_bytes: resident.map(|kibibytes: u64| kibibytes.saturating_mul(1024)),
        limit_bytes: getrlimit(Resource::As).current,
    }
}
