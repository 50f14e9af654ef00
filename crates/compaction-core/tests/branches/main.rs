//! Tests over whole branches: what the model sees of them, where they are cut, what is promised.

mod common;
mod preparation;
mod projection;
mod promises;
