//! The power fails at random moments. A library that is preloaded keeps a copy of what the program
//! had synced. What was written and not synced is on disk or not, sector by sector.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::child::{Running, Told};
use super::folder::Folder;

/// How often the power fails, unless this variable says it.
const CUTS: u64 = 12;
const CUTS_VARIABLE: &str = "SMS_POWER_CUTS";
/// How much of what was not synced is on disk, in percent.
const SHARES: [u64; 4] = [0, 10, 50, 90];
/// What a disk writes at once.
const SECTOR: usize = 512;
/// The most messages that are accepted between two cuts.
const MOST_ACCEPTED: u64 = 150;

/// Small random numbers.
struct Dice(u64);

impl Dice {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn nothing_that_was_answered_is_lost_when_the_power_fails() {
    let shim = Folder::new();
    let library = compile(&shim.0, "durable");
    let cuts = std::env::var(CUTS_VARIABLE).ok().and_then(|cuts| cuts.parse().ok());
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut known: Vec<Told> = Vec::new();
    let mut present = Folder::new();
    let mut unsynced = 0;
    for _ in 0..cuts.unwrap_or(CUTS) {
        let durable = Folder::new();
        copy(&present, &durable);
        let mut command = Running::command(&present.file());
        command.env("LD_PRELOAD", &library).env("SMS_DURABLE", &durable.0);
        let mut running = Running::start(&mut command);
        let accepted = 1 + dice.below(MOST_ACCEPTED);
        running.until(usize::try_from(accepted).unwrap(), Told::is_accepted);
        known.extend(running.kill());
        let mut next = None;
        for share in SHARES {
            let lost = Folder::new();
            unsynced += lose(&present, &durable, &lost, share, &mut dice);
            let opened = Folder::new();
            copy(&lost, &opened);
            opened.must_hold(&known);
            next = Some(lost);
        }
        present = next.unwrap();
    }
    let accepted = known.iter().filter(|told| told.is_accepted()).count();
    println!("{accepted} messages accepted, {unsynced} sectors were not synced when power failed");
    assert!(unsynced > 0, "the power never failed between a write and its sync");
}

/// Writes to `lost` what was synced, and of the rest each sector with this probability. Returns how
/// many sectors were not synced.
fn lose(live: &Folder, durable: &Folder, lost: &Folder, share: u64, dice: &mut Dice) -> usize {
    let mut unsynced = 0;
    for (live, durable, lost) in
        [(live.file(), durable.file(), lost.file()), (live.log(), durable.log(), lost.log())]
    {
        let live = std::fs::read(live).unwrap_or_default();
        let mut disk = std::fs::read(durable).unwrap_or_default();
        for (place, sector) in live.chunks(SECTOR).enumerate() {
            let from = place * SECTOR;
            let to = from + sector.len();
            if disk.get(from..to) == Some(sector) {
                continue;
            }
            unsynced += 1;
            if dice.below(100) < share {
                let length = disk.len().max(to);
                disk.resize(length, 0);
                disk[from..to].copy_from_slice(sector);
            }
        }
        std::fs::write(lost, disk).unwrap();
    }
    unsynced
}

fn copy(from: &Folder, to: &Folder) {
    for (from, to) in [(from.file(), to.file()), (from.log(), to.log())] {
        if from.exists() {
            std::fs::copy(from, to).unwrap();
        }
    }
}

/// Makes the library of this name, which is preloaded.
pub(super) fn compile(folder: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let source = source.join(name).with_extension("c");
    let library = folder.join(name).with_extension("so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(command.status().unwrap().success(), "the library is compiled");
    library
}
