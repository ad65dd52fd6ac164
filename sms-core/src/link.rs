//! Tracked links: short URLs, one for each URL and recipient, that count clicks.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::ids::{AccountId, CampaignId, LinkId, MessageId};
use crate::phone::E164;
use crate::random::Random;
use crate::setters::setters;
use crate::text::links::CODE_LENGTH;
use crate::time::Timestamp;

pub mod click;
pub mod store;

/// The code that identifies a short URL: 10 characters of `[0-9A-Za-z]`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkCode([u8; CODE_LENGTH]);

/// The string cannot be a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the code of a tracked link has 10 letters and digits")]
pub struct NotALinkCode;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// How many codes there are.
const CODES: u64 = 62_u64.pow(10);

impl LinkCode {
    /// Draws a random code. All codes are equally likely, so a code says nothing about the next.
    /// The store checks that it is new.
    pub fn draw(random: &dyn Random) -> Self {
        // Rejects the highest numbers, so that the rest is a whole multiple of the number of codes.
        let fair = u64::MAX - u64::MAX % CODES;
        let mut number = random.next_u64();
        while number >= fair {
            number = random.next_u64();
        }
        let mut code = [0; CODE_LENGTH];
        for place in &mut code {
            let [digit, ..] = (number % ALPHABET.len() as u64).to_le_bytes();
            *place = ALPHABET[usize::from(digit)];
            number /= ALPHABET.len() as u64;
        }
        Self(code)
    }

    /// The code as it appears in a URL.
    pub fn as_str(&self) -> &str {
        // Every byte comes from `ALPHABET`, so this is valid UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for LinkCode {
    type Err = NotALinkCode;

    fn from_str(text: &str) -> Result<Self, NotALinkCode> {
        let code: [u8; CODE_LENGTH] = text.as_bytes().try_into().map_err(|_| NotALinkCode)?;
        if code.iter().all(u8::is_ascii_alphanumeric) { Ok(Self(code)) } else { Err(NotALinkCode) }
    }
}

impl fmt::Display for LinkCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Hides the code, because it leads to where a person was sent.
impl fmt::Debug for LinkCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkCode(…)")
    }
}

/// The start of short URLs: the server's public address and `/l/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkBase(Arc<str>);

/// The string cannot be the base of short URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the base of tracked links starts with http:// or https://, has no white space and does not \
     end with a slash"
)]
pub struct NotALinkBase;

impl LinkBase {
    /// The base for a server with the public address `public_url`.
    ///
    /// ```
    /// use sms_core::link::LinkBase;
    ///
    /// let base = LinkBase::new("https://sms.example.com")?;
    /// assert_eq!(base.prefix(), "https://sms.example.com/l/");
    /// assert!(LinkBase::new("sms.example.com").is_err());
    /// # Ok::<(), sms_core::link::NotALinkBase>(())
    /// ```
    pub fn new(public_url: &str) -> Result<Self, NotALinkBase> {
        let host = ["http://", "https://"].iter().find_map(|it| public_url.strip_prefix(it));
        let stray = |c: char| c.is_whitespace() || c.is_control();
        match host {
            Some(host) if !host.is_empty() && !host.ends_with('/') && !host.contains(stray) => {
                Ok(Self(format!("{public_url}/l/").into()))
            }
            _ => Err(NotALinkBase),
        }
    }

    /// What comes before the code.
    pub fn prefix(&self) -> &str {
        &self.0
    }

    /// The short URL with this code.
    pub fn short_url(&self, code: LinkCode) -> String {
        format!("{}{code}", self.0)
    }
}

/// The default address of the reference server.
impl Default for LinkBase {
    fn default() -> Self {
        Self("http://127.0.0.1:8080/l/".into())
    }
}

/// A short URL in one message to one person. `Debug` does not show its target.
#[derive(Clone, PartialEq, Eq)]
pub struct Link {
    /// Its id, which carries `created_at` in milliseconds.
    pub id: LinkId,
    /// The account that it belongs to.
    pub account: AccountId,
    /// Its code, unique among all accounts.
    pub code: LinkCode,
    /// Its target: the URL as it was in the text.
    pub url: String,
    /// The message that contains it.
    pub message: MessageId,
    /// The campaign of that message; `None` if it belongs to none.
    pub campaign: Option<CampaignId>,
    /// The recipient of the message.
    pub contact_number: E164,
    /// How many clicks it has had.
    pub clicks: u64,
    /// When it was first clicked; `None` before the first click.
    pub first_clicked_at: Option<Timestamp>,
    /// When it was last clicked; `None` before the first click.
    pub last_clicked_at: Option<Timestamp>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("id", &self.id)
            .field("message", &self.message)
            .field("clicks", &self.clicks)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// When it was created, in milliseconds, from its id.
    pub fn created_at(&self) -> Timestamp {
        self.id.timestamp()
    }
}

/// The conditions that a link has to meet, all of them. An empty filter accepts every link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkFilter {
    /// The campaign that it was sent in; `None` for any link, also of no campaign.
    pub campaign: Option<CampaignId>,
    /// The message that contains it; `None` for any.
    pub message: Option<MessageId>,
}

impl LinkFilter {
    /// Whether the link meets every condition.
    pub fn accepts(&self, link: &Link) -> bool {
        let Self { campaign, message } = self;
        campaign.is_none_or(|wanted| link.campaign == Some(wanted))
            && message.is_none_or(|wanted| link.message == wanted)
    }
}

setters! { LinkFilter {
    /// Accepts links of this campaign.
    campaign(campaign: CampaignId) = Some(campaign);
    /// Accepts links of this message.
    message(message: MessageId) = Some(message);
} }

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::random::SeededRandom;
    use crate::samples::link;

    #[test]
    fn a_code_is_ten_letters_and_digits_and_nothing_else_is_one() {
        for good in ["0000000000", "ZZZZZZZZZZ", "aZ09xY12bQ"] {
            assert_eq!(good.parse::<LinkCode>().unwrap().to_string(), good);
        }
        for bad in ["", "aZ09xY12b", "aZ09xY12bQ1", "aZ09xY12b-", "aZ09xY12b ", "aZ09xY12é", "%"] {
            assert_eq!(bad.parse::<LinkCode>(), Err(NotALinkCode), "{bad}");
        }
    }

    #[test]
    fn codes_are_drawn_from_the_whole_alphabet_in_every_place_and_do_not_repeat() {
        let random = SeededRandom::new(1);
        let drawn: BTreeSet<LinkCode> = (0..5_000).map(|_| LinkCode::draw(&random)).collect();
        assert_eq!(drawn.len(), 5_000);
        for place in 0..CODE_LENGTH {
            let seen: BTreeSet<u8> = drawn.iter().map(|code| code.0[place]).collect();
            assert_eq!(seen.len(), ALPHABET.len(), "place {place}");
        }
        assert_eq!((CODES, CODE_LENGTH), (839_299_365_868_340_224, 10));
    }

    #[test]
    fn a_number_that_would_favour_some_codes_is_drawn_again() {
        #[derive(Debug)]
        struct Numbers(std::sync::Mutex<Vec<u64>>);
        impl Random for Numbers {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.0.lock().unwrap().remove(0).to_le_bytes());
            }
        }
        let numbers = |list: &[u64]| Numbers(std::sync::Mutex::new(list.to_vec()));
        assert_eq!(LinkCode::draw(&numbers(&[61])).as_str(), "z000000000");
        assert_eq!(LinkCode::draw(&numbers(&[u64::MAX, 61])).as_str(), "z000000000");
        let last_fair = 21 * CODES - 1;
        assert_eq!(LinkCode::draw(&numbers(&[last_fair])).as_str(), "zzzzzzzzzz");
        assert_eq!(LinkCode::draw(&numbers(&[last_fair + 1, 61])).as_str(), "z000000000");
    }

    #[test]
    fn a_base_is_an_address_without_a_slash_at_its_end() {
        for (url, prefix) in [
            ("https://sms.example.com", "https://sms.example.com/l/"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/l/"),
            ("https://example.com/sms", "https://example.com/sms/l/"),
        ] {
            let base = LinkBase::new(url).unwrap();
            assert_eq!(base.prefix(), prefix);
            let code = "aZ09xY12bQ".parse().unwrap();
            assert_eq!(base.short_url(code), format!("{prefix}aZ09xY12bQ"));
        }
        for bad in [
            "",
            "example.com",
            "ftp://example.com",
            "https://",
            "https:///",
            "https://example.com/",
            "https://example .com",
            "https://example.com\n",
        ] {
            assert_eq!(LinkBase::new(bad), Err(NotALinkBase), "{bad:?}");
        }
        assert_eq!(LinkBase::default(), LinkBase::new("http://127.0.0.1:8080").unwrap());
    }

    #[test]
    fn a_filter_accepts_the_links_of_a_message_and_of_a_campaign() {
        let own = Link { campaign: Some(CampaignId::from_u128(5)), ..link() };
        let any = LinkFilter::default();
        let message = Some(own.message);
        let other = Some(MessageId::from_u128(9));
        for (filter, accepted) in [
            (any, true),
            (LinkFilter { message, ..any }, true),
            (LinkFilter { message: other, ..any }, false),
            (LinkFilter { campaign: own.campaign, ..any }, true),
            (LinkFilter { campaign: Some(CampaignId::from_u128(6)), ..any }, false),
            (LinkFilter { campaign: own.campaign, message }, true),
            (LinkFilter { campaign: own.campaign, message: other }, false),
        ] {
            assert_eq!(filter.accepts(&own), accepted, "{filter:?}");
        }
        let campaign = own.campaign;
        assert!(!LinkFilter { campaign, ..any }.accepts(&link()), "a link of no campaign");
    }

    #[test]
    fn debug_shows_neither_code_nor_destination() {
        let shown = format!("{:?}", link());
        assert!(!shown.contains("example.com") && !shown.contains(link().code.as_str()), "{shown}");
        assert!(!format!("{:?}", link().code).contains(link().code.as_str()));
    }

    proptest! {
        #[test]
        fn every_code_that_is_drawn_reads_back(seed in any::<u64>()) {
            let code = LinkCode::draw(&SeededRandom::new(seed));
            prop_assert_eq!(code.to_string().parse(), Ok(code));
        }
    }
}
