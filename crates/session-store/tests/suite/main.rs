//! The store from outside, over every kind of log.

#[cfg(test)]
mod chains;
#[cfg(test)]
mod common;
#[cfg(test)]
mod contexts;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forks;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod interposed;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod long_lines;
#[cfg(test)]
mod migration;
#[cfg(test)]
mod odd_files;
#[cfg(test)]
mod recalls;
#[cfg(test)]
#[path = "../remote/mod.rs"]
mod remote;
#[cfg(test)]
mod remotes;
#[cfg(test)]
mod searches;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod syncs;
#[cfg(test)]
mod tails;
#[cfg(test)]
mod undo;
#[cfg(test)]
mod writers;
