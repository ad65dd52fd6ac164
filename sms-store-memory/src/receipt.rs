//! Receipts.

use async_trait::async_trait;
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::store::StoreError;

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl ReceiptStore for MemoryStore {
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>> {
        let mut state = self.state();
        plans.into_iter().map(|plan| Ok(state.record_receipt(plan))).collect()
    }
}

impl State {
    fn record_receipt(&mut self, mut plan: ReceiptPlan) -> Recorded {
        if plan.follow_up.is_some_and(|id| !self.follow_ups.remove(id)) {
            return Recorded::AlreadyDone;
        }
        let Some(stored) = self.messages.get(&plan.receipt.message) else {
            return Recorded::NoSuchMessage;
        };
        match plan.settle(&stored.message) {
            None => Recorded::Unchanged(stored.message.clone()),
            Some(changed) => {
                let message = changed.message.clone();
                self.apply(changed, &mut plan.ids);
                Recorded::Changed(message)
            }
        }
    }
}
