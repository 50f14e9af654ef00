//! What the numbers were measured on.

use std::process::Command;

use compactd_tests::published_package::NAME;

use crate::peer::Peer;

/// Processor, cores, memory, system, compiler, the peer's runtime, and how busy the machine is.
pub(crate) fn describe(peer: Option<&Peer>) -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism()?;
    let compiler = Command::new("rustc").arg("--version").output().ok();
    let compiler = compiler.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let compiler = if compiler.is_empty() { "no rustc" } else { compiler.trim() };
    let system = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let peer =
        peer.map_or_else(|| "no peer".to_owned(), |peer| format!("{NAME} {} on Node {}", peer.version, peer.node));
    let hardware = format!("{} ({cores} cores), {} {}", processor(), std::env::consts::OS, system.trim());
    Ok(format!("{hardware}, {compiler}, {peer}\n{}", load()))
}

/// How busy the machine is.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = text.split(' ').take(3).collect();
    format!("Load of the last 1, 5 and 15 minutes: {}", load.join(", "))
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
