//! How far a long command has come: a bar on a terminal, lines elsewhere, on standard error.

use std::io::{self, IsTerminal as _, Write as _};

use crate::output::{Form, grouped};

/// How wide the bar is, in characters.
const WIDTH: u64 = 30;

/// Shows how many rows of `total` are done.
#[derive(Debug)]
pub(crate) struct Progress {
    style: Style,
    total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Bar,
    Lines,
    Silent,
}

impl Progress {
    pub(crate) fn of(total: u64, form: Form) -> Self {
        let style = match form {
            Form::Json => Style::Silent,
            Form::Text if io::stderr().is_terminal() => Style::Bar,
            Form::Text => Style::Lines,
        };
        Self { style, total }
    }

    pub(crate) fn show(&self, done: u64) {
        let line = line(done, self.total);
        let mut err = io::stderr();
        // If standard error is closed, progress is not wanted.
        let _ = match self.style {
            Style::Bar => write!(err, "\r\x1b[2K{} {line}", bar(done, self.total)),
            Style::Lines => writeln!(err, "{line}"),
            Style::Silent => Ok(()),
        };
        let _ = err.flush();
    }
}

/// The bar's line is complete, whatever ended it.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.style == Style::Bar {
            let _ = writeln!(io::stderr());
        }
    }
}

fn line(done: u64, total: u64) -> String {
    let percent = (done * 100).checked_div(total).unwrap_or(100);
    format!("{} of {} rows ({percent} %)", grouped(done), grouped(total))
}

fn bar(done: u64, total: u64) -> String {
    let filled = (done * WIDTH).checked_div(total).unwrap_or(WIDTH).min(WIDTH);
    let filled = usize::try_from(filled).unwrap_or_default();
    let width = usize::try_from(WIDTH).unwrap_or_default();
    format!("[{:.<width$}]", "#".repeat(filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_from_the_left_and_the_line_says_how_far() {
        assert_eq!(bar(5, 10), format!("[{}{}]", "#".repeat(15), ".".repeat(15)));
        assert_eq!(bar(0, 0), format!("[{}]", "#".repeat(30)));
        assert_eq!(line(20_000, 45_000), "20,000 of 45,000 rows (44 %)");
    }
}
