//! The messages and the balance of one account. The other nouns of an account have files of their
//! own, such as [`super::webhook`].

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Sms, Work};
use crate::account::{Account, Mode};
use crate::error::Error;
use crate::ids::{AccountId, Ids, MessageId};
use crate::message::cancel::CancelPlan;
use crate::message::{Message, MessageFilter, TimelineEntry};
use crate::number::sending_number;
use crate::page::{Page, PageRequest};
use crate::phone::E164;
use crate::route::RouteName;
use crate::sender_name::SenderValue;
use crate::sending::facts::{Codes, PlanFacts, Shortening};
use crate::sending::idempotency::Fingerprint;
use crate::sending::plan::{SendPlan, plan};
use crate::sending::quote::Quote;
use crate::sending::recipients::{Recipients, Rejection, RejectionReason};
use crate::sending::request::SendRequest;
use crate::sending::settle::Sent;
use crate::store::{CommitError, StoreError};
use crate::text::measure;
use crate::time::Timestamp;

/// How often a send is planned again when its facts change between plan and commit.
pub(super) const MOST_PLANS: usize = 4;
/// Up to this many recipients, a send is planned without asking first who has opted out.
const FEW_RECIPIENTS: usize = 10;

/// When a plan learns who has opted out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptOuts {
    /// Before it is made.
    Now,
    /// At the commit, which checks opt-outs in any case and refuses a plan with a recipient that
    /// has opted out. This saves a query, because opt-outs are rare.
    AtTheCommit,
}

/// What the recipient will see, before merging.
#[derive(Clone, Copy)]
struct Shown<'a> {
    words: &'a str,
    sender: Option<&'a SenderValue>,
    codes: Codes<'a>,
}

/// What a plan of messages depends on besides the request.
pub(super) struct Ground {
    /// The custom fields in the body that contacts use.
    pub(super) custom_names: BTreeSet<String>,
    /// The number that the messages are sent from.
    pub(super) from: E164,
    /// The route that carries them.
    pub(super) route: RouteName,
}

/// A message and its timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageWithTimeline {
    /// The message.
    pub message: Message,
    /// Its timeline, oldest entry first.
    pub timeline: Vec<TimelineEntry>,
}

/// The handle on one account, with a live or a test key.
#[derive(Debug, Clone)]
pub struct AccountHandle {
    pub(super) sms: Sms,
    pub(super) id: AccountId,
    pub(super) mode: Mode,
}

impl Sms {
    /// The handle on one account, with a live or a test key.
    pub fn account(&self, id: AccountId, mode: Mode) -> AccountHandle {
        AccountHandle { sms: self.clone(), id, mode }
    }
}

impl AccountHandle {
    /// The account's id.
    pub fn id(&self) -> AccountId {
        self.id
    }

    /// Sends a message to every recipient that the request names: takes the credits and queues the
    /// messages.
    ///
    /// Recipients that cannot be sent a message are listed in [`Sent::rejected`], which is no
    /// error.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::UnknownReference`];
    /// [`Error::SenderNotApproved`]; [`Error::MayNotSend`]; [`Error::InsufficientCredit`];
    /// [`Error::IdempotencyConflict`]; for test keys [`Error::TestLimitExceeded`] and
    /// [`Error::TestMessagesUsedUp`].
    pub async fn send(&self, request: SendRequest) -> Result<Sent, Error> {
        if let Some(sent) = self.replay(&request).await? {
            return Ok(sent);
        }
        let words = self.words(&request).await?;
        let codes = Codes::Drawn(&self.sms.inner.random);
        let mut opt_outs = OptOuts::AtTheCommit;
        for _ in 0..MOST_PLANS {
            let plan = self.plan(&request, &words, codes, opt_outs).await?;
            // As in a quote, an opt-out is reported before other rejections.
            if opt_outs == OptOuts::AtTheCommit && plan.rejected.iter().any(is_about_the_message) {
                opt_outs = OptOuts::Now;
                continue;
            }
            let result = self.sms.store().send_accept(vec![plan]).await.pop();
            match result.unwrap_or_else(|| Err(no_answer().into())) {
                Ok(sent) => {
                    if request.schedule_at.is_none() {
                        self.sms.wake(Work::Dispatch);
                    }
                    return Ok(sent);
                }
                Err(CommitError::Stale) => opt_outs = OptOuts::Now,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Busy)
    }

    /// What a send of this request would do and cost, planned by the same code.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::UnknownReference`];
    /// [`Error::SenderNotApproved`].
    pub async fn quote(&self, request: SendRequest) -> Result<Quote, Error> {
        let words = self.words(&request).await?;
        let plan = self.plan(&request, &words, Codes::Placeholder, OptOuts::Now).await?;
        Ok(Quote::of(plan, self.get().await?.balance, measure(&words).encoding))
    }

    /// One message, with its timeline.
    pub async fn message_get(&self, id: MessageId) -> Result<MessageWithTimeline, Error> {
        let found = self.sms.store().message_get(self.id, id).await?;
        let (message, timeline) = found.ok_or(Error::NotFound("message"))?;
        Ok(MessageWithTimeline { message, timeline })
    }

    /// A page of the account's messages, newest first.
    pub async fn message_list(
        &self,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, Error> {
        Ok(self.sms.store().message_list(self.id, filter, page).await?)
    }

    /// Cancels a scheduled or queued message and refunds it.
    ///
    /// # Errors
    ///
    /// [`Error::MessageNotCancellable`] if it is being handed over or is in a later state.
    pub async fn message_cancel(&self, id: MessageId) -> Result<Message, Error> {
        let at = self.sms.now();
        let ids = self.sms.ids(at);
        let plan = CancelPlan { account: self.id, message: id, at, ids };
        Ok(self.sms.store().message_cancel(plan).await?)
    }

    /// The account, with its balance and status.
    pub async fn get(&self) -> Result<Account, Error> {
        let found = self.sms.store().account_get(self.id).await?;
        found.ok_or(Error::NotFound("account"))
    }

    /// The first answer to a repeated request. It is looked up before anything else is checked,
    /// because what was valid then may not be now, such as a scheduled time that has passed. The
    /// commit finds a key that was used for another request, once the request is known to be valid.
    async fn replay(&self, request: &SendRequest) -> Result<Option<Sent>, Error> {
        let Some(key) = &request.idempotency_key else { return Ok(None) };
        let store = self.sms.store();
        let earlier = store.send_earlier(self.id, key, self.sms.now()).await?;
        let fingerprint = Fingerprint::of(request, self.mode);
        match earlier.filter(|earlier| earlier.fingerprint == fingerprint) {
            Some(earlier) => Ok(Some(store.send_replay(self.id, earlier).await?)),
            None => Ok(None),
        }
    }

    /// The text to send, once the request is known to be valid and to name nothing unknown. A
    /// template beside a body is not used, but has to exist.
    async fn words<'r>(&self, request: &'r SendRequest) -> Result<Cow<'r, str>, Error> {
        let errors = request.check(self.sms.now());
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        let Some(id) = request.template_id else { return Ok(Cow::Borrowed(&request.body)) };
        let found = self.sms.store().template_get(self.id, id).await?;
        let unknown = || Error::UnknownReference { resource: "template", id: id.to_string() };
        let template = found.ok_or_else(unknown)?;
        Ok(if request.body.is_empty() {
            Cow::Owned(template.body.as_str().to_owned())
        } else {
            Cow::Borrowed(&request.body)
        })
    }

    async fn plan(
        &self,
        request: &SendRequest,
        words: &str,
        codes: Codes<'_>,
        opt_outs: OptOuts,
    ) -> Result<SendPlan, Error> {
        let recipients = self.addressees(request).await?;
        let sender = self.approved_sender(request.sender.as_deref()).await?;
        // Read together: a message whose id is of a later time could be sent before it was created.
        let at = self.sms.now();
        let mut ids = self.sms.ids(at);
        let shown = Shown { words, sender: sender.as_ref(), codes };
        self.plan_for(request, shown, recipients, opt_outs, at, &mut ids).await
    }

    async fn plan_for(
        &self,
        request: &SendRequest,
        shown: Shown<'_>,
        recipients: Recipients,
        opt_outs: OptOuts,
        at: Timestamp,
        ids: &mut Ids,
    ) -> Result<SendPlan, Error> {
        let store = self.sms.store();
        let settings = store.account_settings(self.id).await?;
        let settings = settings.ok_or(Error::NotFound("account"))?;
        let opted_out = if opt_outs == OptOuts::Now || recipients.distinct() > FEW_RECIPIENTS {
            let numbers: Vec<E164> = recipients.numbers().collect();
            store.opt_outs_among(self.id, &numbers).await?
        } else {
            BTreeSet::new()
        };
        let Ground { custom_names, from, route } = self.ground(shown.words, at).await?;
        let facts = PlanFacts {
            account: self.id,
            settings: &settings,
            mode: self.mode,
            body: shown.words,
            from,
            sender: shown.sender,
            route: &route,
            opted_out: &opted_out,
            custom_names: &custom_names,
            shortening: Shortening { base: &self.sms.inner.link_base, codes: shown.codes },
            validity: self.sms.inner.validity,
            at,
        };
        Ok(plan(request, &recipients, facts, ids))
    }

    /// What every plan of messages with this text depends on.
    pub(super) async fn ground(&self, words: &str, at: Timestamp) -> Result<Ground, Error> {
        let custom_names = self.custom_names_in(words).await?;
        let own = self.sms.store().numbers_for(self.id).await?;
        let from = sending_number(&own, self.id, at).ok_or(Error::NoNumber)?;
        let route = match self.mode {
            Mode::Test => RouteName::test(),
            Mode::Live => from.route.as_ref().unwrap_or_else(|| self.sms.default_route()).clone(),
        };
        Ok(Ground { custom_names, from: from.phone, route })
    }
}

/// Whether the text could not be sent to a valid number.
fn is_about_the_message(rejection: &Rejection) -> bool {
    matches!(rejection.reason, RejectionReason::EmptyBody | RejectionReason::TooLong)
}

/// A store that returns no answer breaks its contract.
fn no_answer() -> StoreError {
    StoreError::Internal { doing: "accepting a send", source: None }
}
