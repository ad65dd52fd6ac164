//! What a process uses, as Linux tells it.

use std::fs;

/// What a process uses at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Resident memory, in MiB.
    pub(crate) memory: u64,
    pub(crate) threads: u64,
    /// Open file handles.
    pub(crate) handles: u64,
}

impl Usage {
    /// What the process uses now; zeros where `/proc` does not tell.
    pub(crate) fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let figure = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|rest| rest.split_whitespace().next());
            word.and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let handles = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        Self {
            memory: figure("VmRSS:") / 1024,
            threads: figure("Threads:"),
            handles: handles as u64,
        }
    }

    /// The larger of each figure.
    pub(crate) fn most(self, other: Self) -> Self {
        Self {
            memory: self.memory.max(other.memory),
            threads: self.threads.max(other.threads),
            handles: self.handles.max(other.handles),
        }
    }
}
