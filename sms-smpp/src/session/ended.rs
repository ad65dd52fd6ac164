//! Why a session ended.

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// This side sent `unbind`, and the SMSC confirmed it.
    #[error("unbound")]
    ByUs,
    /// The SMSC sent `unbind`.
    #[error("the SMSC unbound")]
    ByPeer,
    /// The connection broke or was closed without an `unbind`.
    #[error("the connection was lost")]
    Lost,
    /// An `enquire_link` or `unbind` got no response in time.
    #[error("the SMSC no longer responds")]
    Silent,
    /// The octets received are not SMPP PDUs.
    #[error("received octets that are not an SMPP PDU")]
    OutOfStep,
}
