//! The contact that a row is.

use std::borrow::Cow;

use sms_core::contact::custom::MAX_FIELDS;
use sms_core::contact::{ContactInput, CustomValue};
use sms_core::text::is_blank;

use crate::cell::number;
use crate::column::Column;
use crate::columns::Columns;
use crate::row::{Fault, Row};

/// How much of a cell is shown, in characters.
const MOST_SHOWN: usize = 60;
/// What spreadsheets put where a formula failed.
const FAILED: [&str; 9] =
    ["#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"];
/// What a decoder puts where bytes are no character.
const NO_CHARACTER: char = '\u{fffd}';

/// What a row says of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The contact, without the values that break a rule; or why there is none.
    pub contact: Result<ContactInput, Problem>,
    /// The values that break a rule. The others are imported.
    pub left_out: Vec<Problem>,
}

/// What is wrong with a cell or with a row.
#[derive(Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place of the column; `None` if the row as a whole is meant.
    pub column: Option<usize>,
    /// What the cell has, cut to 60 characters.
    pub value: String,
    /// What is wrong, for people. Rows with the same cause have the same text.
    pub cause: String,
}

/// Shows no personal data.
impl std::fmt::Debug for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { column, value: _, cause } = self;
        f.debug_struct("Problem").field("column", column).field("cause", cause).finish()
    }
}

impl Problem {
    /// A problem with the cell at this place of a row.
    pub fn of_cell(row: &Row, place: Option<usize>, cause: impl Into<String>) -> Self {
        let cell = place.and_then(|place| row.cells.get(place)).map_or("", String::as_str);
        Self { column: place, value: shown(cell), cause: cause.into() }
    }

    fn of_row(fault: &Fault) -> Self {
        let value = match fault {
            Fault::TooManyCells { first, .. } => shown(first),
            Fault::Unclosed => String::new(),
        };
        Self { column: None, value, cause: fault.to_string() }
    }
}

fn shown(cell: &str) -> String {
    let cell = cell.trim();
    match cell.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}

impl Columns {
    /// The contact that a row is. Empty cells say nothing. A value that breaks a rule is left out
    /// and does not cost the number.
    pub fn person(&self, row: &Row) -> Person {
        if let Some(fault) = &row.fault {
            return Person { contact: Err(Problem::of_row(fault)), left_out: Vec::new() };
        }
        let mut left_out = Vec::new();
        let mut contact = ContactInput::new("");
        let cells = row.cells.iter().zip(self.as_slice()).enumerate();
        for (place, (cell, column)) in cells {
            let text = cell.trim();
            if is_blank(text) {
                continue;
            }
            if let Err(cause) = put(&mut contact, column, text) {
                let problem = Problem::of_cell(row, Some(place), cause);
                if *column == Column::Phone {
                    return Person { contact: Err(problem), left_out: Vec::new() };
                }
                left_out.push(problem);
            }
        }
        if let Err(errors) = contact.checked() {
            for error in errors {
                let cause = match error.field.as_str() {
                    "phone" if contact.phone.is_empty() => "phone: it has no number".to_owned(),
                    field => format!("{field}: {}", error.message),
                };
                let problem = Problem::of_cell(row, self.place_of(&error.field), cause);
                if !remove(&mut contact, &error.field) {
                    return Person { contact: Err(problem), left_out: Vec::new() };
                }
                left_out.push(problem);
            }
        }
        Person { contact: Ok(contact), left_out }
    }
}

/// Gives a contact the value of a cell.
fn put(contact: &mut ContactInput, column: &Column, text: &str) -> Result<(), Cow<'static, str>> {
    let field = column.to_string();
    if *column != Column::LeftOut && text.contains(NO_CHARACTER) {
        return Err(format!("{field}: it has bytes that the file's encoding does not know").into());
    }
    if *column != Column::LeftOut && FAILED.contains(&text) {
        return Err(format!("{field}: a formula failed in this cell").into());
    }
    let text = text.to_owned();
    match column {
        Column::LeftOut => {}
        Column::Phone => {
            contact.phone = number(&text).map_err(|cause| format!("{field}: {cause}"))?;
        }
        Column::FirstName => contact.first_name = Some(text),
        Column::LastName => contact.last_name = Some(text),
        Column::Email => contact.email = Some(text),
        Column::Notes => contact.notes = Some(text),
        Column::Custom(_) if contact.custom.len() >= MAX_FIELDS => {
            return Err(format!("a contact may have at most {MAX_FIELDS} custom fields").into());
        }
        Column::Custom(name) => {
            contact.custom.insert(name.clone(), Some(CustomValue::Text(text)));
        }
    }
    Ok(())
}

/// Takes the value of a field away; false for the number, without which there is no contact.
fn remove(contact: &mut ContactInput, field: &str) -> bool {
    match field {
        "first_name" => contact.first_name.take().is_some(),
        "last_name" => contact.last_name.take().is_some(),
        "email" => contact.email.take().is_some(),
        "notes" => contact.notes.take().is_some(),
        _ => match field.strip_prefix("custom.") {
            Some(name) => contact.custom.remove(name).is_some(),
            None => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::ROUNDED;

    fn header() -> Vec<String> {
        ["Mobile", "First name", "Email", "Notes", "Table"].map(str::to_owned).to_vec()
    }

    fn row(cells: &[&str]) -> Row {
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        Row { line: 2, cells, fault: None }
    }

    fn person(cells: &[&str]) -> Person {
        Columns::guessed(&header()).person(&row(cells))
    }

    fn problem(column: usize, value: &str, cause: &str) -> Problem {
        let (value, cause) = (value.to_owned(), cause.to_owned());
        Problem { column: Some(column), value, cause }
    }

    #[test]
    fn a_row_is_a_contact_and_its_empty_cells_say_nothing() {
        let person = person(&[" 07700 900123 ", " ", "", "\u{a0}", "7"]);
        let contact = person.contact.unwrap();
        assert_eq!((contact.phone.as_str(), &contact.first_name), ("07700 900123", &None));
        assert_eq!(contact.custom.get("table"), Some(&Some(CustomValue::Text("7".to_owned()))));
        assert!(contact.email.is_none() && contact.notes.is_none());
        assert_eq!(person.left_out, []);
    }

    #[test]
    fn a_bad_value_is_left_out_and_does_not_cost_the_number() {
        let (long, nul) = ("x".repeat(2_001), "a\0b");
        let person = person(&["07700900123", "Zo\u{fffd}", "nobody", &long, nul]);
        let contact = person.contact.unwrap();
        assert_eq!(contact, ContactInput::new("07700900123"));
        let cut = format!("{}…", "x".repeat(60));
        let causes = [
            (1, "Zo\u{fffd}", "first_name: it has bytes that the file's encoding does not know"),
            (2, "nobody", "email: not an email address, such as someone@example.com"),
            (3, &cut, "notes: the text may have at most 2000 characters"),
            (4, nul, "custom.table: the text must not contain the character U+0000"),
        ];
        let expected: Vec<_> = causes.map(|(at, value, cause)| problem(at, value, cause)).into();
        assert_eq!(person.left_out, expected);
    }

    #[test]
    fn a_formula_that_failed_is_no_value() {
        let person = person(&["07700900123", "#N/A"]);
        assert_eq!(person.contact, Ok(ContactInput::new("07700900123")));
        let cause = "first_name: a formula failed in this cell";
        assert_eq!(person.left_out, [problem(1, "#N/A", cause)]);
    }

    #[test]
    fn a_row_without_a_good_number_says_why() {
        for (cells, expected) in [
            (&["", "Ann"][..], problem(0, "", "phone: it has no number")),
            (&["12", "Ann", "nobody"], problem(0, "12", "phone: not a valid phone number")),
            (&["4.47701E+11", "Ann"], problem(0, "4.47701E+11", &format!("phone: {ROUNDED}"))),
        ] {
            let person = person(cells);
            assert_eq!((person.contact, person.left_out), (Err(expected), vec![]), "{cells:?}");
        }
        let fault = Fault::TooManyCells { cells: 6, columns: 5, first: "Jr".to_owned() };
        let row = Row { fault: Some(fault), ..row(&["07700900123"]) };
        let Err(problem) = Columns::guessed(&header()).person(&row).contact else { panic!() };
        assert_eq!((problem.column, problem.value.as_str()), (None, "Jr"));
        assert_eq!(problem.cause, "it has 6 columns instead of 5");
    }

    #[test]
    fn a_contact_gets_as_many_custom_fields_as_it_may_have() {
        let columns: Vec<Column> = std::iter::once(Column::Phone)
            .chain((0..60).map(|at| Column::Custom(format!("f{at}"))))
            .collect();
        let cells: Vec<&str> = std::iter::once("07700900123").chain([("x"); 60]).collect();
        let person = Columns::new(columns).person(&row(&cells));
        assert_eq!(person.contact.unwrap().custom.len(), 50);
        assert_eq!(person.left_out.len(), 10);
        assert_eq!(person.left_out[0].column, Some(51));
    }
}
