//! Runs simulations of the whole service, seed after seed, or replays one and prints each step.

use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use sms_tests::simulation::beside::Beside;
use sms_tests::simulation::{Sabotage, Settings, Summary, Violation, Voice, run};

/// Runs the whole service on a virtual clock, with faults, and checks its invariants at every step.
#[derive(Debug, Parser)]
struct Arguments {
    /// Number of seeds to run.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Number of steps with faults in each run.
    #[arg(long, default_value_t = 5_000)]
    steps: u64,
    /// Replays only this seed, and prints each step.
    #[arg(long)]
    seed: Option<u64>,
    /// Runs PostgreSQL beside the memory store, on a temporary server, and compares every answer.
    #[arg(long)]
    postgres: bool,
    /// Runs SQLite beside the memory store, on a file for each seed, and compares every answer.
    #[arg(long, conflicts_with = "postgres")]
    sqlite: bool,
    /// Introduces this defect on purpose. At least one seed has to detect it.
    #[arg(long, value_enum)]
    sabotage: Option<Sabotage>,
    /// Introduces each known defect in turn, and prints the seed and step that detect it first.
    #[arg(long)]
    every_sabotage: bool,
}

fn main() -> ExitCode {
    let Arguments { seeds, first_seed, steps, seed, postgres, sqlite, sabotage, every_sabotage } =
        Arguments::parse();
    let beside = match (postgres, sqlite) {
        (true, _) => Some(Beside::postgres()),
        (_, true) => Some(Beside::sqlite()),
        _ => None,
    };
    let run = |settings: &Settings| match &beside {
        Some(beside) => beside.run(settings),
        None => run(settings),
    };
    if let Some(seed) = seed {
        let settings = Settings { voice: Voice::Aloud, sabotage, ..Settings::new(seed, steps) };
        return report(run(&settings));
    }
    let seeds = first_seed..first_seed.saturating_add(seeds);
    let every = Sabotage::value_variants().iter().filter(|_| every_sabotage);
    let sabotages: Vec<Sabotage> = every.copied().chain(sabotage).collect();
    if !sabotages.is_empty() {
        return break_all(sabotages, |settings| run(settings), seeds, steps);
    }
    let started = Instant::now();
    let mut total = Summary::default();
    let count = seeds.end - seeds.start;
    for seed in seeds {
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
    println!("{count} seeds in {:.1} s: {per_second} steps/s", elapsed.as_secs_f64());
    ExitCode::SUCCESS
}

/// Runs seeds until one detects each sabotage, and prints where.
fn break_all(
    sabotages: Vec<Sabotage>,
    run: impl Fn(&Settings) -> Result<Summary, Box<Violation>>,
    seeds: Range<u64>,
    steps: u64,
) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for sabotage in sabotages {
        let broken =
            |seed| run(&Settings { sabotage: Some(sabotage), ..Settings::new(seed, steps) }).err();
        if let Some(violation) = seeds.clone().find_map(broken) {
            let Violation { seed, step, what, .. } = *violation;
            let what: String = what.chars().take(160).collect();
            println!("{sabotage:?}: seed {seed}, step {step}: {what}");
        } else {
            println!("{sabotage:?}: NOT DETECTED");
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn report(result: Result<Summary, Box<Violation>>) -> ExitCode {
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
