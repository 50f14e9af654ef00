//! compactd
fn main() {}
