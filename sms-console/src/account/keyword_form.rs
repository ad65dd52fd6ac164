//! The form of a keyword.

use maud::{Markup, html};
use sms_core::ids::ListId;
use sms_core::keyword::save::{KeywordInput, KeywordPatch};
use sms_core::keyword::{Keyword, Listening, MAX_REPLY, MAX_WORD};
use sms_core::list::ContactList;
use sms_core::message::Body;

use crate::form::{FieldTroubles, Form};
use crate::meanwhile::{Edited, Values};
use crate::part::field::Field;

/// The fields that say themselves what is wrong with them.
pub(crate) const SHOWN: [&str; 3] = ["keyword", "reply", "add_to_list_id"];

/// What the form of a keyword holds.
#[derive(Debug, Clone)]
pub(crate) struct KeywordForm {
    word: String,
    reply: String,
    list: Option<String>,
    listening: Listening,
}

impl Default for KeywordForm {
    fn default() -> Self {
        Self { word: String::new(), reply: String::new(), list: None, listening: Listening::On }
    }
}

impl Edited for KeywordForm {
    fn values(&self) -> Values {
        let Self { word, reply, list, listening } = self;
        Values::default()
            .with("keyword", &**word)
            .with("reply", &**reply)
            .with("add_to_list_id", list.as_deref().unwrap_or_default())
            .ticked("enabled", *listening == Listening::On)
    }

    fn sent(form: &Form) -> Self {
        let is_on = form.checked("enabled").is_yes();
        Self {
            word: form.text("keyword").to_owned(),
            reply: form.body("reply"),
            list: form.optional("add_to_list_id").map(str::to_owned),
            listening: if is_on { Listening::On } else { Listening::Off },
        }
    }
}

impl KeywordForm {
    /// The form of a keyword as it is.
    pub(crate) fn of(keyword: &Keyword) -> Self {
        Self {
            word: keyword.word.to_string(),
            reply: keyword.reply.as_ref().map(Body::as_str).unwrap_or_default().to_owned(),
            list: keyword.add_to_list_id.map(|id| id.to_string()),
            listening: keyword.listening,
        }
    }

    /// The list that is chosen.
    pub(crate) fn list(&self) -> Option<ListId> {
        self.list.as_ref().and_then(|list| list.parse().ok())
    }

    /// The keyword to create.
    pub(crate) fn input(&self) -> KeywordInput {
        let Self { word, reply, list, listening } = self;
        let mut input = KeywordInput::new(&**word).reply(&**reply).listening(*listening);
        input.add_to_list_id.clone_from(list);
        input
    }

    /// The change of a keyword.
    pub(crate) fn patch(&self) -> KeywordPatch {
        let Self { word, reply, list, listening } = self;
        let patch = KeywordPatch::default().keyword(&**word).reply(Some(reply));
        patch.add_to_list_id(list.as_deref()).listening(*listening)
    }

    /// The fields of the form, with what is wrong with them.
    pub(crate) fn fields(&self, lists: &[ContactList], troubles: &FieldTroubles) -> Markup {
        let word = Field::text("keyword", "Keyword").required().longest(MAX_WORD);
        let word =
            word.hint("Letters and digits. People send it as the first word of their message.");
        let reply = Field::text_area("reply", "Reply", 4).optional().longest(MAX_REPLY);
        let reply = reply.hint("Each reply costs one credit per part.");
        let lists = lists.iter().map(|list| (list.id.to_string(), list.name.clone()));
        let lists = std::iter::once((String::new(), "No list".to_owned())).chain(lists);
        let list = Field::select("add_to_list_id", "Add the sender to", lists);
        let list = list.value(self.list.as_deref().unwrap_or_default());
        let enabled = Field::check("enabled", "On").ticked_if(self.listening == Listening::On);
        html! {
            (word.value(&self.word).trouble(troubles.get("keyword")))
            (reply.value(&self.reply).trouble(troubles.get("reply")))
            (list.trouble(troubles.get("add_to_list_id")))
            (enabled)
        }
    }
}
