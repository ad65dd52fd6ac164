//! Ours and a peer in short turns: whatever else the machine does hits both alike.

use std::time::{Duration, Instant};

use crate::table::{Limit, Row};

/// How many turns each takes.
pub(crate) const TURNS: u32 = 5;

/// What each of them did, turn by turn.
#[derive(Default)]
pub(crate) struct Turns {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Turns {
    /// Adds one turn of each.
    pub(crate) fn add(&mut self, ours: f64, theirs: f64) {
        self.ours.push(ours);
        self.theirs.push(theirs);
    }

    /// The medians, and the median of the turns' ratios.
    pub(crate) fn row(self, what: impl Into<String>, theirs: &'static str) -> Row {
        let ratios = self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs);
        let ratio = median(ratios.collect());
        let limit = Limit { name: theirs, figure: median(self.theirs) };
        Row { ratio: Some(ratio), ..Row::new(what, median(self.ours)).beside(&limit) }
    }
}

/// Both by turns, so long in all; `each` is what one call of either counts.
pub(crate) fn by_turns(
    during: Duration,
    each: f64,
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
) -> Turns {
    let turn = during / (TURNS * 2);
    let mut turns = Turns::default();
    for _ in 0..TURNS {
        turns.add(each * calls(turn, &mut ours), each * calls(turn, &mut theirs));
    }
    turns
}

/// Calls a second.
fn calls(during: Duration, call: &mut impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut called = 0.0;
    while started.elapsed() < during {
        call();
        called += 1.0;
    }
    called / started.elapsed().as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
