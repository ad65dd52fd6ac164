//! Requesting and reviewing sender names.

use sms_core::account::Mode;
use sms_core::ids::{AccountId, SenderNameId};
use sms_core::sender_name::review::Decision;

use super::caller::Caller;

impl Caller {
    /// Requests a name, and lists all names.
    pub(super) async fn sender_name(&self, account: AccountId, value: &'static str) {
        let handle = self.sms.account(account, Mode::Live);
        let answer = handle.sender_name_create(value, None).await;
        self.expect("asking for a sender name", answer, &["sender_exists"]);
        let names = self.expect("listing sender names", handle.sender_name_list().await, &[]);
        let names = names.unwrap_or_default();
        self.must(names.iter().all(|name| name.account == account), || {
            format!("{account} sees {names:?}")
        });
    }

    /// The operator reviews a name.
    pub(super) async fn review(&self, id: SenderNameId, decision: Decision) {
        let answer = self.sms.operator().sender_name_review(id, decision, None).await;
        self.expect("reviewing a sender name", answer, &["not_found", "sender_exists"]);
    }
}
