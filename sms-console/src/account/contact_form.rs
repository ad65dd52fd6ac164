//! The form of a contact, with its custom fields.

use std::collections::BTreeMap;

use maud::{Markup, html};
use sms_core::Error;
use sms_core::contact::custom::CustomPatch;
use sms_core::contact::{Contact, ContactInput, ContactPatch, CustomFields, CustomValue, Details};
use sms_core::service::AccountHandle;

use crate::form::{FieldTroubles, Form, sentence};
use crate::format::number;
use crate::meanwhile::{Edited, Values};
use crate::part::field::Field;
use crate::part::form::problems_of;
use crate::part::notice::{Notice, notice};
use crate::reply::Trouble;

/// How many fields that only other contacts have are offered.
const MOST_OFFERED: usize = 20;
/// How many new fields can be named at once.
const NEW_FIELDS: [&str; 3] = ["1", "2", "3"];

/// The fields that say themselves what is wrong with them.
const SHOWN: [&str; 6] = ["phone", "first_name", "last_name", "email", "notes", "custom"];

/// What the form of a contact holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContactForm {
    phone: String,
    first_name: String,
    last_name: String,
    email: String,
    notes: String,
    custom: BTreeMap<String, String>,
    new_custom: Vec<(String, String)>,
}

impl Edited for ContactForm {
    /// A new field counts as one of those that the contact has.
    fn values(&self) -> Values {
        let Self { phone, first_name, last_name, email, notes, custom: _, new_custom: _ } = self;
        let values = Values::default()
            .with("phone", &**phone)
            .with("first_name", &**first_name)
            .with("last_name", &**last_name)
            .with("email", &**email)
            .with("notes", &**notes);
        let custom = self.all_custom().into_iter();
        custom.fold(values, |values, (name, text)| values.with(format!("custom.{name}"), text))
    }

    fn sent(form: &Form) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let new = |place: &&str| {
            let name = form.text(&format!("custom_name_{place}"));
            owned((name, form.text(&format!("custom_value_{place}"))))
        };
        Self {
            phone: form.text("phone").to_owned(),
            first_name: form.text("first_name").to_owned(),
            last_name: form.text("last_name").to_owned(),
            email: form.text("email").to_owned(),
            notes: form.body("notes").trim().to_owned(),
            custom: form.beginning_with("custom.").map(owned).collect(),
            new_custom: NEW_FIELDS.iter().map(new).collect(),
        }
    }
}

impl ContactForm {
    /// An empty form, except for the number.
    pub(crate) fn empty(phone: &str) -> Self {
        Self { phone: crate::format::phone(phone), ..Self::default() }
    }

    /// The form of a contact as it is.
    pub(crate) fn of(contact: &Contact) -> Self {
        let Details { first_name, last_name, email, notes, custom } = &contact.details;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let value = |(name, value): (&String, &CustomValue)| (name.clone(), value.text().into());
        Self {
            phone: number(contact.phone),
            first_name: text(first_name),
            last_name: text(last_name),
            email: text(email),
            notes: text(notes),
            custom: custom.iter().map(value).collect(),
            new_custom: Vec::new(),
        }
    }

    /// Offers fields that other contacts of the account have.
    pub(crate) async fn with_offers(mut self, account: &AccountHandle) -> Result<Self, Trouble> {
        let names = account.contact_fields().await?;
        for name in names.into_iter().take(MOST_OFFERED) {
            self.custom.entry(name).or_default();
        }
        Ok(self)
    }

    /// The contact to create. Empty fields are left out.
    pub(crate) fn input(self) -> ContactInput {
        let custom = self.all_custom().into_iter().filter(|(_, text)| !text.is_empty());
        let custom = custom.map(|(name, text)| (name, Some(CustomValue::Text(text)))).collect();
        let mut input = ContactInput::new(self.phone);
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        input.first_name = given(self.first_name);
        input.last_name = given(self.last_name);
        input.email = given(self.email);
        input.notes = given(self.notes);
        input.custom = custom;
        input
    }

    /// The change of a contact that has these custom fields. A field whose text is as before stays
    /// what it is, such as a number.
    pub(crate) fn patch(self, before: &CustomFields) -> ContactPatch {
        let old = |name: &String| before.get(name).map(CustomValue::text).unwrap_or_default();
        let changed = self.all_custom().into_iter().filter(|(name, text)| old(name) != *text);
        let custom = changed.map(|(name, text)| (name, Some(CustomValue::Text(text)))).collect();
        ContactPatch::default()
            .phone(self.phone)
            .first_name(Some(&self.first_name))
            .last_name(Some(&self.last_name))
            .email(Some(&self.email))
            .notes(Some(&self.notes))
            .custom(CustomPatch::Merge(custom))
    }

    /// The fields with their values, those that were just named among them.
    fn all_custom(&self) -> BTreeMap<String, String> {
        let new = self.new_custom.iter().filter(|(name, _)| !name.is_empty()).cloned();
        self.custom.clone().into_iter().chain(new).collect()
    }

    /// What is wrong with it, above the form and beside its fields. The contact that has the number
    /// already can be opened.
    pub(crate) fn problems(error: &Error) -> (Markup, FieldTroubles) {
        let Error::ContactExists(id) = error else { return problems_of(error, &SHOWN) };
        let content = html! {
            p { (sentence(&error.to_string())) }
            p { a href={ "/console/contacts/" (id) } { "Open that contact" } }
        };
        (notice(Notice::Bad, &content), FieldTroubles::none())
    }

    /// The fields of the form, with what is wrong with them.
    pub(crate) fn fields<'a>(&'a self, troubles: &'a FieldTroubles) -> Markup {
        let field = |field: Field<'a>, name: &str| field.trouble(troubles.get(name));
        let first = Field::text("first_name", "First name").optional().value(&self.first_name);
        let last = Field::text("last_name", "Last name").optional().value(&self.last_name);
        html! {
            (field(Field::tel("phone", "Mobile number").required().value(&self.phone), "phone"))
            div.form-row {
                (field(first, "first_name"))
                (field(last, "last_name"))
            }
            (field(Field::input("email", "Email", "email").optional().value(&self.email), "email"))
            (self.custom_fields(troubles))
            (field(Field::text_area("notes", "Notes", 2).optional().value(&self.notes), "notes"))
        }
    }

    fn custom_fields(&self, troubles: &FieldTroubles) -> Markup {
        let names: Vec<String> = self.custom.keys().map(|name| format!("custom.{name}")).collect();
        let shown: Vec<&str> = names.iter().map(String::as_str).collect();
        let others = || troubles.besides(&shown).filter(|(field, _)| field.starts_with("custom"));
        let is_open = self.new_custom.iter().any(|(name, _)| !name.is_empty());
        html! {
            fieldset.stack-tight {
                legend.legend { "Custom fields" }
                @for ((name, text), field) in self.custom.iter().zip(&shown) {
                    (Field::text(field, &**name).value(text).trouble(troubles.get(field)))
                }
                details open[is_open] {
                    summary { "Add custom fields" }
                    div.stack-tight {
                        @for (place, number) in NEW_FIELDS.iter().enumerate() {
                            (self.new_field(place, number))
                        }
                        p.small.faint {
                            "A name has small letters, digits and _: it becomes a merge field."
                        }
                    }
                }
                @for (_, words) in others() {
                    p.problem { (words) }
                }
            }
        }
    }

    fn new_field(&self, place: usize, number: &str) -> Markup {
        let empty = (String::new(), String::new());
        let (name, value) = self.new_custom.get(place).unwrap_or(&empty);
        let label = |label: &str| match place {
            0 => label.to_owned(),
            _ => format!("{label} {number}"),
        };
        let name_field = format!("custom_name_{number}");
        let value_field = format!("custom_value_{number}");
        html! {
            div.form-row {
                (Field::text(&name_field, label("Field name")).value(name))
                (Field::text(&value_field, label("Value")).value(value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(body: &str) -> ContactForm {
        ContactForm::sent(&Form::read(body.as_bytes()).unwrap())
    }

    fn custom_of(patch: &ContactPatch) -> Vec<(String, String)> {
        let CustomPatch::Merge(fields) = &patch.custom else { panic!("no change") };
        let text = |value: &Option<CustomValue>| {
            value.as_ref().map_or_else(String::new, |value| value.text().into_owned())
        };
        fields.iter().map(|(name, value)| (name.clone(), text(value))).collect()
    }

    #[test]
    fn a_new_contact_has_the_fields_that_were_filled_in() {
        let input = sent(
            "phone=07700+900123&first_name=+&notes=a%0D%0Ab&custom.van=&custom.table=7\
             &custom_name_2=round&custom_value_2=9&custom_name_3=&custom_value_3=x",
        )
        .input();
        assert_eq!((input.phone.as_str(), input.first_name), ("07700 900123", None));
        assert_eq!(input.notes.as_deref(), Some("a\nb"));
        let names: Vec<&String> = input.custom.keys().collect();
        assert_eq!(names, ["round", "table"]);
    }

    #[test]
    fn an_unchanged_custom_field_keeps_its_type() {
        let before = CustomFields::from([
            ("points".to_owned(), CustomValue::Number(7.into())),
            ("van".to_owned(), CustomValue::Text("green".to_owned())),
            ("gone".to_owned(), CustomValue::Boolean(true)),
        ]);
        let patch =
            sent("custom.points=7&custom.van=blue&custom.gone=&custom.other=").patch(&before);
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(custom_of(&patch), [pair("gone", ""), pair("van", "blue")]);
    }
}
