//! The command line: `demo`, `compact`, `tree`, and the options of the server.

mod arguments;

pub use arguments::{
    Command, CompactOptions, DEFAULT_MAX_MESSAGE_BYTES, DemoOptions, FramingOption, Invocation, LogLevel,
    ServerOptions, TreeOptions,
};
