//! Messages that come in.

pub(crate) mod answer;
pub(crate) mod opt_out;
pub(crate) mod originator;
pub(crate) mod release;
pub(crate) mod routing;
pub(crate) mod segment;
