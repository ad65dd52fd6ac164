//! What a send would do and cost: the same plan, shown instead of committed.

use super::gaps::FieldGaps;
use super::plan::Planned;
use super::recipients::Rejection;
use crate::credits::Credits;
use crate::message::record::Body;
use crate::text::encoding::Encoding;

/// What a send would do and cost.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quote {
    /// How many people would receive a message.
    pub recipients: usize,
    /// The recipients that would receive none, each with the reason.
    pub rejected: Vec<Rejection>,
    /// What the merge fields of the messages could not show.
    pub gaps: FieldGaps,
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
            .field("gaps", &self.gaps)
            .field("credits", &self.credits)
            .field("encoding", &self.encoding)
            .field("balance", &self.balance)
            .finish_non_exhaustive()
    }
}

/// What a quote shows of the messages planned so far. It keeps none of them.
#[derive(Debug, Default)]
pub struct QuoteTally {
    recipients: usize,
    rejected: Vec<Rejection>,
    any_ucs2: bool,
    preview: Option<Body>,
}

impl QuoteTally {
    /// Counts messages and drops them.
    pub fn add(&mut self, planned: Planned) {
        let Planned { messages, links: _, rejected } = planned;
        self.recipients += messages.len();
        self.any_ucs2 |= messages.iter().any(|message| message.encoding == Encoding::Ucs2);
        self.rejected.extend(rejected);
        if self.preview.is_none() {
            self.preview = messages.into_iter().next().map(|message| message.body);
        }
    }

    /// The quote, once everything is planned, without gaps. `as_typed` is the encoding of the body
    /// before merging, for a quote without a message.
    pub fn finish(self, credits: Credits, balance: Credits, as_typed: Encoding) -> Quote {
        Quote {
            recipients: self.recipients,
            rejected: self.rejected,
            gaps: FieldGaps::default(),
            credits,
            encoding: match (self.recipients, self.any_ucs2) {
                (0, _) => as_typed,
                (_, true) => Encoding::Ucs2,
                (_, false) => Encoding::Gsm7,
            },
            preview: self.preview.map(|body| body.as_str().to_owned()),
            balance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, MessageStatus};
    use crate::phone::E164;
    use crate::samples::{credits, message, person};
    use crate::sending::RejectionReason;

    fn text(body: &str, encoding: Encoding) -> Message {
        Message { body: Body::new(body), encoding, ..message(MessageStatus::Queued) }
    }

    fn quoted(messages: Vec<Message>, as_typed: Encoding) -> Quote {
        let mut tally = QuoteTally::default();
        for message in messages {
            tally.add(Planned { messages: vec![message], ..Planned::default() });
        }
        tally.add(Planned { rejected: vec![rejection(person())], ..Planned::default() });
        tally.finish(credits(5), credits(3), as_typed)
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
            gaps: FieldGaps::default(),
            credits: credits(5),
            encoding: Encoding::Gsm7,
            preview: Some("first".to_owned()),
            balance: credits(3),
        };
        assert_eq!(quoted(messages, Encoding::Ucs2), expected);
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
            let quote = quoted(messages, Gsm7);
            assert_eq!(quote.encoding, expected, "{encodings:?}");
        }
    }

    #[test]
    fn a_quote_without_recipients_has_no_preview_and_the_encoding_of_the_typed_body() {
        let quote = quoted(Vec::new(), Encoding::Ucs2);
        assert_eq!((quote.recipients, quote.preview), (0, None));
        assert_eq!(quote.encoding, Encoding::Ucs2);
    }
}
