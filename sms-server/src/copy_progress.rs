//! Shows how far a copy has come: a bar on a terminal, lines otherwise.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use sms_console::format::whole;
use sms_copy::{Phase, Progress, Watch};

/// How wide the bar is, in characters.
const WIDTH: u64 = 30;
/// How often the bar is drawn.
const DRAW: Duration = Duration::from_millis(100);
/// How often a line is written while nothing but the number changes.
const WRITE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Bar,
    Lines,
}

/// Tells the operator on standard error.
#[derive(Debug)]
pub struct Told {
    style: Style,
    /// When this phase began, and what was done before.
    phase: Option<(Phase, Instant, u64)>,
    last: Option<(Instant, &'static str)>,
}

impl Told {
    /// A bar if standard error is a terminal.
    pub fn start() -> Self {
        let style = if stderr().is_terminal() { Style::Bar } else { Style::Lines };
        Self { style, phase: None, last: None }
    }
}

impl Watch for Told {
    fn moved(&mut self, progress: Progress) {
        let Progress { phase, what, done, total } = progress;
        let now = Instant::now();
        let (began, before) = match self.phase {
            Some((same, began, before)) if same == phase => (began, before),
            _ => {
                self.phase = Some((phase, now, done));
                (now, done)
            }
        };
        let is_due = |(at, shown): (Instant, &str)| match self.style {
            Style::Bar => now.duration_since(at) >= DRAW,
            Style::Lines => shown != what || now.duration_since(at) >= WRITE,
        };
        if done < total && !self.last.is_none_or(is_due) {
            return;
        }
        self.last = Some((now, what));
        let rate = rate(done - before, now.duration_since(began));
        let line = line(phase, what, done, total, rate);
        // Whoever closed standard error does not want to know.
        let _ = match self.style {
            Style::Bar => {
                let end = if done == total { "\n" } else { "" };
                write!(stderr(), "\r\x1b[2K{} {line}{end}", bar(done, total))
            }
            Style::Lines => writeln!(stderr(), "{line}"),
        };
    }
}

/// How many a second.
fn rate(done: u64, took: Duration) -> u64 {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    done.saturating_mul(1_000).checked_div(millis).unwrap_or_default()
}

fn bar(done: u64, total: u64) -> String {
    let filled = (done * WIDTH).checked_div(total).unwrap_or(WIDTH).min(WIDTH);
    let place = |place| if place < filled { '#' } else { '.' };
    format!("[{}]", (0..WIDTH).map(place).collect::<String>())
}

fn line(phase: Phase, what: &str, done: u64, total: u64, rate: u64) -> String {
    let (doing, unit) = match phase {
        Phase::Copying => ("copying", "rows"),
        Phase::Comparing => ("comparing", "rows"),
        Phase::Reading => ("reading through both stores:", "items"),
    };
    let percent = (done * 100).checked_div(total).unwrap_or(100);
    let done = whole(done);
    let total = whole(total);
    let mut line = format!("{doing} {what}: {done} of {total} {unit} ({percent} %)");
    if rate > 0 {
        let _ = write!(line, ", {} a second", whole(rate));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_how_far_and_how_fast() {
        for (done, total, rate, told) in [
            (0, 0, 0, "copying message: 0 of 0 rows (100 %)"),
            (999, 1_000, 0, "copying message: 999 of 1,000 rows (99 %)"),
            (
                1_234_567,
                2_000_000,
                34_000,
                "copying message: 1,234,567 of 2,000,000 rows (61 %), 34,000 a second",
            ),
        ] {
            assert_eq!(line(Phase::Copying, "message", done, total, rate), told);
        }
    }

    #[test]
    fn the_bar_fills_from_the_left() {
        assert_eq!(bar(0, 10), format!("[{}]", ".".repeat(30)));
        assert_eq!(bar(5, 10), format!("[{}{}]", "#".repeat(15), ".".repeat(15)));
        assert_eq!(bar(10, 10), format!("[{}]", "#".repeat(30)));
        assert_eq!(bar(0, 0), format!("[{}]", "#".repeat(30)));
    }

    #[test]
    fn the_rate_is_that_of_the_time_so_far() {
        assert_eq!(rate(500, Duration::from_millis(250)), 2_000);
        assert_eq!(rate(500, Duration::ZERO), 0);
    }
}
