//! The machine, and its other load during a measurement.

use std::{fs, thread};

use anyhow::Context as _;

/// Description of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) cpu: String,
    pub(super) cores: usize,
    /// In MiB.
    pub(super) memory: u64,
    pub(super) kernel: String,
}

impl Machine {
    /// The current machine.
    pub(super) fn this() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let unknown = || "unknown".to_owned();
        Self {
            cpu: value(&read("/proc/cpuinfo"), "model name").map_or_else(unknown, str::to_owned),
            cores: thread::available_parallelism().map_or(1, usize::from),
            memory: value(&read("/proc/meminfo"), "MemTotal")
                .and_then(|size| size.split(' ').next()?.parse::<u64>().ok())
                .unwrap_or_default()
                / 1024,
            kernel: match read("/proc/sys/kernel/osrelease").trim() {
                "" => unknown(),
                kernel => format!("Linux {kernel}"),
            },
        }
    }
}

/// CPU times so far, by kind, in hundredths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cpus {
    busy: u64,
    idle: u64,
    stolen: u64,
}

impl Cpus {
    /// Reads the current CPU times.
    ///
    /// # Errors
    ///
    /// The kernel does not report them.
    pub(super) fn now() -> anyhow::Result<Self> {
        let stat = fs::read_to_string("/proc/stat").context("what the CPUs do")?;
        cpus(&stat).context("what the CPUs do is not known")
    }

    fn since(self, before: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            idle: self.idle.saturating_sub(before.idle),
            stolen: self.stolen.saturating_sub(before.stolen),
        }
    }

    fn all(self) -> f64 {
        (self.busy + self.idle + self.stolen).max(1) as f64
    }

    /// Share of the CPU time since then that others used, besides `own_seconds`; from 0 to 1.
    pub(super) fn on_others(self, before: Self, own_seconds: f64) -> f64 {
        let did = self.since(before);
        let others = (did.busy + did.stolen) as f64 - own_seconds * 100.0;
        (others / did.all()).clamp(0.0, 1.0)
    }
}

/// Load of the machine in a round, of all processes together; each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Busy {
    /// Share of the last ten seconds of the round in which a task waited for a CPU (`cpu some avg10` of the kernel's
    /// pressure stall information).
    pub(super) pressure: f64,
    pub(super) idle: f64,
    pub(super) stolen: f64,
}

impl Busy {
    /// Load since the beginning of a round.
    ///
    /// # Errors
    ///
    /// The kernel does not report it.
    pub(super) fn since(before: Cpus) -> anyhow::Result<Self> {
        let did = Cpus::now()?.since(before);
        let pressure = fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
        Ok(Self {
            pressure: some_avg10(&pressure).unwrap_or(f64::NAN) / 100.0,
            idle: did.idle as f64 / did.all(),
            stolen: did.stolen as f64 / did.all(),
        })
    }
}

/// The value of the first line with this name.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = pairs.find(|(n, _)| n.trim() == name)?;
    Some(value.trim())
}

/// user, nice, system, idle, iowait, irq, softirq, steal; later columns are included in these.
fn cpus(stat: &str) -> Option<Cpus> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
    match ticks.ok()?[..] {
        [user, nice, system, idle, iowait, irq, softirq, stolen, ..] => Some(Cpus {
            busy: user + nice + system + irq + softirq,
            idle: idle + iowait,
            stolen,
        }),
        _ => None,
    }
}

fn some_avg10(pressure: &str) -> Option<f64> {
    let line = pressure.lines().find(|line| line.starts_with("some"))?;
    let average = line.split(' ').find_map(|w| w.strip_prefix("avg10="))?;
    average.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let stat = "cpu  100 10 20 300 40 1 2 7 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        let expected = Cpus {
            busy: 133,
            idle: 340,
            stolen: 7,
        };
        assert_eq!(cpus(stat), Some(expected));
        assert_eq!(cpus("intr 1"), None);
        let pressure = "some avg10=12.50 avg60=1.00 avg300=0.00 total=5\nfull avg10=0.00 total=0";
        assert_eq!(some_avg10(pressure), Some(12.5));
        let info = "processor\t: 0\nmodel name\t: Some CPU: 3 GHz\n";
        assert_eq!(value(info, "model name"), Some("Some CPU: 3 GHz"));
    }

    #[test]
    fn what_the_measured_took_is_not_the_others() {
        let before = Cpus {
            busy: 1000,
            idle: 1000,
            stolen: 0,
        };
        let after = Cpus {
            busy: 1150,
            idle: 1040,
            stolen: 10,
        };
        // Of two seconds of CPU time, 1.6 were used, one of them by the measurement.
        assert!((after.on_others(before, 1.0) - 0.3).abs() < 1e-9);
        assert_eq!(after.on_others(before, 9.0), 0.0);
    }
}
