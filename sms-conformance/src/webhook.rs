//! Webhook endpoints and the deliveries to them.

pub(crate) mod attempt;
pub(crate) mod claim;
pub(crate) mod delivery;
pub(crate) mod endpoint;
pub(crate) mod fan_out;
pub(crate) mod pause;
pub(crate) mod replay;
pub(crate) mod retry;
pub(crate) mod switch_off;
