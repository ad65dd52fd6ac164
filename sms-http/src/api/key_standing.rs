//! Whether a key that was admitted still is, for answers that take long.

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::service::Caller;
use sms_core::service::authenticate::Standing as Found;

use crate::web::standing::{Holder, Lost, Standing};

/// A request with this key.
#[derive(Debug)]
pub(super) struct OfKey {
    pub sms: Sms,
    pub caller: Caller,
}

#[async_trait]
impl Standing for OfKey {
    fn holder(&self) -> Holder {
        Holder::Numbered(self.caller.key.as_u128())
    }

    async fn lost(&self) -> Option<Lost> {
        // While the store does not answer, there is nothing to show either.
        self.sms.standing(&self.caller).await.ok().and_then(lost)
    }
}

/// Why somebody would not be admitted any more; `None` if they would.
pub fn lost(found: Found) -> Option<Lost> {
    let (reason, message) = match found {
        Found::Admitted => return None,
        Found::KeyRevoked => ("key_revoked", "the key was revoked: use another"),
        Found::AccountSuspended => {
            ("account_suspended", "the account is suspended: ask the operator")
        }
        Found::SessionOver => ("session_over", "the session is over: sign in again"),
    };
    Some(Lost { reason, message })
}
