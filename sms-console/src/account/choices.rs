//! What the writer of a message can choose from: lists, templates, sender names and merge fields.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::ids::ListId;
use sms_core::list::ContactList;
use sms_core::page::{Limit, PageRequest};
use sms_core::sender_name::ReviewStatus;
use sms_core::service::AccountHandle;
use sms_core::template::Template;

use super::list_choice::every_list_and;
use crate::format::counted;

/// How many templates are offered, about.
const MOST: usize = 500;

/// How many merge fields are offered.
const MOST_FIELDS: usize = 20;

/// The merge fields that every contact has.
const BUILT_IN: [&str; 5] = ["first_name", "last_name", "full_name", "phone", "email"];

/// The options of a field: pairs of value and label.
pub(crate) type Options = Vec<(String, String)>;

/// What a message can be written with.
#[derive(Debug)]
pub(crate) struct Choices {
    lists: Vec<ContactList>,
    templates: Vec<Template>,
    senders: Vec<String>,
    merge_fields: Vec<String>,
}

impl Choices {
    /// Reads what this account has. `list` is the one that was chosen before.
    pub(crate) async fn read(handle: &AccountHandle, list: Option<ListId>) -> Result<Self, Error> {
        let names = handle.sender_name_list().await?.into_iter();
        let approved = names.filter(|name| name.status == ReviewStatus::Approved);
        let senders = approved.map(|name| name.value.as_str().to_owned()).collect();
        let own = handle.contact_fields().await?.into_iter();
        let own = own.filter(|name| !BUILT_IN.contains(&&**name));
        let built_in = BUILT_IN.map(str::to_owned).into_iter();
        let merge_fields = built_in.chain(own).take(MOST_FIELDS).collect();
        let (lists, templates) =
            (every_list_and(handle, list.as_slice()).await?, templates(handle).await?);
        Ok(Self { lists, templates, senders, merge_fields })
    }

    /// The options of a field that chooses a list. `none` is what it says at first.
    pub(crate) fn list_options(&self, none: &str) -> Options {
        let none = if self.lists.is_empty() { "There are no lists" } else { none };
        let lists = self.lists.iter().map(|list| {
            let label = format!("{} ({})", list.name, counted(list.contact_count, "contact"));
            (list.id.to_string(), label)
        });
        with_none(none, lists)
    }

    /// The options of a field that chooses a template.
    pub(crate) fn template_options(&self) -> Options {
        let none = if self.templates.is_empty() { "There are no templates" } else { "None" };
        let templates = self.templates.iter();
        with_none(none, templates.map(|one| (one.id.to_string(), one.name.clone())))
    }

    /// The options of a field that chooses what people see as the sender.
    pub(crate) fn sender_options(&self) -> Options {
        let senders = self.senders.iter().map(|sender| (sender.clone(), sender.clone()));
        with_none("A number that people can reply to", senders)
    }

    /// Buttons that put a merge field where the cursor is, for a browser with scripts.
    pub(crate) fn merge_buttons(&self) -> Markup {
        html! {
            div.merge.scripted role="group" aria-label="Insert a merge field" {
                span.small.faint { "Insert:" }
                @for name in &self.merge_fields {
                    button.button.button-quiet.button-small type="button"
                        data-insert={ "{" (name) "}" } { "{" (name) "}" }
                }
            }
        }
    }
}

fn with_none(none: &str, options: impl Iterator<Item = (String, String)>) -> Options {
    std::iter::once((String::new(), none.to_owned())).chain(options).collect()
}

async fn templates(handle: &AccountHandle) -> Result<Vec<Template>, Error> {
    let limit = Limit::new(Limit::MAX).unwrap_or_default();
    let (mut all, mut page) = (Vec::new(), PageRequest { limit, after: None });
    loop {
        let found = handle.template_list(None, page).await?;
        all.extend(found.items);
        match found.next {
            Some(cursor) if all.len() < MOST => page.after = Some(cursor),
            _ => return Ok(all),
        }
    }
}
