//! The laws that fuzzing tries on everything that reads what other people write: one module per
//! target, each with a `check` that panics where a law is broken. Where a rule is short, it stands
//! here a second time, written apart from the program's own code.

#![expect(clippy::missing_panics_doc, reason = "a law that is broken panics")]

mod input;
pub mod links;
pub mod merge;
pub mod parts;
pub mod phone;
mod refusal;
pub mod requests;
mod service;
pub mod smpp_incoming;
pub mod smpp_pdu;
pub mod tokens;
mod width;

pub(crate) use input::text_of;

/// Tries the laws of a target on an input.
pub type Check = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Check); 8] = [
    ("phone", phone::check),
    ("parts", parts::check),
    ("merge", merge::check),
    ("links", links::check),
    ("tokens", tokens::check),
    ("smpp_pdu", smpp_pdu::check),
    ("smpp_incoming", smpp_incoming::check),
    ("requests", requests::check),
];
