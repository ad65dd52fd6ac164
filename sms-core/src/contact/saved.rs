//! A saved contact, and what is known about the person.

use std::borrow::Cow;
use std::fmt;

use super::custom::{CustomFields, CustomValue};
use crate::ids::{AccountId, ContactId};
use crate::phone::E164;
use crate::text::full_name::full_name;
use crate::text::merge::MergeFields;
use crate::time::Timestamp;
use crate::version::{Version, Versioned};

/// What is known about a person. A blank value counts as missing.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The first name, at most 100 characters; `None` if unknown.
    pub first_name: Option<String>,
    /// The last name, at most 100 characters; `None` if unknown.
    pub last_name: Option<String>,
    /// The email address, at most 254 characters; `None` if unknown.
    pub email: Option<String>,
    /// The account's notes about the person, at most 2,000 characters; `None` if there are none.
    pub notes: Option<String>,
    /// The fields that the account defines, at most 50.
    pub custom: CustomFields,
}

/// Shows which values are present, never the values.
impl fmt::Debug for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Details")
            .field("first_name", &self.first_name.is_some())
            .field("last_name", &self.last_name.is_some())
            .field("email", &self.email.is_some())
            .field("notes", &self.notes.is_some())
            .field("custom", &self.custom.len())
            .finish()
    }
}

impl Details {
    /// The first and the last name, or the one that is set; `None` if neither is.
    pub fn full_name(&self) -> Option<String> {
        full_name(self.first_name.as_deref(), self.last_name.as_deref())
    }

    /// The details in a form that only equal details have.
    pub(crate) fn meaning(&self) -> String {
        let Self { first_name, last_name, email, notes, custom } = self;
        // Strings and a sorted map of plain values, which JSON can always represent.
        let whole = (first_name, last_name, email, notes, custom);
        serde_json::to_string(&whole).unwrap_or_default()
    }

    /// These details, replaced by those of `newer` where `newer` has a value.
    #[must_use]
    pub(crate) fn overlaid_with(mut self, newer: &Self) -> Self {
        let Self { first_name, last_name, email, notes, custom } = newer;
        for (mine, given) in [
            (&mut self.first_name, first_name),
            (&mut self.last_name, last_name),
            (&mut self.email, email),
            (&mut self.notes, notes),
        ] {
            if given.is_some() {
                mine.clone_from(given);
            }
        }
        self.custom.extend(custom.iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }
}

/// A saved contact of one account. Its lists are stored apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// The id of the contact.
    pub id: ContactId,
    /// The account that the contact belongs to.
    pub account: AccountId,
    /// The number: a UK mobile that no other contact of the account has.
    pub phone: E164,
    /// What is known about the person.
    pub details: Details,
    /// Whether the number has opted out. A store determines this at every reading; it is not stored
    /// with the contact.
    pub opted_out: bool,
    /// When the contact was created.
    pub created_at: Timestamp,
    /// When the contact last changed.
    pub updated_at: Timestamp,
}

impl Contact {
    /// The text in which a search looks for words: names and email, in lower case.
    pub fn searched(&self) -> String {
        let Details { first_name, last_name, email, notes: _, custom: _ } = &self.details;
        let part = |value: &Option<String>| value.as_deref().unwrap_or_default().to_lowercase();
        format!("{} {}\n{}", part(first_name), part(last_name), part(email))
    }
}

/// The number and the details, but neither the lists nor whether the number has opted out.
impl Versioned for Contact {
    const KIND: &'static str = "contact";

    fn version(&self) -> Version {
        let Self { id, account: _, phone, details, opted_out: _, .. } = self;
        Version::of(Self::KIND, id, |fields| {
            fields.add("phone", [phone.to_string()]);
            fields.add("details", [details.meaning()]);
        })
    }
}

impl MergeFields for Contact {
    fn first_name(&self) -> Option<&str> {
        self.details.first_name.as_deref()
    }

    fn last_name(&self) -> Option<&str> {
        self.details.last_name.as_deref()
    }

    fn email(&self) -> Option<&str> {
        self.details.email.as_deref()
    }

    fn phone(&self) -> E164 {
        self.phone
    }

    fn custom(&self, name: &str) -> Option<Cow<'_, str>> {
        self.details.custom.get(name).map(CustomValue::text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::contact;
    use crate::text::Template;

    fn details(first_name: Option<&str>, email: Option<&str>, custom: &[(&str, i64)]) -> Details {
        let number = |(name, value): &(&str, i64)| {
            ((*name).to_owned(), CustomValue::Number((*value).into()))
        };
        Details {
            first_name: first_name.map(str::to_owned),
            email: email.map(str::to_owned),
            custom: custom.iter().map(number).collect(),
            ..Details::default()
        }
    }

    #[test]
    fn newer_details_replace_older_ones_and_missing_ones_stay() {
        let older = details(Some("Ann"), Some("ann@example.com"), &[("points", 1), ("visits", 2)]);
        let newer = details(Some("Anne"), None, &[("points", 5)]);
        let both = details(Some("Anne"), Some("ann@example.com"), &[("points", 5), ("visits", 2)]);
        assert_eq!(older.clone().overlaid_with(&newer), both);
        assert_eq!(older.clone().overlaid_with(&Details::default()), older);
    }

    #[test]
    fn a_contact_fills_merge_fields_with_what_is_known() {
        let contact =
            Contact { details: details(Some("Ann"), None, &[("points", 5)]), ..contact() };
        let template = Template::parse("{full_name}/{email}/{phone}/{points}/{town}/{x}", |name| {
            ["points", "town"].contains(&name)
        });
        assert_eq!(template.render(&contact, 100).unwrap(), "Ann//+447700900123/5//{x}");
        let details = Details {
            last_name: Some("Example".to_owned()),
            ..details(None, Some("a@b.example"), &[])
        };
        let contact = Contact { details, ..contact };
        assert_eq!(
            template.render(&contact, 100).unwrap(),
            "Example/a@b.example/+447700900123///{x}"
        );
    }

    #[test]
    fn debug_shows_no_personal_data() {
        let contact = Contact {
            details: details(Some("Ann"), Some("ann@example.com"), &[("points", 5)]),
            ..contact()
        };
        let shown = format!("{contact:?}");
        assert!(!shown.contains("Ann") && !shown.contains("example") && !shown.contains("points"));
    }
}
