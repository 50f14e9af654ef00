//! Models of providers against a local server that speaks their languages: data in
//! `models/cases`, played whole and in awkward pieces. No network, no key.
//!
//! With `COMPACTD_LIVE_TESTS=1` and keys in the environment, `live` asks the providers themselves.
//! `servers` asks servers of others, which `cargo xtask models` starts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "models/cases.rs"]
mod cases;
#[cfg(unix)]
#[path = "models/command.rs"]
mod command;
#[path = "models/continued.rs"]
mod continued;
#[path = "models/engine.rs"]
mod engine;
#[path = "models/harness.rs"]
mod harness;
#[cfg(unix)]
#[path = "models/keys.rs"]
mod keys;
#[path = "models/live.rs"]
mod live;
#[path = "models/loop_stays_free.rs"]
mod loop_stays_free;
#[path = "models/server.rs"]
mod server;
#[path = "models/servers.rs"]
mod servers;
#[path = "models/tls.rs"]
mod tls;
#[path = "models/troubles.rs"]
mod troubles;
