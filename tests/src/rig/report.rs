//! The report of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A broken rule, and the message, account or other subject concerned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    rule: &'static str,
    subject: String,
}

impl Violation {
    pub(super) fn new(rule: &'static str, subject: impl Into<String>) -> Self {
        Self { rule, subject: subject.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "violated: {}: {}", self.rule, self.subject)
    }
}

/// Figures and violations of a run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Figures with their names, in display order.
    pub figures: Vec<(&'static str, String)>,
    /// The lines of a table, for scenarios with several rounds.
    pub rows: Vec<String>,
    /// The violations found.
    pub violations: Vec<Violation>,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    pub(super) fn figure(&mut self, name: &'static str, value: impl fmt::Display) {
        self.figures.push((name, value.to_string()));
    }

    pub(super) fn row(&mut self, row: String) {
        self.rows.push(row);
    }
}

/// How many violations of one rule are shown. Where there is one there are often thousands.
const MOST_TOLD: usize = 5;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            writeln!(f, "{row}")?;
        }
        for (name, value) in &self.figures {
            writeln!(f, "{name:<28} {value}")?;
        }
        writeln!(f, "{:<28} {:.1} s", "duration", self.took.as_secs_f64())?;
        writeln!(f, "{:<28} {}", "violations", self.violations.len())?;
        let mut told: BTreeMap<&str, usize> = BTreeMap::new();
        for violation in &self.violations {
            let told = told.entry(violation.rule).or_default();
            *told += 1;
            if *told <= MOST_TOLD {
                writeln!(f, "{violation}")?;
            }
        }
        Ok(())
    }
}
