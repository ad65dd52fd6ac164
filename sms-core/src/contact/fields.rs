//! Which details of contacts a text needs. Contacts of a long list are read with no others.

use std::collections::BTreeSet;

use super::saved::{Contact, Details};
use crate::text::merge::field_names;

/// A detail that every account has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The first name, for `{first_name}` and `{full_name}`.
    FirstName,
    /// The last name, for `{last_name}` and `{full_name}`.
    LastName,
    /// The email address, for `{email}`.
    Email,
}

/// Which details of contacts to read. The others read as missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContactFields {
    /// The details that every account has.
    pub details: BTreeSet<Detail>,
    /// The names of custom fields. A contact may have none of them.
    pub custom: BTreeSet<String>,
}

impl ContactFields {
    /// The details that the merge fields of a text show.
    ///
    /// ```
    /// use sms_core::contact::{ContactFields, Detail};
    ///
    /// let fields = ContactFields::named_in("Hi {first_name}, {points} points at {phone}");
    /// assert!(fields.details.into_iter().eq([Detail::FirstName]));
    /// assert!(fields.custom.into_iter().eq(["points"]));
    /// ```
    pub fn named_in(text: &str) -> Self {
        let mut fields = Self::default();
        for name in field_names(text) {
            match name {
                "first_name" => fields.details.extend([Detail::FirstName]),
                "last_name" => fields.details.extend([Detail::LastName]),
                "full_name" => fields.details.extend([Detail::FirstName, Detail::LastName]),
                "email" => fields.details.extend([Detail::Email]),
                "phone" => {}
                custom => fields.custom.extend([custom.to_owned()]),
            }
        }
        fields
    }

    /// A copy of the contact with these details and no others.
    pub fn of(&self, contact: &Contact) -> Contact {
        let Details { first_name, last_name, email, notes: _, custom } = &contact.details;
        let wanted = |detail, value: &Option<String>| {
            value.as_ref().filter(|_| self.details.contains(&detail)).cloned()
        };
        let named = |name: &String| Some((name.clone(), custom.get(name)?.clone()));
        let Contact { id, account, phone, details: _, opted_out, created_at, updated_at } = contact;
        Contact {
            id: *id,
            account: *account,
            phone: *phone,
            details: Details {
                first_name: wanted(Detail::FirstName, first_name),
                last_name: wanted(Detail::LastName, last_name),
                email: wanted(Detail::Email, email),
                notes: None,
                custom: self.custom.iter().filter_map(named).collect(),
            },
            opted_out: *opted_out,
            created_at: *created_at,
            updated_at: *updated_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::CustomValue;
    use crate::samples::contact;
    use crate::text::Template;

    #[test]
    fn a_contact_without_what_a_text_does_not_name_reads_the_same_in_it() {
        let some = |text: &str| Some(text.to_owned());
        let points = || ("points".to_owned(), CustomValue::Number(5.into()));
        let town = || ("town".to_owned(), CustomValue::Text("Leeds".to_owned()));
        let details = Details {
            first_name: some("Ann"),
            last_name: some("Example"),
            email: some("ann@example.com"),
            notes: some("allergic to nuts"),
            custom: [points(), town()].into(),
        };
        let whole = Contact { details: details.clone(), ..contact() };
        let without = Details::default;
        for (text, left) in [
            ("Hello {phone} {}", without()),
            ("{first_name}", Details { first_name: some("Ann"), ..without() }),
            ("{last_name}", Details { last_name: some("Example"), ..without() }),
            ("{full_name}", Details { email: None, notes: None, custom: [].into(), ..details }),
            ("{email}", Details { email: some("ann@example.com"), ..without() }),
            ("{points} {none}", Details { custom: [points()].into(), ..without() }),
        ] {
            let narrow = ContactFields::named_in(text).of(&whole);
            assert_eq!(narrow, Contact { details: left, ..whole.clone() }, "{text}");
            let template = Template::parse(text, |name| ["points", "town"].contains(&name));
            assert_eq!(template.render(&narrow, 100), template.render(&whole, 100));
        }
    }
}
