//! The form of a message, and the parts of its page that a preview puts in their places.

use maud::{Markup, html};
use sms_core::account::Mode;
use sms_core::time::Timestamp;

use super::draft::{Draft, Step};
use super::price::price_card;
use super::recipients::{chips, found, recipients};
use super::seen::Seen;
use super::words::send_words;
use crate::account::choices::Choices;
use crate::form::FieldTroubles;
use crate::format::coming_time;
use crate::part::button::{Kind, link};
use crate::part::counter::{counter, counter_regions};
use crate::part::field::Field;
use crate::part::region::region;

/// What is written, and what the service says of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    /// The message as the fields hold it.
    pub draft: &'a Draft,
    /// What the service says of it.
    pub seen: &'a Seen,
    /// Where programs reach the service.
    pub public_url: &'a str,
    /// The kind of key that the person signed in with.
    pub mode: Mode,
    /// The time of showing.
    pub now: Timestamp,
}

/// What else a form is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'a> {
    /// What can be chosen.
    pub choices: &'a Choices,
    /// What is said above the fields.
    pub said: &'a Markup,
    /// What is wrong with which field.
    pub troubles: &'a FieldTroubles,
    /// What is searched for among the contacts.
    pub search: &'a str,
    /// The token of the session.
    pub csrf: &'a str,
    /// The name under which a browser keeps what is typed.
    pub draft_name: &'a str,
    /// Whether the fields have what a draft in the browser must not replace.
    pub given: Given,
}

/// Where the text in the fields comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// Nothing is in them: the browser may put a draft there.
    Nothing,
    /// The form or the address had it.
    ByServer,
}

impl Written<'_> {
    /// The form, and the price beside it.
    pub(super) fn view(&self, form: &Form<'_>) -> Markup {
        let Self { draft, seen, .. } = *self;
        let Form { choices, said, troubles, search, csrf, draft_name, given } = *form;
        html! {
            div.two {
                form.stack.stack-loose #compose method="post" action="/console/compose" novalidate
                    aria-label="Message" autocomplete="off" data-draft=(draft_name)
                    data-draft-given[given == Given::ByServer]
                    data-preview="/console/compose/preview" data-preview-into="counter-price" {
                    input type="hidden" name="csrf" value=(csrf);
                    input type="hidden" name="key" value=(draft.key);
                    (said)
                    div.section {
                        h2 { "To" }
                        (recipients(draft, seen, choices, troubles, search))
                    }
                    div.section { h2 { "Message" } (self.message(choices, troubles)) }
                    div.section { h2 { "How and when" } (self.how_and_when(choices, troubles)) }
                    (self.buttons())
                }
                div.two-side { div.stack #compose-side { (self.side()) } }
            }
        }
    }

    /// The parts of the page that a preview puts in their places. A field that the person types
    /// into is there only if the step changes it.
    pub(super) fn regions(&self, step: Step) -> Markup {
        let Self { draft, seen, .. } = *self;
        html! {
            @if matches!(step, Step::UseTemplate(_) | Step::UsePlain) {
                (region("compose-body", &body_field(draft, &FieldTroubles::none())))
            }
            (region("compose-found", &found(seen.found.as_deref())))
            (region("compose-contacts", &chips(&seen.contacts)))
            (counter_regions(&draft.body, seen.price(self.mode)))
            (region("compose-when", &self.when()))
            (region("compose-send", &self.send_label()))
            (region("compose-side", &self.side()))
        }
    }

    fn message(&self, choices: &Choices, troubles: &FieldTroubles) -> Markup {
        let Self { draft, seen, .. } = *self;
        html! {
            div.with-button data-presses="use-template" {
                (Field::select("template_id", "Start from a template", choices.template_options()))
                button.button.button-plain.scriptless #use-template type="submit" name="action"
                    value="template" data-quiet data-focuses="body" { "Use it" }
            }
            div #compose-body { (body_field(draft, troubles)) }
            (counter(&draft.body, seen.price(self.mode)))
            (choices.merge_buttons())
        }
    }

    fn how_and_when(&self, choices: &Choices, troubles: &FieldTroubles) -> Markup {
        let draft = self.draft;
        html! {
            (Field::select("sender", "Send from", choices.sender_options())
                .value(&*draft.sender).hint("People cannot reply to a sender name.")
                .trouble(troubles.get("sender")))
            (Field::check("append_opt_out", "Add the line that says how to opt out")
                .hint("Marketing needs it.").ticked_if(draft.append_opt_out.is_yes()))
            (Field::check("track_links", "Shorten links and count who opens them")
                .ticked_if(draft.track_links.is_yes()))
            div.stack-tight {
                (Field::moment("schedule_at", "Send at").optional().value(&*draft.when)
                    .hint("London time. Leave it empty to send now.")
                    .trouble(troubles.get("schedule_at")))
                p.small.faint #compose-when role="status" { (self.when()) }
            }
        }
    }

    fn buttons(&self) -> Markup {
        html! {
            div.actions {
                button.button.button-main type="submit" name="action" value="check" {
                    span #compose-send { (self.send_label()) }
                }
                button.button.button-plain.scriptless type="submit" name="action" value="preview" {
                    "Preview"
                }
                (link("Clear", "/console/compose?clear=yes").kind(Kind::Quiet))
            }
        }
    }

    fn side(&self) -> Markup {
        let quote = self.seen.price(self.mode).quote();
        html! {
            (price_card(self.draft, quote, self.mode, self.public_url))
            (self.seen.readers.view())
        }
    }

    fn send_label(&self) -> Markup {
        html! { (send_words(self.draft, self.seen.price(self.mode).quote(), self.mode)) }
    }

    fn when(&self) -> Markup {
        html! {
            @match self.draft.moment() {
                Ok(None) => "Goes now.",
                Ok(Some(at)) => { "Goes at " (coming_time(at, self.now)) ", London time." }
                Err(_) => "This is not a date and time.",
            }
        }
    }
}

fn body_field(draft: &Draft, troubles: &FieldTroubles) -> Markup {
    let field = Field::text_area("body", "Message", 5).value(&*draft.body);
    let field = field.trouble(troubles.get("body"));
    let is_first = troubles.get("body").is_some() && troubles.get("to").is_none();
    html! { (if is_first { field.focused() } else { field }) }
}
