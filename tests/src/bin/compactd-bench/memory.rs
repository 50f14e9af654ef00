//! Memory of processes, as the system counts it.

/// Bytes that the field `name` of `/proc/<process>/status` tells; `None` where there is no such file.
/// `process` is an id or `self`; `VmHWM` is the peak, `RssAnon` what no file backs.
pub(crate) fn status(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Bytes in millions.
pub(crate) fn shown(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
