//! The form of a list: its name, and what it is for.

use maud::{Markup, html};
use sms_core::list::{ContactList, ListChange, ListInput, MAX_DESCRIPTION, MAX_NAME};

use crate::form::{FieldTroubles, Form};
use crate::meanwhile::{Edited, Values};
use crate::part::field::Field;

/// What the form of a list holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListForm {
    name: String,
    description: String,
}

impl Edited for ListForm {
    fn values(&self) -> Values {
        let Self { name, description } = self;
        Values::default().with("name", &**name).with("description", &**description)
    }

    fn sent(form: &Form) -> Self {
        let text = |name| form.text(name).to_owned();
        Self { name: text("name"), description: text("description") }
    }
}

impl ListForm {
    /// The fields that say themselves what is wrong with them.
    pub(crate) const SHOWN: [&str; 2] = ["name", "description"];

    /// The form of a list as it is.
    pub(crate) fn of(list: &ContactList) -> Self {
        let description = list.description.clone().unwrap_or_default();
        Self { name: list.name.clone(), description }
    }

    /// The list to create. An empty description is left out.
    pub(crate) fn input(self) -> ListInput {
        let Self { name, description } = self;
        let input = ListInput::new(name);
        if description.is_empty() { input } else { input.description(description) }
    }

    /// The change of a list.
    pub(crate) fn change(self) -> ListChange {
        let Self { name, description } = self;
        let description = Some(description).filter(|text| !text.is_empty());
        ListChange { name: Some(name), description: Some(description), ..ListChange::default() }
    }

    /// The fields of the form, with what is wrong with them.
    pub(crate) fn fields(&self, troubles: &FieldTroubles) -> Markup {
        let name = Field::text("name", "Name").required().longest(MAX_NAME).value(&self.name);
        let about = Field::text("description", "About").optional().longest(MAX_DESCRIPTION);
        html! {
            (name.trouble(troubles.get("name")))
            (about.value(&self.description).trouble(troubles.get("description")))
        }
    }
}
