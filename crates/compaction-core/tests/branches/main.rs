//! Tests over whole branches: what the model sees of them, where they are cut, and what is guaranteed.

mod chosen_cuts;
mod common;
mod path_states;
mod pins;
mod preparation;
mod projection;
mod promises;
mod undo;
