//! What the service knows about a draft, for a page or a preview: contacts, price, readers.

use sms_core::Error;
use sms_core::account::Mode;
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::{Contact, ContactFilter};
use sms_core::ids::ContactId;
use sms_core::page::{Limit, PageRequest};
use sms_core::sending::Quote;
use sms_core::service::AccountHandle;

use super::draft::Draft;
use super::readers::Readers;
use crate::form::Form;
use crate::part::price::Price;

/// How many contacts a search shows.
const MOST_FOUND: u32 = 8;

/// What the service says about a draft.
#[derive(Debug)]
pub(super) struct Seen {
    /// The chosen contacts. Those that are gone are left out.
    pub contacts: Vec<Contact>,
    /// Who was found; `None` without a search.
    pub found: Option<Vec<Contact>>,
    /// Who can read it.
    pub readers: Readers,
    quote: Option<Result<Quote, Error>>,
}

impl Seen {
    /// Asks the service about a draft. `form` says what else is on screen.
    pub(super) async fn of(
        handle: &AccountHandle,
        draft: &mut Draft,
        form: &Form,
    ) -> Result<Self, Error> {
        let contacts = chosen(handle, &draft.contacts).await?;
        draft.contacts = contacts.iter().map(|contact| contact.id).collect();
        let found = match form.optional("contact_search") {
            Some(words) => Some(find(handle, words, &draft.contacts).await?),
            None => None,
        };
        let reader = form.text("reader").parse().ok();
        let readers = Readers::read(handle, draft, &contacts, reader).await?;
        Ok(Self { contacts, found, quote: quoted(handle, draft).await?, readers })
    }

    /// The price for a session of this mode.
    pub(super) fn price(&self, mode: Mode) -> Price<'_> {
        Price::of(self.quote.as_ref(), mode)
    }
}

/// The price of a draft, or why it has none; `None` if something is missing.
async fn quoted(
    handle: &AccountHandle,
    draft: &Draft,
) -> Result<Option<Result<Quote, Error>>, Error> {
    if !draft.is_ready() {
        return Ok(None);
    }
    let quote = match draft.request() {
        Ok(request) => handle.quote(request).await,
        Err(error) => Err(error),
    };
    match quote {
        Err(Error::Store(error)) => Err(error.into()),
        quote => Ok(Some(quote)),
    }
}

async fn chosen(handle: &AccountHandle, ids: &[ContactId]) -> Result<Vec<Contact>, Error> {
    let mut contacts = Vec::with_capacity(ids.len());
    for id in ids {
        match handle.contact_get(*id).await {
            Ok(found) => contacts.push(found.contact),
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(contacts)
}

async fn find(
    handle: &AccountHandle,
    words: &str,
    chosen: &[ContactId],
) -> Result<Vec<Contact>, Error> {
    let filter = ContactFilter { list_id: None, search: ContactSearch::parse(words) };
    let page = PageRequest { limit: Limit::new(MOST_FOUND).unwrap_or_default(), after: None };
    let mut found = handle.contact_list(&filter, page).await?.items;
    found.retain(|contact| !chosen.contains(&contact.id));
    Ok(found)
}
