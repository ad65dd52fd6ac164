//! Messages that come in.

pub(crate) mod answer;
pub(crate) mod opt_out;
pub(crate) mod part;
pub(crate) mod routing;
