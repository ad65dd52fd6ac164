//! What a column of a file means, and the contact that a row is.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use sms_core::contact::{ContactInput, CustomValue};

/// The longest name of a custom field.
const LONGEST_NAME: usize = 40;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    LeftOut,
    Phone,
    FirstName,
    LastName,
    Email,
    Notes,
    /// The account's own field of this name.
    Custom(String),
}

/// Not what a column can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotAColumn;

/// Why columns with these meanings cannot be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadColumns {
    #[error("Choose the column with the mobile number.")]
    NoNumber,
    #[error("Two columns have the same meaning. Leave one of them out.")]
    Twice,
}

impl Column {
    /// Those that every account has, with their words.
    pub(super) const KNOWN: [(Self, &'static str); 6] = [
        (Self::LeftOut, "Leave out"),
        (Self::Phone, "Mobile number"),
        (Self::FirstName, "First name"),
        (Self::LastName, "Last name"),
        (Self::Email, "Email"),
        (Self::Notes, "Notes"),
    ];

    /// What the columns of a file seem to mean, by their names.
    pub(super) fn guessed(header: &[String]) -> Vec<Self> {
        let mut taken = BTreeSet::new();
        let mut columns = Vec::new();
        for name in header {
            let known = known_of(name).filter(|column| !taken.contains(column));
            let column = known.unwrap_or_else(|| free_custom(name, &taken));
            taken.insert(column.clone());
            columns.push(column);
        }
        columns
    }

    /// The field of its own that a column with this name would become.
    pub(super) fn custom_of(name: &str) -> Self {
        Self::Custom(custom_name(name))
    }
}

/// The value of an option in a form, such as `phone` and `custom.table`.
impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut => f.write_str("left_out"),
            Self::Phone => f.write_str("phone"),
            Self::FirstName => f.write_str("first_name"),
            Self::LastName => f.write_str("last_name"),
            Self::Email => f.write_str("email"),
            Self::Notes => f.write_str("notes"),
            Self::Custom(name) => write!(f, "custom.{name}"),
        }
    }
}

impl FromStr for Column {
    type Err = NotAColumn;

    fn from_str(text: &str) -> Result<Self, NotAColumn> {
        if let Some(name) = text.strip_prefix("custom.") {
            return Ok(Self::Custom(name.to_owned()));
        }
        let found = Self::KNOWN.into_iter().find(|(column, _)| column.to_string() == text);
        found.map(|(column, _)| column).ok_or(NotAColumn)
    }
}

/// Refuses columns without a number, and two with one meaning.
pub(super) fn check(columns: &[Column]) -> Result<(), BadColumns> {
    let used: Vec<&Column> = columns.iter().filter(|one| **one != Column::LeftOut).collect();
    if !used.contains(&&Column::Phone) {
        return Err(BadColumns::NoNumber);
    }
    let different: BTreeSet<_> = used.iter().collect();
    if different.len() < used.len() { Err(BadColumns::Twice) } else { Ok(()) }
}

/// The contact that a row is. Empty cells say nothing.
pub(super) fn contact_of(cells: &[String], columns: &[Column]) -> ContactInput {
    let mut contact = ContactInput::new("");
    for (cell, column) in cells.iter().zip(columns) {
        let text = cell.trim();
        if text.is_empty() {
            continue;
        }
        let text = text.to_owned();
        match column {
            Column::LeftOut => {}
            Column::Phone => contact.phone = text,
            Column::FirstName => contact.first_name = Some(text),
            Column::LastName => contact.last_name = Some(text),
            Column::Email => contact.email = Some(text),
            Column::Notes => contact.notes = Some(text),
            Column::Custom(name) => {
                contact.custom.insert(name.clone(), Some(CustomValue::Text(text)));
            }
        }
    }
    contact
}

/// Which of the known columns a name speaks of.
fn known_of(name: &str) -> Option<Column> {
    let words: [(&[&str], Column); 5] = [
        (&["phone", "mobile", "number", "tel", "msisdn"], Column::Phone),
        (&["first", "given", "forename"], Column::FirstName),
        (&["last", "sur", "family"], Column::LastName),
        (&["mail"], Column::Email),
        (&["note", "comment"], Column::Notes),
    ];
    let name = name.to_lowercase();
    let speaks = |words: &[&str]| words.iter().any(|word| name.contains(word));
    words.into_iter().find(|(words, _)| speaks(words)).map(|(_, column)| column)
}

/// A field of its own that no column before it has.
fn free_custom(name: &str, taken: &BTreeSet<Column>) -> Column {
    let name = custom_name(name);
    let numbered = (2..).map(|number| {
        let end = format!("_{number}");
        let room = LONGEST_NAME.saturating_sub(end.len());
        format!("{}{end}", name.get(..room).unwrap_or(&name))
    });
    let mut names = std::iter::once(name.clone()).chain(numbered).map(Column::Custom);
    names.find(|column| !taken.contains(column)).unwrap_or(Column::LeftOut)
}

/// A name as custom fields have it: `Table no.` is `table_no`.
fn custom_name(name: &str) -> String {
    let mut made = String::new();
    for letter in name.trim().to_lowercase().chars() {
        if letter.is_ascii_lowercase() || (letter.is_ascii_digit() && !made.is_empty()) {
            made.push(letter);
        } else if !made.is_empty() && !made.ends_with('_') {
            made.push('_');
        }
    }
    made.truncate(LONGEST_NAME);
    let made = made.trim_end_matches('_');
    if made.is_empty() { "field".to_owned() } else { made.to_owned() }
}

#[cfg(test)]
mod tests {
    use sms_core::text::is_custom_name;

    use super::*;

    fn texts(columns: &[Column]) -> Vec<String> {
        columns.iter().map(ToString::to_string).collect()
    }

    fn header(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_meaning_of_a_column_is_guessed_from_its_name() {
        for (names, expected) in [
            (&["Mobile", "Given name", "Table"][..], &["phone", "first_name", "custom.table"][..]),
            (&["E-Mail", "Surname", "Comment"], &["email", "last_name", "notes"]),
            (&["Phone", "Phone 2"], &["phone", "custom.phone_2"]),
            (&["", "", "!"], &["custom.field", "custom.field_2", "custom.field_3"]),
            (&["2nd Table no."], &["custom.nd_table_no"]),
        ] {
            let columns = Column::guessed(&header(names));
            assert_eq!(texts(&columns), expected, "{names:?}");
            for column in &columns {
                assert_eq!(column.to_string().parse().as_ref(), Ok(column));
            }
        }
        assert_eq!("nonsense".parse::<Column>(), Err(NotAColumn));
    }

    #[test]
    fn a_guessed_custom_field_has_a_name_that_contacts_may_have() {
        let long = "x".repeat(60);
        let names = [" Straße ", "Ω", "9 lives", "A--B", &long, &long, "table_", "_", "Été"];
        for column in Column::guessed(&header(&names)) {
            let Column::Custom(name) = &column else { panic!("{column}") };
            assert!(is_custom_name(name), "{name}");
        }
    }

    #[test]
    fn columns_need_a_number_and_differ() {
        use Column::{Custom, Email, LeftOut, Notes, Phone};
        for (columns, expected) in [
            (vec![Phone, LeftOut, LeftOut], Ok(())),
            (vec![Email, Phone, Custom("a".to_owned())], Ok(())),
            (vec![Email], Err(BadColumns::NoNumber)),
            (vec![], Err(BadColumns::NoNumber)),
            (vec![Phone, Notes, Notes], Err(BadColumns::Twice)),
            (vec![Phone, Phone], Err(BadColumns::Twice)),
        ] {
            assert_eq!(check(&columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn a_row_is_a_contact_and_its_empty_cells_say_nothing() {
        let columns =
            [Column::Phone, Column::FirstName, Column::custom_of("Table"), Column::LeftOut];
        let cells = header(&[" 07700 900123 ", " ", "7", "x", "more"]);
        let contact = contact_of(&cells, &columns);
        assert_eq!((contact.phone.as_str(), contact.first_name), ("07700 900123", None));
        assert_eq!(contact.custom.get("table"), Some(&Some(CustomValue::Text("7".to_owned()))));
        assert_eq!(contact_of(&[], &columns), ContactInput::new(""));
    }
}
