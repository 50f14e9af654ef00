//! The store from outside, over every kind of log.

mod common;
mod files;
mod forks;
mod hostile;
mod lists;
mod migration;
mod sessions;
mod writers;
