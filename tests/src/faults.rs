//! Servers that are killed, disks that fill, files that others change: what must hold then.

pub mod kill;
pub mod peer;
