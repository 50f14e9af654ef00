//! Models of providers, tested against a local server that speaks their interfaces. The cases are in `models/cases`.
//! They are sent whole and in small pieces. The tests need no network and no key.
//!
//! With `COMPACTD_LIVE_TESTS=1` and keys in the environment, `live` asks real providers.
//! `servers` asks servers of other projects, which `cargo xtask models` starts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "models/cases.rs"]
mod cases;
#[path = "models/command.rs"]
mod command;
#[path = "models/continued.rs"]
mod continued;
#[path = "models/engine.rs"]
mod engine;
#[path = "models/harness.rs"]
mod harness;
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
