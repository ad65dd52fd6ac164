//! Sends and quotes.

use std::borrow::Cow;

use super::planning::OptOuts::{AtTheCommit, Now};
use super::planning::{Asked, MOST_PLANS};
use super::{AccountHandle, Work};
use crate::error::Error;
use crate::sending::facts::Codes;
use crate::sending::idempotency::Fingerprint;
use crate::sending::plan::Planner;
use crate::sending::quote::{Quote, QuoteTally};
use crate::sending::recipients::{Rejection, RejectionReason};
use crate::sending::request::SendRequest;
use crate::sending::settle::Sent;
use crate::store::{CommitError, StoreError};
use crate::text::measure;

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
        if let Some(sent) = self.replay(&request).await? {
            return Ok(sent);
        }
        let words = self.words(&request).await?;
        let codes = Codes::Drawn(&self.sms.inner.random);
        let mut asked = Asked { request: &request, words: &words, codes, opt_outs: AtTheCommit };
        // Held until the commit, because the plan takes memory until then.
        let mut turn = None;
        for _ in 0..MOST_PLANS {
            let plan = self.plan(&asked, &mut turn, |_| {}).await?.finish();
            // As in a quote, an opt-out is reported before other rejections.
            if asked.opt_outs == AtTheCommit && plan.rejected.iter().any(is_about_the_message) {
                asked.opt_outs = Now;
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
        let asked = Asked { request: &request, words: &words, codes, opt_outs: Now };
        let (mut tally, mut turn) = (QuoteTally::default(), None);
        let planned = |planner: &mut Planner| tally.add(planner.take_planned());
        let planner = self.plan(&asked, &mut turn, planned).await?;
        let balance = self.get().await?.balance;
        Ok(tally.finish(planner.price(), balance, measure(&words).encoding))
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
}

/// Whether the text could not be sent to a valid number.
fn is_about_the_message(rejection: &Rejection) -> bool {
    matches!(rejection.reason, RejectionReason::EmptyBody | RejectionReason::TooLong)
}

/// A store that returns no answer breaks its contract.
fn no_answer() -> StoreError {
    StoreError::Internal { doing: "accepting a send", source: None }
}
