//! The people whose text can be read before it is sent.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::contact::Contact;
use sms_core::ids::ListId;
use sms_core::page::{Limit, PageRequest};
use sms_core::phone::E164;
use sms_core::service::AccountHandle;

use super::draft::Draft;
use crate::format::number;
use crate::part::notice::in_words;

/// How many people of a list are offered.
const MOST: u32 = 50;

/// The people whose text can be read, and the text of the one that is chosen.
#[derive(Debug)]
pub(super) struct Readers {
    all: Vec<(E164, String)>,
    chosen: Option<E164>,
    text: Option<String>,
}

impl Readers {
    /// Reads the first people of the list, and what the chosen one of all would read.
    pub(super) async fn read(
        handle: &AccountHandle,
        draft: &Draft,
        contacts: &[Contact],
        chosen: Option<E164>,
    ) -> Result<Self, Error> {
        let mut all: Vec<(E164, String)> = contacts.iter().map(reader).collect();
        if let Some(list) = draft.list {
            all.extend(listed(handle, list).await?.iter().map(reader));
        }
        let chosen = chosen.filter(|chosen| all.iter().any(|(number, _)| number == chosen));
        let text = match chosen.filter(|_| draft.is_ready()) {
            Some(reader) => Some(text_for(handle, draft, reader).await?),
            None => None,
        };
        Ok(Self { all, chosen, text })
    }

    /// The card that shows it; empty if there is no recipient.
    pub(super) fn view(&self) -> Markup {
        let Self { all, chosen, text } = self;
        if all.is_empty() {
            return html! {};
        }
        html! {
            details.card open[chosen.is_some()] {
                summary { "Read it as somebody else" }
                div.stack-tight {
                    div.field {
                        label for="reader" { "Person" }
                        select.input #reader name="reader" form="compose" {
                            option value="" { "Choose somebody" }
                            @for (phone, name) in all {
                                option value=(phone) selected[*chosen == Some(*phone)] {
                                    (name) ", " (number(*phone))
                                }
                            }
                        }
                    }
                    div role="status" {
                        @if let Some(text) = text { div.preview { (text) } }
                    }
                }
            }
        }
    }
}

fn reader(contact: &Contact) -> (E164, String) {
    (contact.phone, contact.details.full_name().unwrap_or_else(|| "No name".to_owned()))
}

/// The first people of a list; none if the list is gone.
async fn listed(handle: &AccountHandle, list: ListId) -> Result<Vec<Contact>, Error> {
    let page = PageRequest { limit: Limit::new(MOST).unwrap_or_default(), after: None };
    match handle.list_contacts(list, page).await {
        Ok(page) => Ok(page.items),
        Err(Error::NotFound(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn text_for(handle: &AccountHandle, draft: &Draft, reader: E164) -> Result<String, Error> {
    match handle.quote(draft.for_reader(reader)).await {
        Ok(quote) => {
            Ok(quote.preview.unwrap_or_else(|| "This person would not get it.".to_owned()))
        }
        Err(Error::Store(error)) => Err(error.into()),
        Err(refused) => Ok(in_words(&refused)),
    }
}
