//! What processes use, as Linux tells it.

use std::fs;

/// Clock ticks a second in `/proc`, on every Linux there is.
const TICKS: f64 = 100.0;

/// CPU seconds of a process so far, user and system; 0 where `/proc` does not tell.
pub(crate) fn cpu(pid: u32) -> f64 {
    // utime and stime: fields 14 and 15, of which the name in brackets is the second.
    seconds(fields(pid).iter().skip(11).take(2).sum())
}

/// CPU seconds of a process and its children so far, those that ended included.
pub(crate) fn cpu_with_children(pid: u32) -> f64 {
    let children: f64 = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|child| fields(*child).get(1) == Some(&u64::from(pid)))
        .map(cpu)
        .sum();
    seconds(fields(pid).iter().skip(11).take(4).sum()) + children
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS
}

/// The most memory a process had, in MiB.
pub(crate) fn peak_memory(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.trim().strip_suffix(" kB"));
    peak.and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// Lets the most memory of this process be counted anew.
pub(crate) fn forget_peak_memory() {
    // Where it cannot be, the figure is that of the whole run.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The numbers of `/proc/<pid>/stat` from the third field on; what is no number is 0.
fn fields(pid: u32) -> Vec<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect()
}
