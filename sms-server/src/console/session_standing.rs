//! Whether a session that was admitted still is, for answers that take long.

use std::sync::Arc;

use async_trait::async_trait;
use sms_core::service::session::OpenSession;
use sms_http::api::key_standing::lost;
use sms_http::web::standing::{Holder, Lost, Standing};

use super::people::People;

/// A request of this session.
#[derive(Debug)]
pub(super) struct OfSession {
    pub people: Arc<People>,
    pub session: OpenSession,
}

#[async_trait]
impl Standing for OfSession {
    fn holder(&self) -> Holder {
        Holder::Hashed(*self.session.token.hash().as_bytes())
    }

    async fn lost(&self) -> Option<Lost> {
        let People { sms, clock, .. } = &*self.people;
        // While the store does not answer, there is nothing to show either.
        sms.session_standing(&self.session, clock.now()).await.ok().and_then(lost)
    }
}
