//! What to do first with an account that has no messages yet.

use futures_util::future::try_join;
use maud::{Markup, html};
use sms_core::Error;
use sms_core::contact::ContactFilter;
use sms_core::message::MessageFilter;
use sms_core::page::{Limit, PageRequest};
use sms_core::service::AccountHandle;

use crate::part::badge::{Tone, badge};
use crate::part::button::{Kind, link};

/// What an account without messages has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstSteps {
    people: Done,
    templates: Done,
    sender_names: Done,
    endpoints: Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Yes,
    NotYet,
}

impl Done {
    fn if_any<T>(found: &[T]) -> Self {
        if found.is_empty() { Self::NotYet } else { Self::Yes }
    }
}

impl FirstSteps {
    /// Looks at what the account has; `None` if it has sent or received anything.
    pub(super) async fn of(handle: &AccountHandle) -> Result<Option<Self>, Error> {
        let one = PageRequest::default().limit(Limit::ONE);
        if !handle.message_list(&MessageFilter::default(), one).await?.items.is_empty() {
            return Ok(None);
        }
        let no_filter = ContactFilter::default();
        let (people, templates) =
            try_join(handle.contact_list(&no_filter, one), handle.template_list(None, one)).await?;
        let (names, endpoints) = try_join(handle.sender_name_list(), handle.webhook_list()).await?;
        Ok(Some(Self {
            people: Done::if_any(&people.items),
            templates: Done::if_any(&templates.items),
            sender_names: Done::if_any(&names),
            endpoints: Done::if_any(&endpoints),
        }))
    }

    /// The steps in the order in which they help, each with its page.
    pub(super) fn view(self) -> Markup {
        let Self { people, templates, sender_names, endpoints } = self;
        let steps = [
            (
                Done::NotYet,
                "Send a message to your own phone",
                "It shows what people will read, and that everything works.",
                "Write it",
                "/console/compose",
            ),
            (
                people,
                "Bring the people whom you text",
                "Import a file, or add them one by one. Lists group them.",
                "Import contacts",
                "/console/contacts/import",
            ),
            (
                templates,
                "Save a text that you send often",
                "“Hi {first_name|there}, your table is ready.”",
                "Add a template",
                "/console/templates/new",
            ),
            (
                sender_names,
                "Ask for a sender name",
                "If people need not reply: they see your name in place of a number.",
                "Ask for a name",
                "/console/senders/new",
            ),
            (
                endpoints,
                "Connect a program",
                "Requests for the API, and webhooks for what happens.",
                "See how",
                "/console/developers",
            ),
        ];
        html! {
            section.card {
                h2 { "First steps" }
                ol.steps {
                    @for (done, title, about, action, to) in steps {
                        li.step {
                            div {
                                strong { (title) }
                                @if done == Done::Yes { " " (badge("Done", Tone::Good)) }
                                p.small.faint { (about) }
                            }
                            @if done == Done::NotYet {
                                (link(action, to).small().kind(Kind::Plain))
                            }
                        }
                    }
                }
            }
        }
    }
}
