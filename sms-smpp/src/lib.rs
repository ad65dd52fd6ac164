#![doc = include_str!("../README.md")]
//!
//! # Where things live
//!
//! | Module | What |
//! |---|---|
//! | [`pdu`] | reads and writes PDUs |
//! | [`address`] | phone numbers and sender names as SMPP addresses (TON, NPI) |
//! | [`coding`] | encodes characters as octets and decodes them |
//! | [`submit`] | turns a message into its `submit_sm`s |
//! | [`joining`] | finds out which segment of which message a `deliver_sm` carries |
//! | [`report`] | parses delivery receipts (DLRs) in the forms that SMSCs send |
//! | [`incoming`] | classifies a `deliver_sm`: a receipt, a message, or a segment of one |
//! | [`session`] | one bound connection: window, responses, `enquire_link` |
//! | [`link`] | keeps one connection: connects, binds, reconnects |
//! | [`carrier`] | all connections of a route |
//! | [`route`] | implements the core's `Route` over them |
//! | [`settings`] | the settings of a route |
//! | [`trust`] | the certificate authorities that TLS connections trust |
//! | [`capacity`] | measures how many messages the route can submit in a second |
//! | [`leave`] | until when a message may be submitted |
//! | [`pace`] | limits messages a second, and slows down when the SMSC throttles |

#![deny(missing_docs)]

pub mod address;
pub mod capacity;
pub mod carrier;
pub mod coding;
mod counts;
pub mod gate;
pub mod incoming;
pub mod joining;
pub mod leave;
pub mod link;
pub mod pace;
pub mod pdu;
pub mod report;
pub mod route;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod scripted_peer;
pub mod session;
pub mod settings;
pub mod submit;
pub mod trust;
