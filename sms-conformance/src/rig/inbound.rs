//! Messages that come in, and the opt-outs they make.

use sms_core::account::Account;
use sms_core::inbound::{InboundMessage, InboundPlan, Origin, TakenIn};
use sms_core::keyword::reply_limit::{BalanceShare, ReplyLimits};
use sms_core::message::{Body, Message};
use sms_core::phone::E164;
use sms_core::route::RouteName;

use super::{Rig, person};

impl Rig {
    /// A message from `from` to one of our numbers, to be taken in. Replies to it may spend the
    /// whole balance.
    pub fn inbound_plan(&self, from: u16, to: E164, body: &str, origin: Origin) -> InboundPlan {
        let text = InboundMessage {
            from: person(from).into(),
            to,
            body: Body::new(body),
            route: RouteName::new("simulator"),
        };
        let plan = InboundPlan::new(text, origin, self.now(), self.ids());
        let reply_limits = ReplyLimits { balance: BalanceShare::WHOLE, ..ReplyLimits::default() };
        InboundPlan { reply_limits, ..plan }
    }

    /// Takes in a planned message.
    pub async fn take_in(&self, plan: InboundPlan) -> TakenIn {
        crate::rig::done(self.store().inbound_take(plan, None).await).expect("the text is taken in")
    }

    /// Someone sends a message to one of our numbers.
    pub async fn inbound(&self, from: u16, to: E164, body: &str) -> TakenIn {
        self.take_in(self.inbound_plan(from, to, body, Origin::Network)).await
    }

    /// Someone sends a message to one of our numbers, and the message belongs to an account.
    pub async fn inbound_routed(&self, from: u16, to: E164, body: &str) -> Message {
        match self.inbound(from, to, body).await {
            TakenIn::Routed(message) => message,
            other => panic!("expected the text to belong to an account, not {other:?}"),
        }
    }

    /// The person opts out of the account's messages, by a STOP to a dedicated number that exists
    /// only for this.
    pub async fn opt_out(&self, account: &Account, from: u16) {
        let number = self.dedicated_number(person(999), account).await;
        let message = self.inbound_routed(from, number.phone, "STOP").await;
        assert_eq!(message.account, account.id);
        assert!(self.has_opted_out(account, from).await);
        self.release(&number).await;
    }

    /// Whether the account must not send this person messages.
    pub async fn has_opted_out(&self, account: &Account, n: u16) -> bool {
        let among = self.store().opt_outs_among(account.id, &[person(n)]).await;
        among.expect("opt-outs are read").contains(&person(n))
    }
}
