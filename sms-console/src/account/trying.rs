//! The form that sends a draft to one number. Its handler is in [`super::campaign_try`].

use maud::{Markup, html};
use sms_core::account::Mode;

use crate::form::{FieldTroubles, Form};
use crate::key::new_key;
use crate::part::button::submit;
use crate::part::field::Field;

/// The form that sends a draft to one number.
#[derive(Debug, Clone)]
pub(super) struct Trying {
    key: String,
    phone: String,
    troubles: FieldTroubles,
}

impl Trying {
    /// The form before anybody has typed.
    pub(super) fn fresh() -> Self {
        Self { key: new_key(), phone: String::new(), troubles: FieldTroubles::none() }
    }

    /// The form again, with what is wrong.
    pub(super) fn again(form: &Form, key: String, words: String) -> Self {
        let troubles = FieldTroubles::none().with("to", words);
        Self { key, phone: form.text("to").to_owned(), troubles }
    }

    /// The card with the form, for the draft at this address.
    pub(super) fn card(&self, draft: &str, mode: Mode, csrf: &str) -> Markup {
        let hint = match mode {
            Mode::Live => "It costs as much as one message, and has the fields of this contact.",
            Mode::Test => "With a test key nothing is sent. It has the fields of this contact.",
        };
        let to = Field::tel("to", "Your mobile number").required().hint(hint);
        html! {
            section.card.stack {
                h2 { "Try it first" }
                form.with-button method="post" action={ (draft) "/try" }
                    aria-label="Try it first" {
                    input type="hidden" name="csrf" value=(csrf);
                    input type="hidden" name="key" value=(self.key);
                    (to.value(&*self.phone).trouble(self.troubles.get("to")))
                    (submit("Send to me"))
                }
            }
        }
    }
}
