//! `/conversations`: the inbox, one conversation for each number, short code or name that has sent
//! the account a message.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::conversation::{Conversation, ReadState, Thread};
use sms_core::originator::Originator;
use sms_core::phone::E164;
use sms_core::service::{AccountHandle, Caller};

use super::contact_shape::ContactShape;
use super::message_shape::MessageShape;
use super::page::{CursorText, page_request};
use super::tag::Tag;
use crate::web::envelope::{Answer, Meta};
use crate::web::error::ApiError;
use crate::web::field_error::FieldErrors;
use crate::web::param::{Limit, QueryParam, Text};
use crate::web::path_param::PathParam;

/// The messages to and from one number.
#[derive(Debug, Object)]
#[oai(rename = "Conversation")]
struct ConversationShape {
    /// The other party: a number in E.164, or a short code or a name as it came.
    contact_number: String,
    /// The saved contact with this number; null if there is none.
    contact_id: Option<String>,
    /// The contact's first and last name; null if there is no contact or no name.
    contact_name: Option<String>,
    /// How many inbound messages are unread.
    unread: u64,
    /// The newest message in either direction.
    last_message: MessageShape,
}

impl From<Conversation> for ConversationShape {
    fn from(conversation: Conversation) -> Self {
        let contact_number = conversation.other_party().to_string();
        let Conversation { number: _, contact, unread, last_message } = conversation;
        let (contact_id, contact_name) = match contact {
            Some(known) => (Some(known.id.to_string()), known.name),
            None => (None, None),
        };
        Self {
            contact_number,
            contact_id,
            contact_name,
            unread,
            last_message: MessageShape(last_message),
        }
    }
}

/// A conversation with its messages.
#[derive(Debug, Object)]
#[oai(rename = "Thread")]
struct ThreadShape {
    /// The other party: a number in E.164, or a short code or a name as it came.
    contact_number: String,
    /// The saved contact with this number; null if there is none.
    contact: Option<ContactShape>,
    /// Whether the number has opted out. Such a number gets no messages.
    opted_out: bool,
    /// The newest 200 messages, oldest first.
    messages: Vec<MessageShape>,
}

impl From<Thread> for ThreadShape {
    fn from(thread: Thread) -> Self {
        let contact_number = thread.other_party().to_string();
        let Thread { contact, opted_out, messages, .. } = thread;
        Self {
            contact_number,
            contact: contact.map(Into::into),
            opted_out,
            messages: messages.into_iter().map(MessageShape).collect(),
        }
    }
}

/// The result of marking a conversation as read.
#[derive(Debug, Object)]
struct ConversationRead {
    /// How many messages were unread before.
    marked_read: u64,
}

/// The meta of a page of conversations.
#[derive(Debug, Object)]
struct InboxMeta {
    /// Pass it as `cursor` to read the next page; null on the last page.
    next_cursor: Option<String>,
    /// How many inbound messages of the whole account are unread.
    unread_total: u64,
}

impl Meta for InboxMeta {
    const NAME_END: &'static str = "Page";

    fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }
}

/// The handlers of `/conversations`.
#[derive(Debug)]
pub struct ConversationApi {
    sms: Sms,
}

impl ConversationApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

/// The number in a path, or that of a short code or a name; 404 if it is none of these.
fn number(path: &str) -> Result<E164, ApiError> {
    let party = Originator::parse(path).map_err(|_| ApiError::not_found())?;
    Ok(party.number())
}

#[OpenApi(prefix_path = "/conversations", tag = "Tag::Conversations")]
impl ConversationApi {
    /// List conversations
    ///
    /// One for each number, short code or name that has sent the account a message, newest message
    /// first. A conversation with a new message moves to the front. The others keep their order, so
    /// following the cursors neither skips nor repeats any of them.
    #[oai(path = "/", method = "get", operation_id = "conversation_list")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most conversations per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
        /// `true`: only conversations with unread messages; `false`: only those without.
        unread: QueryParam<Option<bool>>,
        /// A phone number or part of one, a short code or a name exactly as it is shown, or words
        /// to find in the contact's name. A search among many may end a page early, even without
        /// items: go on while `next_cursor` is not null.
        q: QueryParam<Option<Text<200>>>,
    ) -> Result<Answer<Vec<ConversationShape>, InboxMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        let state = errors.take(unread);
        let state = state.map(|unread| if unread { ReadState::Unread } else { ReadState::Read });
        let q = errors.take(q).map(|text| text.0);
        errors.finish()?;
        let account = self.account(&caller);
        let inbox = account.conversation_list(state, q.as_deref(), page).await?;
        let (page, unread_total) = (inbox.conversations, inbox.unread);
        let next_cursor = page.next.map(|cursor| cursor.to_string());
        let data = page.items.into_iter().map(Into::into).collect();
        Ok(Answer { data, meta: InboxMeta { next_cursor, unread_total } })
    }

    /// Read a conversation
    ///
    /// The newest 200 messages from and to a number, oldest first. There is a conversation for
    /// every number with which the account has exchanged a message, and for every short code and
    /// name that it has a message from. Nothing can be sent to these.
    #[oai(path = "/:phone", method = "get", operation_id = "conversation_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The number: E.164, URL-encoded, or in any common format. Or the short code or the name,
        /// exactly as it is shown, URL-encoded.
        phone: PathParam,
    ) -> Result<Answer<ThreadShape>, ApiError> {
        let thread = self.account(&caller).conversation_get(number(&phone)?).await?;
        Ok(Answer::new(thread.into()))
    }

    /// Mark a conversation as read
    ///
    /// Sets `read_at` of every unread message from the number.
    #[oai(path = "/:phone/read", method = "post", operation_id = "conversation_read")]
    async fn read(
        &self,
        caller: Data<&Caller>,
        /// The number: E.164, URL-encoded, or in any common format. Or the short code or the name,
        /// exactly as it is shown, URL-encoded.
        phone: PathParam,
    ) -> Result<Answer<ConversationRead>, ApiError> {
        let marked_read = self.account(&caller).conversation_read(number(&phone)?).await?;
        Ok(Answer::new(ConversationRead { marked_read }))
    }
}
