#![doc = include_str!("../README.md")]
//!
//! # Where things live
//!
//! | Module | What |
//! |---|---|
//! | [`pdu`] | the protocol's units, written and read |
//! | [`address`] | numbers and names, and how the protocol tells them apart |
//! | [`coding`] | characters into octets and back |
//! | [`submit`] | a text into the `submit_sm`s that carry it |
//! | [`joining`] | which part of which text a `deliver_sm` brings |
//! | [`report`] | receipts (DLRs), in the forms found in the wild |
//! | [`incoming`] | a `deliver_sm`: a receipt, a text, or a part of one |
//! | [`session`] | one bound connection: window, answers, signs of life |
//! | [`link`] | one connection that is always to be there: made, bound, made again |
//! | [`carrier`] | all connections of a route |
//! | [`route`] | the core's route over them: texts handed over, receipts and texts taken in |
//! | [`settings`] | how a route is set up |
//! | [`trust`] | which authorities may vouch for a peer over TLS |
//! | [`pace`] | texts a second, and slowing down when the peer asks for it |

#![deny(missing_docs)]

pub mod address;
pub mod carrier;
pub mod coding;
pub mod incoming;
pub mod joining;
pub mod link;
pub mod pace;
pub mod pdu;
pub mod report;
pub mod route;
#[cfg(test)]
mod scripted_peer;
pub mod session;
pub mod settings;
pub mod submit;
pub mod trust;
