//! Parses delivery receipts (DLRs) in the forms that SMSCs send.
//!
//! A receipt is a `deliver_sm` whose text is a line of `name:value` pairs (appendix B), or one with
//! the TLVs [`Tag::RECEIPTED_MESSAGE_ID`] and [`Tag::MESSAGE_STATE`], or both. The TLVs take
//! precedence, because they are truncated less often.

use sms_core::message::ErrorCode;
use sms_core::receipt::ReceiptStatus;

use crate::pdu::{ShortMessage, Tag};

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
    /// The state with this number (5.2.28).
    fn of_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::EnRoute,
            2 => Self::Delivered,
            3 => Self::Expired,
            4 => Self::Deleted,
            5 => Self::Undeliverable,
            6 => Self::Accepted,
            7 => Self::Unknown,
            8 => Self::Rejected,
            _ => return None,
        })
    }

    /// The state with this name (appendix B), in any case; some SMSCs do not abbreviate it.
    fn of_word(word: &str) -> Option<Self> {
        let word = word.to_ascii_uppercase();
        Some(match word.as_str() {
            "ENROUTE" | "BUFFERED" | "SCHEDULED" => Self::EnRoute,
            "DELIVRD" | "DELIVERED" => Self::Delivered,
            "EXPIRED" => Self::Expired,
            "DELETED" => Self::Deleted,
            "UNDELIV" | "UNDELIVERABLE" | "UNDELIVERED" | "FAILED" => Self::Undeliverable,
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
    /// set the bits. The text alone is not enough, because anyone can send such a text.
    pub fn read(message: &ShortMessage) -> Option<Self> {
        let words = String::from_utf8_lossy(message.octets()).into_owned();
        let id = message.tlvs.text(Tag::RECEIPTED_MESSAGE_ID).map(|id| id.trim().to_owned());
        // An id without printable characters identifies no message.
        let names_one = |id: &String| id.trim().chars().any(|character| !character.is_control());
        let id = id.filter(names_one);
        let number = message.tlvs.number(Tag::MESSAGE_STATE);
        if !(message.is_marked_as_receipt() || (id.is_some() && number.is_some())) {
            return None;
        }
        let written = Written::read(&words);
        let id = id.or(written.id).filter(names_one)?;
        let state = number.and_then(State::of_number);
        let state = state.or_else(|| State::of_word(&written.state?))?;
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

/// The names in a receipt's text; `submit date` and `done date` by their first word.
const NAMES: [&str; 8] = ["id:", "sub:", "dlvrd:", "submit", "done", "stat:", "err:", "text:"];

/// What a receipt's text says.
#[derive(Debug, Default)]
struct Written {
    id: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

impl Written {
    /// Finds the pairs that matter. Ignores everything after `text:`, which quotes the message and
    /// may itself contain pairs.
    fn read(words: &str) -> Self {
        let lower = words.to_ascii_lowercase();
        let end = lower.find(" text:").unwrap_or(lower.len());
        let value = |name: &str| -> Option<String> {
            let head = lower.get(..end)?;
            let mut from = 0;
            while let Some(found) = head.get(from..)?.find(name) {
                let at = from + found;
                from = at + name.len();
                // Other names may end in `id:` too.
                if at == 0 || head.as_bytes()[at - 1] == b' ' {
                    let value = words.get(from..end)?;
                    let value = value.split_whitespace().next().unwrap_or_default();
                    // After an empty value comes the next name.
                    let is_name = NAMES.iter().any(|name| begins_with(value, name));
                    return (!value.is_empty() && !is_name).then(|| value.to_owned());
                }
            }
            None
        };
        Self { id: value("id:"), state: value("stat:"), error: value("err:") }
    }
}

/// Whether the value begins with a name, in any case.
fn begins_with(value: &str, name: &str) -> bool {
    value.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
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

    /// The id of a receipt, normalised so that it equals the id of its response.
    pub fn of_receipt(self, id: &str) -> String {
        match self {
            Self::Same => plain(id),
            Self::HexThenDecimal => number(id, 10).unwrap_or_else(|| plain(id)),
            Self::DecimalThenHex => number(id, 16).unwrap_or_else(|| plain(id)),
        }
    }
}

/// The id trimmed and in lower case, because SMSCs mix the case of hexadecimal digits. Control
/// characters, which a store may refuse, are removed; so is all beyond 64 characters (5.2.23).
fn plain(id: &str) -> String {
    let kept = id.trim().chars().filter(|character| !character.is_control());
    kept.take(LONGEST_ID).collect::<String>().to_ascii_lowercase()
}

const LONGEST_ID: usize = 64;

/// The number in decimal, without leading zeros.
fn number(id: &str, radix: u32) -> Option<String> {
    let digits = id.trim();
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    u128::from_str_radix(digits, radix).ok().map(|number| number.to_string())
}

#[cfg(test)]
mod tests;
