//! What a column of a file means.

use std::fmt;
use std::str::FromStr;

use sms_core::text::is_custom_name;

/// The longest name of a custom field.
const LONGEST_NAME: usize = 40;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Nothing that is imported.
    LeftOut,
    /// The mobile number, by which contacts are recognised.
    Phone,
    /// The first name, for `{first_name}`.
    FirstName,
    /// The last name, for `{last_name}`.
    LastName,
    /// The email address, for `{email}`.
    Email,
    /// Notes about the person, which no message shows.
    Notes,
    /// The account's own field of this name.
    Custom(String),
}

/// Not what a column can mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not what a column can mean")]
pub struct NotAColumn;

/// Why columns with these meanings cannot be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadColumns {
    /// No column is the mobile number.
    #[error("Choose the column with the mobile number.")]
    NoNumber,
    /// Two columns mean the same.
    #[error("Two columns have the same meaning. Leave one of them out.")]
    Twice,
}

/// Why it is not known which column holds the mobile numbers: the caller has to say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoNumberColumn {
    /// No column has the name or the place that was given, or several have that name.
    #[error("no column is called so, or several are")]
    NotAsSaid,
    /// No name speaks of a number.
    #[error("no column is called mobile, phone or number")]
    Nowhere,
    /// The columns at these places may hold them.
    #[error("more than one column may hold the mobile numbers")]
    Several(Vec<usize>),
}

/// How surely the name of a column speaks of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sure {
    /// It speaks of something about it, such as a consent.
    Barely,
    /// It contains a word for it.
    Somewhat,
    /// It is a name for it.
    Fairly,
    /// It contains a name for it and for nothing else.
    Quite,
    /// It is just its name.
    Exactly,
}

/// What columns are called that hold the number of a mobile phone and nothing else, without what
/// stands between their words.
const NUMBER_NAMES: [&str; 31] = [
    "phone",
    "phones",
    "phoneno",
    "phonenumber",
    "phonenumbers",
    "number",
    "numbers",
    "mobile",
    "mobiles",
    "mobileno",
    "mobilenumber",
    "mobilenumbers",
    "mobilephone",
    "mobilephonenumber",
    "mobiletelephone",
    "tel",
    "telno",
    "telephone",
    "telephoneno",
    "telephonenumber",
    "cell",
    "cellphone",
    "cellnumber",
    "contactnumber",
    "smsnumber",
    "msisdn",
    "to",
    "recipient",
    "recipients",
    "handynummer",
    "telefonnummer",
];
/// Words for what people note about a number or an address.
const ABOUT: [&str; 21] = [
    "carrier",
    "code",
    "consent",
    "consented",
    "country",
    "date",
    "ext",
    "extension",
    "label",
    "network",
    "opt",
    "optin",
    "optout",
    "permission",
    "provider",
    "status",
    "subscribed",
    "type",
    "valid",
    "verified",
    "ok",
];

impl Column {
    /// Those that every account has, with their words.
    pub const KNOWN: [(Self, &'static str); 6] = [
        (Self::LeftOut, "Leave out"),
        (Self::Phone, "Mobile number"),
        (Self::FirstName, "First name"),
        (Self::LastName, "Last name"),
        (Self::Email, "Email"),
        (Self::Notes, "Notes"),
    ];

    /// The custom field that a column with this name would become: `Table no.` is `table_no`.
    pub fn custom_of(name: &str) -> Self {
        Self::Custom(custom_name(name))
    }

    /// The name of the field of a contact, such as `first_name` or `custom.table`. `None` for a
    /// column that is left out.
    pub fn field(&self) -> Option<String> {
        (*self != Self::LeftOut).then(|| self.to_string())
    }

    /// Whether a column with this name is one that a file of failures adds: it says something of
    /// the row, and nothing of the person.
    pub fn is_of_failures(name: &str) -> bool {
        let name = name.trim().to_ascii_lowercase();
        // The last two are those of files that `sms contacts import` wrote before.
        ["line", "problem", "sms_row", "sms_error"].contains(&name.as_str())
    }

    /// What a name speaks of.
    pub(crate) fn spoken_of(name: &str) -> Option<(Self, Sure)> {
        let name = name.to_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let whole = words.concat();
        phone(&words, &whole).map(|sure| (Self::Phone, sure)).or_else(|| other(&words, &whole))
    }
}

fn is_about(words: &[&str]) -> bool {
    words.iter().any(|word| ABOUT.contains(word))
}

fn phone(words: &[&str], whole: &str) -> Option<Sure> {
    if NUMBER_NAMES.contains(&whole) {
        return Some(Sure::Exactly);
    }
    let sure = phone_within(words, whole)?;
    Some(if is_about(words) { Sure::Barely } else { sure })
}

/// What a longer name says that speaks of a phone.
fn phone_within(words: &[&str], whole: &str) -> Option<Sure> {
    let begins =
        |with: &[&str]| words.iter().any(|word| with.iter().any(|it| word.starts_with(it)));
    let is_any = |of: &[&str]| words.iter().any(|word| of.contains(word));
    if begins(&["mobil", "msisdn", "handy"]) || is_any(&["cell", "cellphone"]) {
        return Some(Sure::Quite);
    }
    if begins(&["phone", "telephone", "telefon"]) || is_any(&["tel"]) {
        return Some(Sure::Fairly);
    }
    let of_a_number = ["number", "numbers", "contact", "sms", "text", "recipient", "no"];
    let is_number = whole.contains("number") && words.iter().all(|word| of_a_number.contains(word));
    is_number.then_some(Sure::Somewhat)
}

fn other(words: &[&str], whole: &str) -> Option<(Column, Sure)> {
    let kinds: [(Column, &[&str], &[&str]); 4] = [
        (Column::FirstName, &["first", "given"], &["firstname", "givenname", "forename"]),
        (Column::LastName, &["last", "family"], &["lastname", "familyname", "surname"]),
        (Column::Email, &["email", "mail", "emailaddress", "mailaddress"], &["email"]),
        (Column::Notes, &["note", "notes", "comment", "comments"], &[]),
    ];
    for (column, names, parts) in kinds {
        if names.contains(&whole) || parts.contains(&whole) {
            return Some((column, Sure::Exactly));
        }
        if is_about(words) {
            continue;
        }
        let has_part = parts.iter().any(|part| whole.contains(part));
        if has_part || words.iter().any(|word| column == Column::Notes && names.contains(word)) {
            return Some((column, Sure::Somewhat));
        }
    }
    None
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
            let is_name = is_custom_name(name);
            return is_name.then(|| Self::Custom(name.to_owned())).ok_or(NotAColumn);
        }
        let found = Self::KNOWN.into_iter().find(|(column, _)| column.to_string() == text);
        found.map(|(column, _)| column).ok_or(NotAColumn)
    }
}

/// A name as custom fields have it.
pub(crate) fn custom_name(name: &str) -> String {
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
    use super::*;

    #[test]
    fn a_column_is_read_as_it_is_written() {
        let custom = Column::Custom("table_no".to_owned());
        for column in Column::KNOWN.map(|(column, _)| column).into_iter().chain([custom]) {
            assert_eq!(column.to_string().parse().as_ref(), Ok(&column));
        }
        for text in ["nonsense", "custom.", "custom.Table", "custom.a b"] {
            assert_eq!(text.parse::<Column>(), Err(NotAColumn), "{text}");
        }
    }

    #[test]
    fn a_name_of_a_custom_field_is_one_that_contacts_may_have() {
        let long = "x".repeat(60);
        for name in [" Straße ", "Ω", "9 lives", "A--B", &long, "table_", "_", "Été", ""] {
            let Column::Custom(made) = Column::custom_of(name) else { panic!("{name}") };
            assert!(is_custom_name(&made), "{made}");
        }
        assert_eq!(Column::custom_of("2nd Table no.").to_string(), "custom.nd_table_no");
    }
}
