//! Parses delivery receipts (DLRs) in the forms that SMSCs send.
//!
//! A receipt is a `deliver_sm` or `data_sm` whose text is a line of `name:value` pairs
//! (appendix B), or one with the TLVs [`Tag::RECEIPTED_MESSAGE_ID`] and [`Tag::MESSAGE_STATE`], or
//! both. The TLVs take precedence, because they are truncated less often.

use sms_core::message::ErrorCode;
use sms_core::receipt::ReceiptStatus;
use sms_core::route::Reading;

use crate::pdu::{Kind, ShortMessage, Tag};

mod written;

use written::{Wanted, Written};

/// What a receipt says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The SMSC's message id, as the receipt spells it.
    pub id: String,
    /// The state of the message.
    pub state: State,
    /// The network's error code, as the receipt spells it; empty or zeros for none.
    pub error: String,
}

/// The state of a message at the SMSC (5.2.28 and appendix B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It is still under way: an intermediate receipt.
    EnRoute,
    /// It reached the handset.
    Delivered,
    /// Its validity period ended before it could be delivered.
    Expired,
    /// It was deleted at the SMSC.
    Deleted,
    /// It cannot be delivered.
    Undeliverable,
    /// Customer service has read it on the subscriber's behalf; not final, so it counts as under
    /// way.
    Accepted,
    /// The SMSC does not know.
    Unknown,
    /// The network refused it.
    Rejected,
}

impl State {
    /// The state with this number (5.2.28; 5.0, 4.7.15, has 0 and 9).
    fn of_number(number: u32) -> Option<Self> {
        Some(match number {
            // 0 is scheduled.
            0 | 1 => Self::EnRoute,
            2 => Self::Delivered,
            3 => Self::Expired,
            4 => Self::Deleted,
            // 9 is skipped.
            5 | 9 => Self::Undeliverable,
            6 => Self::Accepted,
            7 => Self::Unknown,
            8 => Self::Rejected,
            _ => return None,
        })
    }

    /// The state with this name (appendix B), in any case, or with this number. Some SMSCs do not
    /// abbreviate the names, and some abbreviate them in their own way.
    fn of_word(word: &str) -> Option<Self> {
        let word = word.trim_matches(|it: char| !it.is_ascii_alphanumeric()).to_ascii_uppercase();
        if word.len() <= 2 && word.bytes().all(|it| it.is_ascii_digit()) {
            return word.parse().ok().and_then(Self::of_number);
        }
        Some(match word.as_str() {
            "ENROUTE" | "EN_ROUTE" | "BUFFERED" | "BUFFERD" | "SCHEDULED" => Self::EnRoute,
            "DELIVRD" | "DELIVERED" | "DELIVERD" | "SUCCESS" => Self::Delivered,
            "EXPIRED" | "EXPIRD" => Self::Expired,
            "DELETED" | "DELETD" | "CANCELLED" | "CANCELED" => Self::Deleted,
            "UNDELIV" | "UNDELIVRD" | "UNDELIVERABLE" | "UNDELIVERED" | "UNDELIVERD" | "FAILED"
            | "FAIL" | "SKIPPED" => Self::Undeliverable,
            "ACCEPTD" | "ACCEPTED" => Self::Accepted,
            "UNKNOWN" => Self::Unknown,
            "REJECTD" | "REJECTED" => Self::Rejected,
            _ => return None,
        })
    }
}

impl Report {
    /// Parses a receipt; `None` when the message is not one.
    ///
    /// A receipt has the receipt bits in its `esm_class`, or both TLVs, because some SMSCs do not
    /// set the bits. The text alone is not enough, because anyone can send such a text. An
    /// intermediate notification counts if it says that the message was delivered.
    pub fn read(message: &ShortMessage) -> Option<Self> {
        let id = message.tlvs.text(Tag::RECEIPTED_MESSAGE_ID).map(|id| bare(&id).to_owned());
        // An id without printable characters identifies no message.
        let names_one = |id: &String| id.trim().chars().any(|character| !character.is_control());
        let id = id.filter(names_one);
        let number = message.tlvs.number(Tag::MESSAGE_STATE);
        match message.kind() {
            Kind::Receipt | Kind::Intermediate => {}
            Kind::Message if id.is_some() && number.is_some() => {}
            Kind::Message | Kind::Other => return None,
        }
        let state = number.and_then(State::of_number);
        let wanted = if state.is_some() { Wanted::Nothing } else { Wanted::State };
        let written = Written::of(message, wanted);
        let id = id.or(written.id).filter(names_one)?;
        let state = state.or_else(|| State::of_word(&written.state?))?;
        if message.kind() == Kind::Intermediate && state != State::Delivered {
            return None;
        }
        let error = network_error(message).or(written.error).unwrap_or_default();
        Some(Self { id, state, error })
    }

    /// The outcome of the message; `None` while it is under way.
    pub fn outcome(&self) -> Option<ReceiptStatus> {
        Some(match self.state {
            State::EnRoute | State::Accepted => return None,
            State::Delivered => ReceiptStatus::Delivered,
            State::Expired => ReceiptStatus::Undelivered(match self.error_number() {
                // The error explains why it could not be delivered, such as an absent handset.
                Some(error) if error != 0 => self.error_code(),
                _ => ErrorCode::Expired,
            }),
            State::Rejected => ReceiptStatus::Undelivered(ErrorCode::RejectedByNetwork),
            State::Deleted | State::Undeliverable | State::Unknown => {
                ReceiptStatus::Undelivered(self.error_code())
            }
        })
    }

    fn error_number(&self) -> Option<u32> {
        self.error.trim().parse().ok()
    }

    /// The error code for the MAP errors that networks commonly report (3GPP TS 29.002, 17.6.6).
    fn error_code(&self) -> ErrorCode {
        match self.error_number() {
            // Unknown, unidentified or illegal subscriber; number changed or withdrawn.
            Some(1 | 5 | 9 | 12) => ErrorCode::UnknownSubscriber,
            // Absent subscriber, in its several forms.
            Some(6 | 27 | 31) => ErrorCode::AbsentSubscriber,
            _ => ErrorCode::NetworkError,
        }
    }
}

fn network_error(message: &ShortMessage) -> Option<String> {
    match message.tlvs.find(Tag::NETWORK_ERROR_CODE).map(|value| &value[..]) {
        Some([_, high, low]) => Some(u16::from_be_bytes([*high, *low]).to_string()),
        _ => None,
    }
}

/// How an SMSC's receipts spell the message ids of its `submit_sm_resp`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdForm {
    /// The same in both.
    #[default]
    Same,
    /// Hexadecimal in the response, decimal in the receipt.
    HexThenDecimal,
    /// Decimal in the response, hexadecimal in the receipt.
    DecimalThenHex,
}

impl IdForm {
    /// The id of a response, normalised so that it equals the id of its receipt.
    pub fn of_answer(self, id: &str) -> String {
        match self {
            Self::Same => plain(id),
            Self::HexThenDecimal => number(id, 16).unwrap_or_else(|| plain(id)),
            Self::DecimalThenHex => number(id, 10).unwrap_or_else(|| plain(id)),
        }
    }

    /// How else an id that [`of_receipt`](Self::of_receipt) made could be read, and what
    /// [`of_answer`](Self::of_answer) would then have made of the response.
    pub fn readings(self, id: &str) -> Vec<Reading> {
        let told = self.as_told(id);
        let others = [Self::Same, Self::HexThenDecimal, Self::DecimalThenHex];
        let others = others.into_iter().filter(|other| *other != self);
        let reading = |other: Self| {
            let mut ids: Vec<String> =
                other.answers(&told).iter().map(|answer| self.of_answer(answer)).collect();
            ids.sort_unstable();
            ids.dedup();
            // The one that did not match.
            ids.retain(|known| known != id);
            Reading { hint: other.hint(), ids }
        };
        others.map(reading).filter(|reading| !reading.ids.is_empty()).collect()
    }

    /// The id of a receipt as the SMSC spelled it, up to leading zeros.
    fn as_told(self, id: &str) -> String {
        match self {
            Self::Same | Self::HexThenDecimal => id.to_owned(),
            Self::DecimalThenHex => {
                id.parse().map_or_else(|_| id.to_owned(), |number: u128| format!("{number:x}"))
            }
        }
    }

    /// The ids that a response may have had if the receipts of this form say `told`.
    fn answers(self, told: &str) -> Vec<String> {
        match self {
            Self::Same => vec![told.to_owned()],
            Self::HexThenDecimal => {
                let Ok(number) = told.parse::<u128>() else { return Vec::new() };
                let hex = |width: &usize| format!("{number:0width$x}", width = *width);
                HEX_WIDTHS.iter().map(hex).collect()
            }
            Self::DecimalThenHex => number(told, 16).into_iter().collect(),
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Same => "ids look like ours without a conversion: try IDS=same",
            Self::HexThenDecimal => {
                "ids look like the decimal form of ours, which are hexadecimal: try IDS=hex-decimal"
            }
            Self::DecimalThenHex => {
                "ids look like the hexadecimal form of ours, which are decimal: try IDS=decimal-hex"
            }
        }
    }

    /// The id of a receipt, normalised so that it equals the id of its response.
    pub fn of_receipt(self, id: &str) -> String {
        match self {
            Self::Same => plain(id),
            Self::HexThenDecimal => number(id, 10).unwrap_or_else(|| plain(id)),
            Self::DecimalThenHex => number(id, 16).unwrap_or_else(|| plain(id)),
        }
    }
}

/// The id without white space and quotes around it.
fn bare(id: &str) -> &str {
    id.trim_matches(|it: char| it.is_whitespace() || matches!(it, '"' | '\''))
}

/// The id trimmed and in lower case, because SMSCs mix the case of hexadecimal digits, and without
/// the `0x` that may come before these. Control characters, which a store may refuse, are removed;
/// so is all beyond 64 characters (5.2.23). An id of digits has no leading zeros, because some
/// SMSCs drop them in receipts.
fn plain(id: &str) -> String {
    let kept = bare(id).chars().filter(|character| !character.is_control());
    let id = kept.take(LONGEST_ID).collect::<String>().to_ascii_lowercase();
    let is_hex =
        |digits: &&str| !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    let id = id.strip_prefix("0x").filter(is_hex).unwrap_or(&id);
    let is_number = !id.is_empty() && id.bytes().all(|octet| octet.is_ascii_digit());
    match id.trim_start_matches('0') {
        "" if is_number => "0".to_owned(),
        digits if is_number => digits.to_owned(),
        _ => id.to_owned(),
    }
}

const LONGEST_ID: usize = 64;

/// The lengths to which SMSCs fill hexadecimal ids up with zeros.
const HEX_WIDTHS: [usize; 6] = [1, 8, 10, 12, 16, 32];

/// The number in decimal, without leading zeros. Control characters count for nothing.
fn number(id: &str, radix: u32) -> Option<String> {
    let id: String = id.chars().filter(|character| !character.is_control()).collect();
    let digits = bare(&id);
    let digits = digits.strip_prefix("0x").or(digits.strip_prefix("0X")).unwrap_or(digits);
    u128::from_str_radix(digits, radix).ok().map(|number| number.to_string())
}

#[cfg(test)]
mod tests;
