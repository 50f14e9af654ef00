//! The raw harness against small programs.
#![cfg(unix)]

use std::process::Command;
use std::time::Duration;

use compactd_client::{Framing, RawError, RawServer};

const SOON: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(50);

fn script(text: &str, framing: Framing) -> RawServer {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    RawServer::spawn(command, framing).expect("sh is there")
}

#[test]
fn exchanges_frames_and_sees_the_end() {
    for framing in [Framing::Lines, Framing::Headers] {
        let mut server = script("cat; exit 7", framing);
        server.send(b"{}", SOON).unwrap();
        assert_eq!(server.read_frame(SOON).unwrap().as_deref(), Some(&b"{}"[..]));
        server.send("\"\u{2028}\"".as_bytes(), SOON).unwrap();
        server.close_input();
        assert_eq!(server.read_to_end(SOON).unwrap(), ["\"\u{2028}\"".as_bytes()]);
        assert_eq!(server.wait(SOON).unwrap().code(), Some(7));
    }
}

#[test]
fn every_wait_ends() {
    let mut server = script("exec sleep 60", Framing::Lines);
    let timed_out = |error| matches!(error, RawError::TimedOut { .. });
    assert!(timed_out(server.read_frame(SHORT).unwrap_err()));
    assert!(timed_out(server.wait(SHORT).unwrap_err()));
    assert!(timed_out(server.write(&vec![b'x'; 1 << 20], SHORT).unwrap_err()));
    server.kill().unwrap();
    assert_eq!(server.wait(SOON).unwrap().code(), None);
}

#[test]
fn output_that_breaks_off_is_an_error() {
    let mut server = script("printf '{}\\n{\"a'", Framing::Lines);
    assert!(server.read_frame(SOON).unwrap().is_some());
    assert!(matches!(server.read_frame(SOON), Err(RawError::Framing(_))));
}

#[test]
fn a_closed_input_is_an_error() {
    let mut server = script("exec 0<&-; echo ready; exec sleep 60", Framing::Lines);
    server.read_frame(SOON).unwrap();
    // A child that a test beside this one is just starting may hold the pipe for a moment.
    let error = (0..5000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        server.send(b"{}", SOON).err()
    });
    assert!(matches!(error, Some(RawError::Io(_))), "{error:?}");
    server.close_input();
    assert!(matches!(server.send(b"{}", SOON), Err(RawError::InputClosed)));
}
