//! Generated files are up to date.

use compactd_tests::binary::binary;
use xtask::protocol::{discover, generate, stale};

#[test]
fn committed_files_follow_from_the_server() {
    let document = discover(&binary().expect("the server is built")).expect("the server describes itself");
    let files = generate(&document).expect("the document is JSON");
    assert!(files.len() > 40, "every method has schemas");
    let stale = stale(&xtask::root(), &files).expect("the schemas can be listed");
    assert!(stale.is_empty(), "stale, to be written by `cargo xtask protocol`: {stale:?}");
}
