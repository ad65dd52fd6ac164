//! Contacts in requests and answers.

use std::borrow::Cow;

use poem_openapi::Object;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::{Value, json};
use sms_core::contact::custom::{CustomInput, CustomPatch, MAX_FIELDS, MAX_VALUE};
use sms_core::contact::input::{MAX_EMAIL, MAX_NAME, MAX_NOTES};
use sms_core::contact::{Contact, ContactInput, ContactPatch, CustomFields, CustomValue, Details};
use sms_core::ids::ListId;

use crate::request_body;
use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::fields::json_object;
use crate::web::fields::rule::{Rule, inline};
use crate::web::json::Path;
use crate::web::moment::Moment;

/// The custom fields that a contact has.
#[derive(Debug)]
pub(crate) struct CustomShown(CustomFields);

impl Type for CustomShown {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "custom_fields".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Reference(CUSTOM_FIELDS.to_owned())
    }

    fn register(registry: &mut Registry) {
        let value = ("CustomValue", custom_value(custom_text()));
        custom_schema(registry, CUSTOM_FIELDS, "Custom fields, by name.", value);
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

/// Never used: a rule reads bodies. The framework requires this of every field of an object.
impl ParseFromJSON for CustomShown {
    fn parse_from_json(_value: Option<Value>) -> ParseResult<Self> {
        Err(ParseError::custom("custom fields are read by their rule"))
    }
}

impl ToJSON for CustomShown {
    fn to_json(&self) -> Option<Value> {
        serde_json::to_value(&self.0).ok()
    }
}

/// Registers a schema of custom fields and one of their values, and refers to the former.
fn custom_schema(
    registry: &mut Registry,
    name: &'static str,
    description: &'static str,
    (value_name, value): (&'static str, MetaSchema),
) -> MetaSchemaRef {
    registry.create_schema::<CustomShown, _>(value_name.to_owned(), |_| value);
    registry.create_schema::<CustomShown, _>(name.to_owned(), |_| MetaSchema {
        description: Some(description),
        additional_properties: Some(Box::new(MetaSchemaRef::Reference(value_name.to_owned()))),
        max_properties: Some(MAX_FIELDS),
        ..MetaSchema::new("object")
    });
    MetaSchemaRef::Reference(name.to_owned())
}

/// A string, which `text` describes further, a number or a boolean.
fn custom_value(text: MetaSchema) -> MetaSchema {
    let others = ["number", "boolean"].map(|kind| inline(MetaSchema::new(kind)));
    let description = Some("The value of a custom field.");
    let any_of = std::iter::once(inline(text)).chain(others).collect();
    MetaSchema { any_of, description, ..MetaSchema::ANY }
}

fn custom_text() -> MetaSchema {
    MetaSchema { max_length: Some(MAX_VALUE), ..MetaSchema::new("string") }
}

/// The name of the schema of the fields that a contact has.
const CUSTOM_FIELDS: &str = "CustomFields";

/// Reads custom fields. The domain decides which names are valid and how many a contact may have.
#[derive(Debug, Clone, Copy)]
struct CustomRule;

impl Rule for CustomRule {
    type Value = CustomInput;

    fn read(&self, value: Value, path: &Path<'_>, errors: &mut FieldErrors) -> Option<CustomInput> {
        let object = json_object().read(value, path, errors)?;
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
        (custom.len() == count).then_some(custom)
    }

    fn stand_in(&self) -> CustomInput {
        CustomInput::new()
    }

    /// Null and a blank string count as absent.
    fn schema(&self, registry: &mut Registry) -> MetaSchemaRef {
        let text = MetaSchema { nullable: true, ..custom_text() };
        let value = ("CustomInputValue", custom_value(text));
        let description = "Custom fields, by name. Null and a blank string remove a field.";
        custom_schema(registry, "CustomFieldsInput", description, value)
    }
}

request_body! {
    /// A contact. A blank string counts as absent.
    pub(crate) struct ContactBody as "ContactInput" {
        /// A UK mobile number in any common format, unique among your contacts.
        required phone: String = text(), example "07700 900123";
        /// The first name: `{first_name}` in messages.
        optional first_name: String = text().documented_max(MAX_NAME), example "Sam";
        /// The last name: `{last_name}` in messages.
        optional last_name: String = text().documented_max(MAX_NAME);
        /// The email address: `{email}` in messages.
        optional email: String = text().documented_max(MAX_EMAIL), example "sam@example.com";
        /// Your notes.
        optional notes: String = text().documented_max(MAX_NOTES);
        /// Your custom fields, up to 50. Their names are merge fields in messages: 1 to 40 of
        /// `a-z`, `0-9` and `_`, starting with a letter.
        optional custom: CustomInput = CustomRule, example json!({ "points": 120 });
    }
}

impl From<ContactBody> for ContactInput {
    fn from(body: ContactBody) -> Self {
        let ContactBody { phone, first_name, last_name, email, notes, custom } = body;
        let mut input = Self::new(phone).custom(custom.unwrap_or_default());
        (input.first_name, input.last_name) = (first_name, last_name);
        (input.email, input.notes) = (email, notes);
        input
    }
}

request_body! {
    /// Changes to a contact. Absent fields stay as they are.
    pub(crate) struct ContactPatchBody as "ContactPatch" {
        /// A new number, unique among your contacts.
        given phone: String = text();
        /// A new first name; null clears it.
        patch first_name: String = text().documented_max(MAX_NAME);
        /// A new last name; null clears it.
        patch last_name: String = text().documented_max(MAX_NAME);
        /// A new email address; null clears it.
        patch email: String = text().documented_max(MAX_EMAIL);
        /// New notes; null clears them.
        patch notes: String = text().documented_max(MAX_NOTES);
        /// Custom fields to set, or to remove if null; other fields stay. Null instead of the
        /// object removes all fields.
        patch custom: CustomInput = CustomRule;
    }
}

impl From<ContactPatchBody> for ContactPatch {
    fn from(body: ContactPatchBody) -> Self {
        let ContactPatchBody { phone, first_name, last_name, email, notes, custom } = body;
        let mut patch = Self::default().custom(match custom {
            None => CustomPatch::Keep,
            Some(None) => CustomPatch::Clear,
            Some(Some(fields)) => CustomPatch::Merge(fields),
        });
        (patch.phone, patch.email, patch.notes) = (phone, email, notes);
        (patch.first_name, patch.last_name) = (first_name, last_name);
        patch
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
    /// The first name; null if there is none.
    first_name: Option<String>,
    /// The last name; null if there is none.
    last_name: Option<String>,
    /// The email address; null if there is none.
    email: Option<String>,
    /// Your own notes; null if there are none.
    notes: Option<String>,
    /// Your custom fields.
    custom: CustomShown,
    /// Whether the number has opted out. Such a number gets no messages.
    opted_out: bool,
    /// When it was created.
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
