//! Sends and quotes.

use std::borrow::Cow;

use super::account::AccountHandle;
use super::planning::OptOuts::{AtTheCommit, Now};
use super::planning::{Asked, Kept, MOST_PLANS};
use crate::error::Error;
use crate::idempotency::fingerprint::Fingerprint;
use crate::idempotency::key::IdempotencyKey;
use crate::sending::facts::Codes;
use crate::sending::idempotency::EarlierSend;
use crate::sending::plan::Planner;
use crate::sending::quote::{Quote, QuoteTally};
use crate::sending::recipients::{Rejection, RejectionReason};
use crate::sending::request::SendRequest;
use crate::sending::settle::Sent;
use crate::store_error::{CommitError, StoreError};
use crate::text::segments::measure;

/// How many plans of a send may have a worker hold their messages. Such a plan is stale if a number
/// was released or a sender name rejected; what this program remembers of them may be older for
/// some seconds. A plan for the queue is not: claims look at both.
const MOST_HELD_PLANS: usize = 2;

/// Up to this many recipients, a send's key is not looked up before the commit.
const MOST_SMALL: usize = 10;

/// Up to this price, a send is replayed at once. A send that cost more may have as many messages as
/// it cost credits. Reading them takes time and memory, so the replay waits for its turn.
const SMALL_REPLAY: u64 = 10_000;

impl AccountHandle {
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
    /// [`Error::IdempotencyConflict`]; [`Error::TooManyPlans`]; [`Error::TooManyPlansInAll`]; for
    /// test keys [`Error::TestLimitExceeded`] and [`Error::TestMessagesUsedUp`].
    pub async fn send(&self, request: SendRequest) -> Result<Sent, Error> {
        if is_small(&request) {
            // The commit finds a key that was used before. Only a refusal is looked at again,
            // because what was valid at the first time may not be now, such as a scheduled time
            // that has passed.
            return match self.send_new(&request, Kept::WhatItCanPay).await {
                Err(refused) if may_be_repeated(&refused) => match self.key_use(&request).await? {
                    KeyUse::Again(sent) => Ok(*sent),
                    KeyUse::First | KeyUse::OtherRequest => Err(refused),
                },
                result => result,
            };
        }
        // Planning and committing a large send costs more than a look-up.
        match self.key_use(&request).await? {
            KeyUse::First => self.send_new(&request, Kept::WhatItCanPay).await,
            KeyUse::Again(sent) => Ok(*sent),
            KeyUse::OtherRequest => self.send_new(&request, Kept::Nothing).await,
        }
    }

    /// Sends, or replays the send whose key the commit finds.
    async fn send_new(&self, request: &SendRequest, kept: Kept) -> Result<Sent, Error> {
        let words = self.words(request).await?;
        let codes = Codes::Drawn(&self.sms.inner.random);
        let opt_outs = AtTheCommit;
        let mut asked = Asked { request, words: &words, codes, opt_outs, kept };
        // Held until the commit, because the plan takes memory until then.
        let mut turn = None;
        for tried in 0..MOST_PLANS {
            let planner = self.plan(&asked, &mut turn, |_| {}).await?;
            let mut rejected = planner.planned().rejected.iter();
            // As in a quote, an opt-out is reported before other rejections.
            if asked.opt_outs == AtTheCommit && rejected.any(is_about_the_message) {
                self.discard(planner, turn.as_ref()).await?;
                asked.opt_outs = Now;
                continue;
            }
            let mut plan = planner.finish();
            let reserved = if tried < MOST_HELD_PLANS { self.sms.hold(&mut plan) } else { None };
            let (batch, lane) = (plan.batch, plan.lane);
            let result = self.sms.store().send_accept(vec![plan]).await.pop();
            let result = result.unwrap_or_else(|| Err(no_answer().into()));
            match (reserved, &result) {
                // Of a repeated request the messages were committed with the first one, which is
                // this one if only its answer was lost.
                (Some(reserved), Ok(sent)) if sent.batch == batch => reserved.committed(),
                (Some(reserved), Ok(_) | Err(CommitError::Stale | CommitError::Refused(_))) => {
                    reserved.not_committed();
                }
                (Some(in_doubt), Err(CommitError::Store(_))) => drop(in_doubt),
                (None, Ok(sent)) if request.schedule_at.is_none() => {
                    self.sms.is_queued(sent, lane);
                }
                (None, _) => {}
            }
            match result {
                Ok(sent) => return Ok(sent),
                Err(CommitError::Stale) => asked.opt_outs = Now,
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
    /// [`Error::SenderNotApproved`]; [`Error::TooManyPlans`]; [`Error::TooManyPlansInAll`].
    pub async fn quote(&self, request: SendRequest) -> Result<Quote, Error> {
        let words = self.words(&request).await?;
        let codes = Codes::Placeholder;
        let asked =
            Asked { request: &request, words: &words, codes, opt_outs: Now, kept: Kept::All };
        let (mut tally, mut turn) = (QuoteTally::default(), None);
        let planned = |planner: &mut Planner| tally.add(planner.take_planned());
        let planner = self.plan(&asked, &mut turn, planned).await?;
        let balance = self.get().await?.balance;
        let quote = tally.finish(planner.price(), balance, measure(&words).encoding);
        Ok(Quote { gaps: planner.gaps(), ..quote })
    }

    /// The answer to the send that is remembered under a key, as it was; `None` if there is none.
    pub async fn send_of(&self, key: &IdempotencyKey) -> Result<Option<Sent>, Error> {
        match self.sms.store().send_earlier(self.id, key, self.sms.now()).await? {
            Some(earlier) => self.replayed(earlier).await.map(Some),
            None => Ok(None),
        }
    }

    async fn replayed(&self, earlier: EarlierSend) -> Result<Sent, Error> {
        let _turn = if earlier.credits.get() > SMALL_REPLAY {
            Some(self.turn(&self.sms.inner.turns).await?)
        } else {
            None
        };
        Ok(self.sms.store().send_replay(self.id, earlier).await?)
    }

    /// What the request's key was used for. The commit refuses a key that was used for another
    /// request, once the request is known to be valid.
    async fn key_use(&self, request: &SendRequest) -> Result<KeyUse, Error> {
        let Some(key) = &request.idempotency_key else { return Ok(KeyUse::First) };
        let earlier = self.sms.store().send_earlier(self.id, key, self.sms.now()).await?;
        let fingerprint = Fingerprint::of(request, self.mode);
        match earlier {
            None => Ok(KeyUse::First),
            Some(earlier) if earlier.fingerprint == fingerprint => {
                Ok(KeyUse::Again(Box::new(self.replayed(earlier).await?)))
            }
            Some(_) => Ok(KeyUse::OtherRequest),
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
}

/// What a send's idempotency key was used for before.
enum KeyUse {
    /// Nothing, or the request has none.
    First,
    /// The same request, with this answer.
    Again(Box<Sent>),
    /// Another send or another operation: a conflict.
    OtherRequest,
}

/// Whether a request names few recipients. Such a request is answered by the commit alone.
fn is_small(request: &SendRequest) -> bool {
    let named = request.numbers().take(MOST_SMALL + 1).count() + request.contact_ids.len();
    request.list_id.is_none() && named <= MOST_SMALL
}

/// Whether the same request may have been accepted before, although it is refused now. The store
/// compares keys itself, and has nothing to say while it is unavailable.
fn may_be_repeated(refused: &Error) -> bool {
    !matches!(refused, Error::IdempotencyConflict | Error::Store(_))
}

/// Whether the text could not be sent to a valid number.
fn is_about_the_message(rejection: &Rejection) -> bool {
    matches!(rejection.reason, RejectionReason::EmptyBody | RejectionReason::TooLong)
}

/// A store that returns no answer breaks its contract.
fn no_answer() -> StoreError {
    StoreError::Internal { doing: "accepting a send", source: None }
}
