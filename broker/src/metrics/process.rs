//! The process as the system sees it, where the system tells: on Linux.

use std::fs;

use agenthub_metrics::Snapshot;

use super::names::{CPU, FILES, MAX_FILES, MEMORY};

/// Ticks of a second in what the kernel tells of processes.
const TICKS: f64 = 100.0;

/// Adds the values.
pub(super) fn collect(into: &mut Snapshot) {
    let stat = fs::read_to_string("/proc/self/stat").ok();
    if let Some(ticks) = stat.as_deref().and_then(ticks) {
        into.number(&CPU, ticks / TICKS);
    }
    let status = fs::read_to_string("/proc/self/status").ok();
    if let Some(bytes) = status.as_deref().and_then(resident) {
        into.number(&MEMORY, bytes);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        into.number(&FILES, files.count());
    }
    let limits = fs::read_to_string("/proc/self/limits").ok();
    if let Some(most) = limits.as_deref().and_then(most_files) {
        into.number(&MAX_FILES, most);
    }
}

/// Ticks that the process has run, in user and in kernel mode, after its name, which may hold anything.
fn ticks(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let kernel: f64 = fields.next()?.parse().ok()?;
    Some(user + kernel)
}

fn resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

fn most_files(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let stat = "42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 1 2 3";
        assert_eq!(ticks(stat), Some(200.0));
        assert_eq!(resident("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2_097_152));
        assert_eq!(
            most_files("Max open files            1024                 4096 files\n"),
            Some(1_024)
        );
        assert_eq!(ticks("nothing"), None);
    }
}
