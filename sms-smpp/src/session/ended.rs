//! Why a session ended.

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// This side unbound.
    #[error("unbound")]
    ByUs,
    /// The SMSC unbound.
    #[error("the SMSC unbound")]
    ByPeer,
    /// The connection broke.
    #[error("the connection was lost")]
    Lost,
    /// An `enquire_link` or `unbind` got no response in time.
    #[error("the SMSC no longer responds")]
    Silent,
    /// The octets received are not SMPP PDUs.
    #[error("received octets that are not an SMPP PDU")]
    OutOfStep,
}
