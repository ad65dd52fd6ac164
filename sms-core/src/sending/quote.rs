//! What a send would do and cost: the same plan, shown instead of committed.

use super::plan::SendPlan;
use super::recipients::Rejection;
use crate::credits::Credits;
use crate::text::Encoding;

/// What a send would do and cost.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quote {
    /// How many people would receive a message.
    pub recipients: usize,
    /// The recipients that would receive none, each with the reason.
    pub rejected: Vec<Rejection>,
    /// The price of a live send, in credits.
    pub credits: Credits,
    /// The encoding: UCS-2 if any of the messages needs it.
    pub encoding: Encoding,
    /// The text of the first message, as it would be sent; `None` if there is no message.
    pub preview: Option<String>,
    /// The present balance of the account.
    pub balance: Credits,
}

/// Shows numbers, never text.
impl std::fmt::Debug for Quote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quote")
            .field("recipients", &self.recipients)
            .field("rejected", &self.rejected)
            .field("credits", &self.credits)
            .field("encoding", &self.encoding)
            .field("balance", &self.balance)
            .finish_non_exhaustive()
    }
}

impl Quote {
    /// Shows a plan that was not committed. `as_typed` is the encoding of the body before merging,
    /// for a quote without a message.
    pub fn of(plan: SendPlan, balance: Credits, as_typed: Encoding) -> Self {
        let any_ucs2 = plan.messages.iter().any(|text| text.encoding == Encoding::Ucs2);
        Self {
            recipients: plan.messages.len(),
            rejected: plan.rejected,
            credits: plan.price,
            encoding: match (plan.messages.is_empty(), any_ucs2) {
                (true, _) => as_typed,
                (false, true) => Encoding::Ucs2,
                (false, false) => Encoding::Gsm7,
            },
            preview: plan.messages.first().map(|text| text.body.as_str().to_owned()),
            balance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Mode;
    use crate::ids::{BatchId, LedgerEntryId};
    use crate::message::{Body, Message, MessageStatus};
    use crate::phone::E164;
    use crate::samples::{account_id, credits, message, now, person};
    use crate::sending::RejectionReason;

    fn text(body: &str, encoding: Encoding) -> Message {
        Message { body: Body::new(body), encoding, ..message(MessageStatus::Queued) }
    }

    fn plan(messages: Vec<Message>) -> SendPlan {
        SendPlan {
            account: account_id(),
            mode: Mode::Test,
            batch: BatchId::from_u128(1),
            idempotency: None,
            messages,
            links: Vec::new(),
            rejected: vec![rejection(person())],
            price: credits(5),
            charge: Credits::ZERO,
            entry_id: LedgerEntryId::from_u128(1),
            claimable_at: now(),
            expires_at: now(),
            at: now(),
        }
    }

    fn rejection(number: E164) -> Rejection {
        Rejection::of(number, RejectionReason::OptedOut)
    }

    #[test]
    fn a_quote_shows_the_first_message_the_price_of_a_live_send_and_the_balance() {
        let messages = vec![text("first", Encoding::Gsm7), text("second", Encoding::Gsm7)];
        let expected = Quote {
            recipients: 2,
            rejected: vec![rejection(person())],
            credits: credits(5),
            encoding: Encoding::Gsm7,
            preview: Some("first".to_owned()),
            balance: credits(3),
        };
        assert_eq!(Quote::of(plan(messages), credits(3), Encoding::Ucs2), expected);
    }

    #[test]
    fn a_quote_is_ucs2_when_any_message_is() {
        use Encoding::{Gsm7, Ucs2};
        for (encodings, expected) in [
            (vec![], Gsm7),
            (vec![Gsm7, Gsm7], Gsm7),
            (vec![Ucs2], Ucs2),
            (vec![Gsm7, Ucs2, Gsm7], Ucs2),
        ] {
            let messages = encodings.iter().map(|encoding| text("x", *encoding)).collect();
            let quote = Quote::of(plan(messages), Credits::ZERO, Gsm7);
            assert_eq!(quote.encoding, expected, "{encodings:?}");
        }
    }

    #[test]
    fn a_quote_without_recipients_has_no_preview_and_the_encoding_of_the_typed_body() {
        let quote = Quote::of(plan(Vec::new()), Credits::ZERO, Encoding::Ucs2);
        assert_eq!((quote.recipients, quote.preview), (0, None));
        assert_eq!(quote.encoding, Encoding::Ucs2);
    }
}
