//! Contacts as the API takes and shows them.

use std::borrow::Cow;

use poem_openapi::Object;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;
use sms_core::contact::custom::{CustomInput, CustomPatch, MAX_FIELDS, MAX_VALUE};
use sms_core::contact::{Contact, ContactInput, ContactPatch, CustomFields, CustomValue, Details};
use sms_core::ids::ListId;

use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::fields::{Fields, FromFields, Given, Patch, Rule, rule};
use crate::web::json::Path;
use crate::web::moment::Moment;

/// An object of custom fields: its values are strings, numbers or booleans, and null where it is
/// given and `nullable`.
macro_rules! custom_object {
    ($(#[$doc:meta])* $name:ident($inner:ty), $text:literal, nullable: $nullable:literal) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name(pub(crate) $inner);

        impl Type for $name {
            const IS_REQUIRED: bool = true;

            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> Cow<'static, str> {
                $text.into()
            }

            fn schema_ref() -> MetaSchemaRef {
                let inline = |schema| MetaSchemaRef::Inline(Box::new(schema));
                let text = MetaSchema { max_length: Some(MAX_VALUE), ..MetaSchema::new("string") };
                let others = ["number", "boolean"].map(|kind| inline(MetaSchema::new(kind)));
                let value = MetaSchema {
                    one_of: std::iter::once(inline(text)).chain(others).collect(),
                    nullable: $nullable,
                    ..MetaSchema::ANY
                };
                inline(MetaSchema {
                    additional_properties: Some(Box::new(inline(value))),
                    max_properties: Some(MAX_FIELDS),
                    ..MetaSchema::new("object")
                })
            }

            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }

            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }

        /// Bodies are read by a rule; the framework asks for it of whatever stands in an object.
        impl ParseFromJSON for $name {
            fn parse_from_json(_value: Option<Value>) -> ParseResult<Self> {
                Err(ParseError::custom("custom fields are read by their rule"))
            }
        }

        impl ToJSON for $name {
            fn to_json(&self) -> Option<Value> {
                serde_json::to_value(&self.0).ok()
            }
        }
    };
}

custom_object! {
    /// The custom fields that a contact has.
    CustomShown(CustomFields), "custom_fields", nullable: false
}
custom_object! {
    /// The custom fields that a contact is given; null, like a blank text, is no value.
    CustomGiven(CustomInput), "custom_fields_given", nullable: true
}

/// Reads custom fields. Which names and how many a contact may have is for the domain to say.
#[derive(Debug, Clone, Copy)]
struct CustomRule;

impl Rule for CustomRule {
    type Value = CustomGiven;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<CustomGiven> {
        let object = rule::json_object().read(value, path, errors)?;
        let (count, mut custom) = (object.len(), CustomInput::new());
        for (name, value) in object {
            let value = match value {
                Value::Null => None,
                Value::String(text) => Some(CustomValue::Text(text)),
                Value::Number(number) => Some(CustomValue::Number(number)),
                Value::Bool(flag) => Some(CustomValue::Boolean(flag)),
                Value::Array(_) | Value::Object(_) => {
                    let message = "the value must be a string, a number, a boolean or null";
                    let field = path.key(&name).to_string();
                    errors.push(FieldError::new(field, FieldCode::WrongType, message));
                    continue;
                }
            };
            custom.insert(name, value);
        }
        (custom.len() == count).then_some(CustomGiven(custom))
    }

    fn stand_in(&self) -> CustomGiven {
        CustomGiven::default()
    }
}

/// A contact. A blank text is no value.
#[derive(Debug, Object)]
#[oai(rename = "ContactInput", example)]
pub(crate) struct ContactBody {
    /// A UK mobile number in any common format; no other contact's.
    phone: String,
    /// The first name: `{first_name}` in texts.
    #[oai(validator(max_length = 100))]
    first_name: Option<String>,
    /// The last name: `{last_name}` in texts.
    #[oai(validator(max_length = 100))]
    last_name: Option<String>,
    /// The email address: `{email}` in texts.
    #[oai(validator(max_length = 254))]
    email: Option<String>,
    /// Notes of your own.
    #[oai(validator(max_length = 2000))]
    notes: Option<String>,
    /// Fields of your own, up to 50. Their names are merge fields in texts: 1 to 40 of `a-z`, `0-9`
    /// and `_`, beginning with a letter.
    custom: Option<CustomGiven>,
}

impl poem_openapi::types::Example for ContactBody {
    fn example() -> Self {
        let points = ("points".to_owned(), Some(CustomValue::Number(120.into())));
        Self {
            phone: "07700 900123".to_owned(),
            first_name: Some("Sam".to_owned()),
            last_name: None,
            email: Some("sam@example.com".to_owned()),
            notes: None,
            custom: Some(CustomGiven([points].into())),
        }
    }
}

impl FromFields for ContactBody {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            phone: fields.required("phone", rule::text()),
            first_name: fields.optional("first_name", rule::text()),
            last_name: fields.optional("last_name", rule::text()),
            email: fields.optional("email", rule::text()),
            notes: fields.optional("notes", rule::text()),
            custom: fields.optional("custom", CustomRule),
        }
    }
}

impl From<ContactBody> for ContactInput {
    fn from(body: ContactBody) -> Self {
        let ContactBody { phone, first_name, last_name, email, notes, custom } = body;
        let custom = custom.unwrap_or_default().0;
        Self { phone, first_name, last_name, email, notes, custom }
    }
}

/// Changes to a contact; what is absent stays.
#[derive(Debug, Object)]
#[oai(rename = "ContactPatch")]
pub(crate) struct ContactPatchBody {
    /// Another number; no other contact's.
    phone: Given<String>,
    /// Another first name; null clears it.
    #[oai(validator(max_length = 100))]
    first_name: Patch<String>,
    /// Another last name; null clears it.
    #[oai(validator(max_length = 100))]
    last_name: Patch<String>,
    /// Another email address; null clears it.
    #[oai(validator(max_length = 254))]
    email: Patch<String>,
    /// Other notes; null clears them.
    #[oai(validator(max_length = 2000))]
    notes: Patch<String>,
    /// Custom fields: those named are set, or removed where they are null; the others stay. Null
    /// instead of the object removes all.
    custom: Patch<CustomGiven>,
}

impl FromFields for ContactPatchBody {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            phone: fields.given("phone", rule::text()),
            first_name: fields.patch("first_name", rule::text()),
            last_name: fields.patch("last_name", rule::text()),
            email: fields.patch("email", rule::text()),
            notes: fields.patch("notes", rule::text()),
            custom: fields.patch("custom", CustomRule),
        }
    }
}

impl From<ContactPatchBody> for ContactPatch {
    fn from(body: ContactPatchBody) -> Self {
        let ContactPatchBody { phone, first_name, last_name, email, notes, custom } = body;
        Self {
            phone: phone.0,
            first_name: given(first_name),
            last_name: given(last_name),
            email: given(email),
            notes: given(notes),
            custom: match custom {
                Patch::Undefined => CustomPatch::Keep,
                Patch::Null => CustomPatch::Clear,
                Patch::Value(CustomGiven(fields)) => CustomPatch::Merge(fields),
            },
        }
    }
}

/// `None` stays, `Some(None)` clears.
#[expect(clippy::option_option, reason = "the core's form of a change")]
pub(super) fn given<T>(patch: Patch<T>) -> Option<Option<T>> {
    match patch {
        Patch::Undefined => None,
        Patch::Null => Some(None),
        Patch::Value(value) => Some(Some(value)),
    }
}

/// A saved contact.
#[derive(Debug, Object)]
#[oai(rename = "Contact")]
pub(crate) struct ContactShape {
    /// `con_` and 26 characters.
    id: String,
    /// The number, in E.164.
    phone: String,
    /// The first name.
    first_name: Option<String>,
    /// The last name.
    last_name: Option<String>,
    /// The email address.
    email: Option<String>,
    /// Notes of your own.
    notes: Option<String>,
    /// Fields of your own.
    custom: CustomShown,
    /// Whether the number has opted out: it gets no texts.
    opted_out: bool,
    /// When it was made.
    created_at: Moment,
    /// When it last changed.
    updated_at: Moment,
}

impl From<Contact> for ContactShape {
    fn from(contact: Contact) -> Self {
        let Contact { id, account: _, phone, details, opted_out, created_at, updated_at } = contact;
        let Details { first_name, last_name, email, notes, custom } = details;
        Self {
            id: id.to_string(),
            phone: phone.to_string(),
            first_name,
            last_name,
            email,
            notes,
            custom: CustomShown(custom),
            opted_out,
            created_at: created_at.into(),
            updated_at: updated_at.into(),
        }
    }
}

/// A saved contact with its lists.
#[derive(Debug, Object)]
pub(crate) struct ContactWithLists {
    #[oai(flatten)]
    contact: ContactShape,
    /// The lists that it is on, newest first.
    list_ids: Vec<String>,
}

impl From<(Contact, Vec<ListId>)> for ContactWithLists {
    fn from((contact, lists): (Contact, Vec<ListId>)) -> Self {
        let list_ids = lists.iter().map(ToString::to_string).collect();
        Self { contact: contact.into(), list_ids }
    }
}
