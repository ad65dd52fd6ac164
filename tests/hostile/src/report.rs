//! The table: what other customers saw before, during and after each attack.

use std::time::Duration;

use crate::attack::Kind;
use crate::server::StoreKind;
use crate::storm::{Finding, Held};
use crate::witness::{Figures, Watched};

/// Whether the server's defences held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Held,
    GaveWay,
}

/// What one attack on one store came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) kind: Kind,
    pub(crate) store: StoreKind,
    pub(crate) before: Watched,
    pub(crate) during: Watched,
    pub(crate) after: Watched,
    pub(crate) findings: Vec<Finding>,
}

/// Prints the head of the table.
pub(crate) fn print_head() {
    println!(
        "| attack | store | phase | /healthz p50 / p99 ms | send p50 / p99 ms | errors | \
         webhooks | MiB | threads | handles |\n|---|---|---|---:|---:|---:|---:|---:|---:|---:|"
    );
}

/// Prints the rows of an attack, and judges it.
pub(crate) fn print(outcome: Outcome) -> Verdict {
    let Outcome { kind, store, before, during, after, findings } = outcome;
    let mut verdict = Verdict::Held;
    let mut errors = Vec::new();
    for (phase, watched) in [("before", before), ("during", during), ("after", after)] {
        let Watched { mut probes, mut sends, hooks, usage } = watched;
        let count = probes.errors + sends.errors;
        println!(
            "| {kind} | {store} | {phase} | {} | {} | {count} | {hooks} | {} | {} | {} |",
            times(&mut probes),
            times(&mut sends),
            usage.memory,
            usage.threads,
            usage.handles
        );
        if count > 0 {
            verdict = Verdict::GaveWay;
        }
        // Each message raises one event; those of the last moments may arrive later.
        if hooks < sends.answered() / 2 {
            errors.push(format!("{phase}: {hooks} webhooks for {} messages", sends.answered()));
            verdict = Verdict::GaveWay;
        }
        let first = probes.first_error.or(sends.first_error);
        errors.extend(first.map(|error| format!("{phase}: {error}")));
    }
    for error in errors {
        println!("  - ERROR {error}");
    }
    for Finding { held, what } in findings {
        let mark = match held {
            Held::Yes => "held",
            Held::No => {
                verdict = Verdict::GaveWay;
                "GAVE WAY"
            }
            Held::Told => "seen",
        };
        println!("  - {mark}: {what}");
    }
    verdict
}

fn times(figures: &mut Figures) -> String {
    format!("{} / {}", ms(figures.percentile(50)), ms(figures.percentile(99)))
}

fn ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}
