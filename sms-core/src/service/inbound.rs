//! Inbound messages, whole or in segments.

use super::{Sms, Work};
use crate::error::Error;
use crate::ids::Ids;
use crate::inbound::segment::{
    GaveUp, GiveUpPlan, InboundSegment, KEPT_FOR, SegmentPlan, SegmentTaken,
};
use crate::inbound::{InboundMessage, InboundPlan, Origin, TakenIn};
use crate::time::Timestamp;

impl Sms {
    /// Records one segment of a long message. Segments may arrive in any order, repeatedly, and at
    /// several programs at once; the last missing one completes the message. If segments are still
    /// missing after a day, [`Sms::tidy`] records those that arrived as a message.
    pub async fn inbound_segment(&self, part: InboundSegment) -> Result<SegmentTaken, Error> {
        let (at, ids) = self.moment();
        let plan = SegmentPlan::new(part, self.inner.validity, at, ids);
        let taken = self.store().inbound_segment_take(plan).await?;
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
        let (at, ids) = self.moment();
        let plan = InboundPlan::new(text, origin, at, ids);
        let plan = InboundPlan { validity: self.inner.validity, ..plan };
        let taken = self.store().inbound_take(plan).await?;
        self.wake_for(&taken);
        Ok(taken)
    }

    /// Gives up on up to `limit` messages whose first segment is a day old. Returns how many.
    pub(super) async fn give_up_parts(&self, limit: usize) -> Result<usize, Error> {
        for given_up in 0..limit {
            let (at, ids) = self.moment();
            let (before, validity) = (at.minus(KEPT_FOR), self.inner.validity);
            let plan = GiveUpPlan { before, validity, at, ids };
            match self.store().inbound_segment_give_up(plan).await? {
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
