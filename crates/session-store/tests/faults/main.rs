//! System calls that fail. No other test runs beside these: a process that is being started holds the
//! locks of its parent.

#[cfg(test)]
#[cfg(target_os = "linux")]
mod migrations;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod system_calls;
