//! Runs simulations of the whole service, seed after seed, or replays one aloud.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use sms_tests::simulation::{Settings, Summary, Voice, run};

/// Runs the whole service on a virtual clock, with faults, and checks its promises at every step.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many seeds to run.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// How many steps with faults each run has.
    #[arg(long, default_value_t = 5_000)]
    steps: u64,
    /// Replays this seed alone, and prints each step.
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let Arguments { seeds, first_seed, steps, seed } = Arguments::parse();
    if let Some(seed) = seed {
        return report(run(&Settings { voice: Voice::Aloud, ..Settings::new(seed, steps) }));
    }
    let started = Instant::now();
    let mut total = Summary::default();
    for seed in first_seed..first_seed.saturating_add(seeds) {
        match run(&Settings::new(seed, steps)) {
            Ok(summary) => total = total.plus(summary),
            Err(violation) => {
                eprintln!("{violation}");
                return ExitCode::FAILURE;
            }
        }
    }
    let elapsed = started.elapsed();
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let per_second = total.steps.saturating_mul(1_000) / millis;
    println!("{total}");
    println!("{seeds} seeds in {:.1} s: {per_second} steps/s", elapsed.as_secs_f64());
    ExitCode::SUCCESS
}

fn report(result: Result<Summary, Box<sms_tests::simulation::Violation>>) -> ExitCode {
    match result {
        Ok(summary) => {
            println!("{summary}\nhash {:016x}", summary.hash);
            ExitCode::SUCCESS
        }
        Err(violation) => {
            eprintln!("{violation}");
            ExitCode::FAILURE
        }
    }
}
