//! The laws hold on every input that is kept: the seeds, and what fuzzing found before.

use std::fs;
use std::path::Path;

use sms_fuzz::TARGETS;

/// What a target is given to begin with is small enough to be read.
const MOST_BYTES: usize = 200;

#[test]
fn the_laws_hold_on_every_seed() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (target, check) in TARGETS {
        let mut tried = 0;
        for entry in fs::read_dir(seeds.join(target)).expect("every target has seeds") {
            let path = entry.expect("a file").path();
            let input = fs::read(&path).expect("a file");
            assert!(input.len() <= MOST_BYTES, "{} is long", path.display());
            println!("{}", path.display());
            check(&input);
            tried += 1;
        }
        assert!(tried > 2, "{target} has {tried} seeds");
    }
}

#[test]
fn every_target_has_a_program_and_every_program_a_target() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets/fuzz_targets");
    let mut found: Vec<String> = fs::read_dir(programs)
        .expect("the programs are there")
        .map(|entry| entry.expect("a file").path().with_extension(""))
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    found.sort_unstable();
    let mut named = TARGETS.map(|(name, _)| name);
    named.sort_unstable();
    assert_eq!(found, named);
}
