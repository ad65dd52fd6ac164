//! A chart of bars by day, and the same figures as a table.

use chrono::NaiveDate;
use maud::{Markup, html};

use crate::format::{short_day, whole};
use crate::part::table::{column, right, table};

/// What the bars of one colour count.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend and the table call it.
    pub name: &'static str,
    /// The colour of its bars.
    pub colour: Colour,
    /// The count of each day.
    pub counts: Vec<u64>,
}

/// The colour of bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// That of the product.
    Main,
    /// One that stands back.
    Other,
    /// That of what failed.
    Bad,
}

const HEIGHT: u32 = 170;
const FLOOR: u32 = 146;
/// How much room a letter of the scale takes, in any font.
const LETTER: u32 = 8;
/// About as wide as it is shown, so that its words have the size of other words.
const WIDE: u32 = 880;
const NARROW: u32 = 330;
/// Coordinates are counted in tenths, so that they need no fractions.
const TENTHS: u32 = 10;

/// Bars for each day, and the same figures as a table.
pub fn chart(title: &str, days: &[NaiveDate], series: &[Series; 3]) -> Markup {
    let sum = |one: &Series| whole(one.counts.iter().sum());
    let sums: Vec<_> = series.iter().map(|one| format!("{} {}", one.name, sum(one))).collect();
    let label = format!("{title}: {}", sums.join(", "));
    let [one, two, three] = series;
    let columns = [column("Day"), right(one.name), right(two.name), right(three.name)];
    let happened = (0..days.len()).filter(|day| series.iter().any(|one| count(one, *day) > 0));
    html! {
        figure.chart.stack {
            (drawing(&label, "chart-wide", WIDE, days, series))
            (drawing(&label, "chart-narrow", NARROW, days, series))
            figcaption.chart-key {
                @for one in series { span class=(one.colour.key()) { (one.name) } }
            }
            details {
                summary { "The figures as a table" }
                (table(title, columns, happened, |day| [
                    html! { (short_day(days[day])) },
                    html! { (whole(count(one, day))) },
                    html! { (whole(count(two, day))) },
                    html! { (whole(count(three, day))) },
                ]))
            }
        }
    }
}

fn count(series: &Series, day: usize) -> u64 {
    series.counts.get(day).copied().unwrap_or_default()
}

fn drawing(label: &str, class: &str, width: u32, days: &[NaiveDate], series: &[Series]) -> Markup {
    let most = series.iter().flat_map(|one| &one.counts).copied().max().unwrap_or_default();
    let top = nice_top(most);
    let left_edge = scale_width(top);
    let shown = u32::try_from(days.len()).unwrap_or(u32::MAX).max(1);
    let slot = (width - left_edge) * TENTHS / shown;
    let bars = u32::try_from(series.len()).unwrap_or(u32::MAX).max(1);
    let bar = (slot * 72 / 100 / bars).max(15);
    let every = shown.div_ceil((width / 110).max(1)).max(1);
    html! {
        svg class=(class) viewBox={ "0 0 " (width) " " (HEIGHT) } role="img" aria-label=(label) {
            @for mark in [0, top / 2, top] {
                @let y = FLOOR * TENTHS - tall(mark, top);
                line.axis x1=(left_edge) x2=(width) y1=(tenths(y)) y2=(tenths(y)) {}
                text x=(left_edge - 6) y=(tenths(y + 4 * TENTHS)) text-anchor="end" {
                    (whole(mark))
                }
            }
            @for (at, (index, day)) in (0..).zip(days.iter().enumerate()) {
                @let left = left_edge * TENTHS + at * slot;
                @for (place, one) in (0..).zip(series) {
                    @let counted = count(one, index);
                    @let x = tenths(left + slot * 14 / 100 + place * bar);
                    @let height = tall(counted, top);
                    @if height > 0 {
                        rect class=(one.colour.bar()) x=(x)
                            y=(tenths(FLOOR * TENTHS - height)) width=(tenths(bar))
                            height=(tenths(height)) rx=(tenths((bar / 3).min(20))) {
                            title { (short_day(*day)) ": " (one.name) " " (whole(counted)) }
                        }
                    }
                }
                @if at % every == 0 {
                    text x=(tenths(left)) y=(HEIGHT - 6) { (short_day(*day)) }
                }
            }
        }
    }
}

/// The room for the numbers of the scale, of which `top` is the longest.
fn scale_width(top: u64) -> u32 {
    let letters = u32::try_from(whole(top).len()).unwrap_or_default();
    10 + LETTER * letters.max(3)
}

/// The height of a bar, in tenths.
fn tall(count: u64, top: u64) -> u32 {
    let most = u64::from((FLOOR - 16) * TENTHS);
    u32::try_from(count.saturating_mul(most) / top.max(1)).unwrap_or_default()
}

fn tenths(count: u32) -> String {
    match count % TENTHS {
        0 => (count / TENTHS).to_string(),
        rest => format!("{}.{rest}", count / TENTHS),
    }
}

/// The number at the top of the axis: the next 1, 2, 4, 5 or 10 of its power of ten.
fn nice_top(most: u64) -> u64 {
    let power = 10_u64.saturating_pow(most.max(1).ilog10());
    let steps = [1, 2, 4, 5, 10].into_iter().map(|step| power.saturating_mul(step));
    steps.into_iter().find(|top| *top >= most).unwrap_or(most).max(2)
}

impl Colour {
    fn bar(self) -> &'static str {
        match self {
            Self::Main => "bar-main",
            Self::Other => "bar-other",
            Self::Bad => "bar-bad",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Main => "key-main",
            Self::Other => "key-other",
            Self::Bad => "key-bad",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_at_a_round_number_that_holds_the_highest_bar() {
        for (most, top) in [(0, 2), (1, 2), (2, 2), (3, 4), (11, 20), (41, 50), (501, 1_000)] {
            assert_eq!(nice_top(most), top, "{most}");
        }
        for (top, room) in [(2, 34), (1_000, 50), (10_000, 58), (1_000_000, 82)] {
            assert_eq!(scale_width(top), room, "{top}");
        }
        assert_eq!(tall(20, 20), 1_300);
        assert_eq!((tenths(1_305), tenths(40)), ("130.5".to_owned(), "4".to_owned()));
    }

    #[test]
    fn a_chart_says_its_figures_in_words_and_as_a_table() {
        let days: Vec<NaiveDate> =
            ["2026-11-22", "2026-11-23"].map(|day| day.parse().unwrap()).into();
        let series =
            |name, colour, counts: [u64; 2]| Series { name, colour, counts: counts.into() };
        let shown = chart(
            "Messages by day",
            &days,
            &[
                series("Sent", Colour::Main, [3, 1_204]),
                series("Received", Colour::Other, [0, 0]),
                series("Failed", Colour::Bad, [0, 1]),
            ],
        );
        let shown = shown.into_string();
        let label = "aria-label=\"Messages by day: Sent 1,207, Received 0, Failed 1\"";
        assert!(shown.contains(label), "{shown}");
        assert!(shown.contains("<title>23 Nov: Sent 1,204</title>"), "{shown}");
        assert!(shown.contains("1,204</td>"), "{shown}");
        assert!(!shown.contains("style="));
    }
}
