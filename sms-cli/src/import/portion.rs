//! A file in portions that a request may have: read, sent, and what became of each row reported.

use std::io::Read;

use serde::Serialize;
use serde_json::Value;
use sms_client::Error;
use sms_files::Row;

use super::journal::Report;
use super::people::{People, Person};
use crate::failure::Failure;
use crate::progress::Progress;

/// The most of a portion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub rows: usize,
    /// Of the rows as JSON.
    pub bytes: usize,
    /// Of the rows as JSON: objects, arrays and what is in them.
    pub values: usize,
}

impl Bounds {
    /// The values of a portion. The API takes 500,000 in a body.
    pub(crate) const VALUES: usize = 400_000;
}

/// Rows that go into one request.
struct Portion<T> {
    rows: Vec<Sent>,
    inputs: Vec<T>,
    weight: Weight,
}

/// What rows take of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    bytes: usize,
    values: usize,
}

impl Weight {
    /// What one row takes.
    fn of<T: Serialize>(input: &T) -> Result<Self, Error> {
        let row = serde_json::to_value(input)?;
        Ok(Self { bytes: row.to_string().len() + 1, values: values_of(&row) })
    }

    fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, values: self.values + other.values }
    }

    fn fits(self, bounds: Bounds) -> bool {
        self.bytes <= bounds.bytes && self.values <= bounds.values
    }
}

/// How many values the API counts: this one, and those in it.
fn values_of(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values_of).sum(),
        Value::Object(entries) => entries.values().map(values_of).sum(),
        _ => 0,
    }
}

/// A row of a portion.
#[derive(Debug)]
pub(crate) struct Sent {
    pub row: Row,
    /// Why it is not sent.
    refused: Option<String>,
    /// Why values of it are not sent.
    left_out: Vec<String>,
}

/// What the server says of a row.
#[derive(Debug)]
pub(crate) enum Said {
    Taken,
    /// Taken without a value.
    LeftOut(String),
    Refused(String),
}

/// What became of a portion.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    pub rows: u64,
    /// Rows that were not sent.
    pub unsent: u64,
    /// Values that were left out of rows that were taken.
    pub left_out: u64,
}

/// Where the rows of a file are sent.
pub(crate) trait Target<T> {
    /// Sends rows. What the server says of each, in their order.
    async fn send(&mut self, inputs: Vec<T>) -> Result<Vec<Said>, Failure>;

    /// Notes what became of a portion; the report has it by now.
    fn note(&mut self, done: Done, report: &mut Report) -> Result<(), Failure>;

    /// How many rows are done.
    fn done(&self) -> u64;
}

/// Why an import stopped, and the rows that were read and are not done.
#[derive(Debug)]
pub(crate) struct Stop {
    pub cause: Failure,
    pub rows: Vec<Sent>,
}

impl From<Failure> for Stop {
    fn from(cause: Failure) -> Self {
        Self { cause, rows: Vec::new() }
    }
}

/// Sends all that is left of a file.
pub(crate) async fn send_all<T: Serialize>(
    people: &mut People<T>,
    bounds: Bounds,
    target: &mut impl Target<T>,
    report: &mut Report,
    progress: &Progress,
) -> Result<(), Stop> {
    progress.show(target.done());
    loop {
        let Portion { rows, inputs, weight: _ } = Portion::next(people, bounds)?;
        if rows.is_empty() {
            return Ok(());
        }
        let said = if inputs.is_empty() { Ok(Vec::new()) } else { target.send(inputs).await };
        let said = match said {
            Ok(said) => said,
            Err(cause) => return Err(Stop { cause, rows }),
        };
        let done = settle(rows, said, report)?;
        target.note(done, report)?;
        progress.show(target.done());
    }
}

impl<T: Serialize> Portion<T> {
    /// The next rows that fit into a request. It leaves the row that no longer does in `people`.
    /// Those before a row that cannot be read come with the failure.
    fn next<R: Read>(people: &mut People<T, R>, bounds: Bounds) -> Result<Self, Stop> {
        let (rows, inputs) = (Vec::new(), Vec::new());
        let mut portion = Self { rows, inputs, weight: Weight::default() };
        match portion.fill(people, bounds) {
            Ok(()) => Ok(portion),
            Err(cause) => Err(Stop { cause, rows: portion.rows }),
        }
    }

    fn fill<R: Read>(&mut self, people: &mut People<T, R>, bounds: Bounds) -> Result<(), Failure> {
        while self.rows.len() < bounds.rows {
            let Some(person) = people.next()? else { break };
            let weight = person.input.as_ref().map(Weight::of).transpose()?.unwrap_or_default();
            let together = self.weight.plus(weight);
            if !together.fits(bounds) && !self.rows.is_empty() {
                people.put_back(person);
                break;
            }
            let Person { row, refused, left_out, input } = person;
            self.weight = together;
            self.inputs.extend(input);
            self.rows.push(Sent {
                row,
                refused: refused.map(|problem| problem.cause),
                left_out: left_out.into_iter().map(|problem| problem.cause).collect(),
            });
        }
        Ok(())
    }
}

/// Reports what was refused and what was left out.
fn settle(rows: Vec<Sent>, said: Vec<Said>, report: &mut Report) -> Result<Done, Failure> {
    let mut done = Done { rows: rows.len() as u64, ..Done::default() };
    let mut said = said.into_iter();
    for Sent { row, refused, mut left_out } in rows {
        let refused = if refused.is_some() {
            done.unsent += 1;
            refused
        } else {
            match said.next() {
                Some(Said::Refused(reason)) => Some(reason),
                Some(Said::LeftOut(reason)) => {
                    left_out.push(reason);
                    None
                }
                Some(Said::Taken) | None => None,
            }
        };
        if let Some(reason) = refused {
            report.add(&row, &reason)?;
        } else if !left_out.is_empty() {
            done.left_out += left_out.len() as u64;
            report.add(&row, &left_out.join("; "))?;
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor, Seek, SeekFrom};

    use sms_client::contact::ContactInput;

    use super::*;

    const NO_BOUNDS: Bounds = Bounds { rows: 20_000, bytes: usize::MAX, values: usize::MAX };

    /// How many rows the portions of a text have.
    fn portions(text: &str, bounds: Bounds) -> Vec<usize> {
        let mut people: People<ContactInput, _> = People::over(Cursor::new(text.to_owned()));
        let mut portions = Vec::new();
        loop {
            let portion = Portion::next(&mut people, bounds).unwrap();
            if portion.rows.is_empty() {
                return portions;
            }
            let body = serde_json::to_value(&portion.inputs).unwrap();
            assert_eq!(values_of(&body), portion.weight.values + 1, "the rows are in an array");
            portions.push(portion.rows.len());
        }
    }

    #[test]
    fn a_portion_has_no_more_of_anything_than_it_may() {
        // A row of these has five values: itself, two texts, and the object with one field.
        let row = |n: u64| format!("0{},Front desk,,gold,\n", 7_700_900_100 + n);
        let rows: String = (0..7).map(row).collect();
        let text = format!("phone,first_name,email,tier,town\n{rows}");
        for (bounds, expected) in [
            (NO_BOUNDS, vec![7]),
            (Bounds { rows: 3, ..NO_BOUNDS }, vec![3, 3, 1]),
            (Bounds { values: 5, ..NO_BOUNDS }, vec![1, 1, 1, 1, 1, 1, 1]),
            (Bounds { values: 10, ..NO_BOUNDS }, vec![2, 2, 2, 1]),
            (Bounds { values: 14, ..NO_BOUNDS }, vec![2, 2, 2, 1]),
            (Bounds { values: 15, ..NO_BOUNDS }, vec![3, 3, 1]),
            (Bounds { values: 1, ..NO_BOUNDS }, vec![1, 1, 1, 1, 1, 1, 1]),
            (Bounds { bytes: 1, ..NO_BOUNDS }, vec![1, 1, 1, 1, 1, 1, 1]),
            (Bounds { values: 15, rows: 2, ..NO_BOUNDS }, vec![2, 2, 2, 1]),
        ] {
            assert_eq!(portions(&text, bounds), expected, "{bounds:?}");
        }
    }

    /// A file that can be read so far.
    struct Broken {
        file: Cursor<String>,
        good: u64,
    }

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.file.position() >= self.good {
                return Err(io::Error::other("a bad sector"));
            }
            self.file.read(buffer)
        }
    }

    impl Seek for Broken {
        fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
            self.file.seek(position)
        }
    }

    #[test]
    fn rows_before_one_that_cannot_be_read_come_with_the_failure() {
        let rows = (0..20_000).map(|n| format!("0{}", 7_400_000_000_u64 + n));
        let rows = rows.collect::<Vec<_>>().join("\n");
        let file = Cursor::new(format!("phone\n{rows}"));
        let mut people: People<ContactInput, _> = People::over(Broken { file, good: 200_000 });
        let whole = Portion::next(&mut people, Bounds { rows: 10_000, ..NO_BOUNDS }).unwrap();
        assert_eq!(whole.rows.len(), 10_000);
        let Err(Stop { cause, rows }) = Portion::next(&mut people, NO_BOUNDS) else {
            panic!("all of it was read");
        };
        assert!(matches!(cause, Failure::File { .. }), "{cause}");
        assert!(rows.len() > 5_000, "{}", rows.len());
        let lines: Vec<u64> = rows.iter().map(|sent| sent.row.line).collect();
        assert_eq!(lines, (10_002..10_002 + rows.len() as u64).collect::<Vec<_>>());
    }
}
