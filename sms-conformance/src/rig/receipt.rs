//! Receipts, as a network brings them.

use sms_core::ids::{FollowUpId, MessageId};
use sms_core::message::ErrorCode;
use sms_core::receipt::{Receipt, ReceiptPlan, ReceiptStatus, Recorded};

use super::{Rig, all_recorded};

/// What a receipt says of a message that the network could not deliver.
const UNDELIVERED: ReceiptStatus = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);

impl Rig {
    /// A receipt to be recorded.
    pub fn receipt(&self, message: MessageId, status: ReceiptStatus) -> ReceiptPlan {
        let receipt = Receipt::new(message, status);
        ReceiptPlan { receipt, at: self.now(), ids: self.ids(), follow_up: None }
    }

    /// A receipt that fulfils a simulated comeback.
    pub fn receipt_for(
        &self,
        message: MessageId,
        status: ReceiptStatus,
        follow_up: FollowUpId,
    ) -> ReceiptPlan {
        ReceiptPlan { follow_up: Some(follow_up), ..self.receipt(message, status) }
    }

    /// Records one receipt, alone in its call.
    pub async fn record_receipt(&self, plan: ReceiptPlan) -> Recorded {
        self.record_receipts(vec![plan]).await.remove(0)
    }

    /// Records several receipts in one call.
    pub async fn record_receipts(&self, plans: Vec<ReceiptPlan>) -> Vec<Recorded> {
        let wanted = plans.len();
        let recorded = all_recorded(self.store().receipts_record(plans).await);
        assert_eq!(recorded.len(), wanted, "every receipt has its answer");
        recorded
    }

    /// The network says that a message was delivered.
    pub async fn deliver(&self, message: MessageId) -> Recorded {
        self.record_receipt(self.receipt(message, ReceiptStatus::Delivered)).await
    }

    /// The network says that a message could not be delivered.
    pub async fn undeliver(&self, message: MessageId) -> Recorded {
        self.record_receipt(self.receipt(message, UNDELIVERED)).await
    }
}
