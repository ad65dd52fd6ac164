//! Opts out many numbers at once, such as those that an account brings from another provider.

use std::collections::BTreeSet;

use super::{MAX_NOTE, OptOut, Via};
use crate::field_error::FieldError;
use crate::phone::{E164, parse_uk_mobile};
use crate::time::Timestamp;

/// A number to opt out, as given.
#[derive(Clone, PartialEq, Eq)]
pub struct OptOutRow {
    /// A UK mobile number in any common format.
    pub phone: String,
    /// The account's note, at most 500 characters.
    pub note: Option<String>,
}

/// Shows no personal data.
impl std::fmt::Debug for OptOutRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OptOutRow").finish_non_exhaustive()
    }
}

/// The result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptOutOutcome {
    /// The number is opted out from now on.
    Created,
    /// The number had opted out already, or an earlier row has it.
    Existing,
    /// The number is not a UK mobile number.
    Invalid,
}

impl OptOutOutcome {
    /// Every value, in the order in which the API lists them.
    pub const ALL: [Self; 3] = [Self::Created, Self::Existing, Self::Invalid];

    /// The name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Existing => "existing",
            Self::Invalid => "invalid",
        }
    }
}

/// The result of one row.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptOutImported {
    /// The number in E.164 if it could be read, otherwise the text as given.
    pub phone: String,
    /// What the row did.
    pub outcome: OptOutOutcome,
    /// What is wrong with the row, as text for people: with its number, or with a note that was
    /// left out.
    pub error: Option<String>,
}

/// Shows no personal data.
impl std::fmt::Debug for OptOutImported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OptOutImported({})", self.outcome.as_str())
    }
}

/// Rows as they were read: their numbers, or the texts that are none, and what is wrong with notes.
pub(crate) struct OptOutRows(Vec<(Result<E164, String>, Option<String>)>);

impl OptOutRows {
    /// Reads rows, and the opt-outs that they ask for: each number once, as its first row says. A
    /// note that breaks a rule is left out, because the number must not be texted in any case.
    pub(crate) fn read(rows: Vec<OptOutRow>, via: Via, at: Timestamp) -> (Self, Vec<OptOut>) {
        let (mut read, mut opt_outs) = (Vec::with_capacity(rows.len()), Vec::new());
        let mut seen = BTreeSet::new();
        for OptOutRow { phone, note } in rows {
            let Ok(number) = parse_uk_mobile(&phone) else {
                read.push((Err(phone), None));
                continue;
            };
            let bad =
                note.as_deref().and_then(|text| FieldError::of_text("note", text, 0..=MAX_NOTE));
            let error = bad.map(|bad| format!("note: {}; it was left out", bad.message));
            if seen.insert(number) {
                let note = note.filter(|note| error.is_none() && !note.is_empty());
                opt_outs.push(OptOut { phone: number, source: via.into(), note, created_at: at });
            }
            read.push((Ok(number), error));
        }
        (Self(read), opt_outs)
    }

    /// The result of each row, given the numbers that are new.
    pub(crate) fn results(self, mut new: BTreeSet<E164>) -> Vec<OptOutImported> {
        let results = self.0.into_iter().map(|(number, error)| match number {
            Ok(number) => {
                let is_new = new.remove(&number);
                let outcome = if is_new { OptOutOutcome::Created } else { OptOutOutcome::Existing };
                OptOutImported { phone: number.to_string(), outcome, error }
            }
            Err(phone) => {
                let why = parse_uk_mobile(&phone).err();
                let error = why.map(|why| format!("phone: {why}"));
                OptOutImported { phone, outcome: OptOutOutcome::Invalid, error }
            }
        });
        results.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opt_out::OptOutSource;
    use crate::samples::{mobile, now};

    fn row(phone: &str, note: Option<&str>) -> OptOutRow {
        OptOutRow { phone: phone.to_owned(), note: note.map(str::to_owned) }
    }

    #[test]
    fn each_number_is_opted_out_once_whatever_is_wrong_with_its_note() {
        let long = "x".repeat(MAX_NOTE + 1);
        let rows = vec![
            row("07700 900001", Some("STOP in 2024")),
            row("+447700900001", Some("again")),
            row("07700 900002", Some(&long)),
            row("nonsense", None),
            row("020 7946 0000", None),
        ];
        let (read, opt_outs) = OptOutRows::read(rows, Via::Dashboard, now());
        let asked: Vec<_> = opt_outs.iter().map(|it| (it.phone, it.note.as_deref())).collect();
        assert_eq!(asked, [(mobile(1), Some("STOP in 2024")), (mobile(2), None)]);
        assert!(opt_outs.iter().all(|it| it.source == OptOutSource::Dashboard));
        let results = read.results([mobile(1)].into());
        let told: Vec<_> =
            results.iter().map(|it| (it.outcome.as_str(), it.error.is_some())).collect();
        let expected = [
            ("created", false),
            ("existing", false),
            ("existing", true),
            ("invalid", true),
            ("invalid", true),
        ];
        assert_eq!(told, expected);
        assert_eq!((&*results[1].phone, &*results[3].phone), ("+447700900001", "nonsense"));
    }
}
