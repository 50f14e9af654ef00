//! What the numbers were measured on.

use std::process::Command;

/// Processor, cores, system and compiler, in one line.
pub(crate) fn describe() -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism()?;
    let compiler = Command::new("rustc").arg("--version").output().ok();
    let compiler = compiler.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let compiler = if compiler.is_empty() { "no rustc" } else { compiler.trim() };
    let system = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Ok(format!("{} ({cores} cores), {} {}, {compiler}", processor(), std::env::consts::OS, system.trim()))
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
