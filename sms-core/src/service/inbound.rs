//! Inbound messages, whole or in segments.

use super::keyed::Keyed;
use super::operator::{Operator, valid};
use super::sms::Sms;
use super::wake::Work;
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::{Claim, Made, Once, Settled};
use crate::ids::Ids;
use crate::inbound::segment::{
    GaveUp, GiveUpPlan, InboundSegment, KEPT_FOR, SegmentPlan, SegmentTaken,
};
use crate::inbound::{InboundMessage, InboundPlan, KeptInbound, MAX_BODY, Origin, TakenIn};
use crate::message::record::{Body, Message};
use crate::number::store::NumbersWanted;
use crate::originator::Originator;
use crate::phone::E164;
use crate::time::Timestamp;

impl Sms {
    /// Records one segment of a long message. Segments may arrive in any order, repeatedly, and at
    /// several programs at once; the last missing one completes the message. If segments are still
    /// missing after a day, [`Sms::tidy`] records those that arrived as a message.
    pub async fn inbound_segment(&self, part: InboundSegment) -> Result<SegmentTaken, Error> {
        let (at, ids) = self.moment();
        let plan = SegmentPlan::new(part, self.inner.validity, at, ids);
        let plan = SegmentPlan { reply_limits: self.inner.reply_limits, ..plan };
        let taken = self.take_segment(plan).await?;
        if let SegmentTaken::Joined(taken) = &taken {
            self.wake_for(taken);
        }
        Ok(taken)
    }

    pub(super) async fn take_in(
        &self,
        text: InboundMessage,
        origin: Origin,
    ) -> Result<TakenIn, Error> {
        match self.take_in_once(text, origin, None).await? {
            Once::Done(taken) => Ok(taken),
            Once::Earlier(_) => Err(Error::IdempotencyConflict),
        }
    }

    async fn take_in_once(
        &self,
        text: InboundMessage,
        origin: Origin,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, Error> {
        let (at, ids) = self.moment();
        let plan = InboundPlan::new(text, origin, at, ids);
        let (validity, reply_limits) = (self.inner.validity, self.inner.reply_limits);
        let plan = InboundPlan { validity, reply_limits, ..plan };
        let once = self.take_message(plan, claim).await?;
        if let Once::Done(taken) = &once {
            self.wake_for(taken);
        }
        Ok(once)
    }

    /// The message that an earlier request recorded.
    async fn taken_before(&self, kept: KeptInbound) -> Result<Made<Option<Message>>, Error> {
        let Some((account, id)) = kept.message else { return Ok(Made::again(None)) };
        let found = self.store().message_get(account, id).await?;
        let (message, _) = found.ok_or(Error::NotFound("message"))?;
        Ok(Made::again(Some(message)))
    }

    /// Gives up on up to `limit` messages whose first segment is a day old. Returns how many.
    pub(super) async fn give_up_parts(&self, limit: usize) -> Result<usize, Error> {
        for given_up in 0..limit {
            let (at, ids) = self.moment();
            let (before, validity) = (at.minus(KEPT_FOR), self.inner.validity);
            let reply_limits = self.inner.reply_limits;
            let plan = GiveUpPlan { before, validity, reply_limits, at, ids };
            match self.give_up_segment(plan).await? {
                GaveUp::Nothing => return Ok(given_up),
                GaveUp::Forgotten => {}
                GaveUp::TakenIn(taken) => self.wake_for(&taken),
            }
        }
        Ok(limit)
    }

    fn moment(&self) -> (Timestamp, Ids) {
        let at = self.now();
        (at, self.ids(at))
    }

    fn wake_for(&self, taken: &TakenIn) {
        self.wake(Work::Webhooks);
        if matches!(taken, TakenIn::Answered(..)) {
            self.wake(Work::Dispatch);
        }
    }
}

impl Keyed<Operator> {
    /// [`Operator::inbound`], once for the key. A repetition returns the message, which does not
    /// change once it is recorded.
    pub async fn inbound(
        &self,
        from: impl Into<Originator>,
        to: E164,
        body: String,
    ) -> Result<Made<Option<Message>>, Error> {
        let from = from.into();
        valid(FieldError::of_text("body", &body, 0..=MAX_BODY).into_iter().collect())?;
        let claim = self.claim("inbound_take", |fields| {
            fields.add("from", [from.to_string()]);
            fields.add("to", [to.to_string()]);
            fields.add("body", [&body]);
        });
        let claim = claim.as_ref();
        let sms = &self.handle.sms;
        if let Some(kept) = self.earlier::<TakenIn>(claim).await? {
            return sms.taken_before(kept).await;
        }
        let number = sms.store().number_list(NumbersWanted::Phone(to)).await?.pop();
        let route = number.and_then(|number| number.route);
        let route = route.unwrap_or_else(|| sms.default_route().clone());
        let text = InboundMessage { from, to, body: Body::new(body), route };
        match sms.take_in_once(text, Origin::Network, claim).await?.settle(claim)? {
            Settled::First(TakenIn::Routed(message) | TakenIn::Answered(message, _)) => {
                Ok(Made::first(Some(message)))
            }
            Settled::First(TakenIn::Unrouted(_) | TakenIn::AlreadyDone) => Ok(Made::first(None)),
            Settled::Again(kept) => sms.taken_before(kept).await,
        }
    }
}
