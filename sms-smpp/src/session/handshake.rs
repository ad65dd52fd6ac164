//! The beginning of a session: `bind` and its answer.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::Settings;
use crate::pdu::{self, Body, Pdu, Status};

/// Why a session could not begin.
#[derive(Debug, thiserror::Error)]
pub enum BindFailed {
    /// The peer refuses us: a wrong name or password, or too many binds.
    #[error("the SMSC refuses the bind: {0}")]
    Refused(Status),
    /// It did not answer in time.
    #[error("the SMSC does not answer the bind")]
    Silent,
    /// The connection broke.
    #[error("the connection broke while binding")]
    Connection(#[from] std::io::Error),
    /// Something else came than an answer.
    #[error("the SMSC answers the bind with something else")]
    NoAnswer,
}

/// The number of the first request.
pub(super) const FIRST: u32 = 1;

/// Binds. Returns what came behind the answer.
pub(super) async fn handshake<S>(
    stream: &mut S,
    settings: &Settings,
) -> Result<BytesMut, BindFailed>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let bind = Body::Bind(settings.mode, Box::new(settings.bind.clone()));
    let mut octets = BytesMut::new();
    pdu::write(&Pdu::request(FIRST, bind), &mut octets);
    let answered = timeout(settings.patience, async {
        stream.write_all(&octets).await?;
        stream.flush().await?;
        answer(stream).await
    });
    answered.await.map_err(|_| BindFailed::Silent)?
}

async fn answer<S: AsyncRead + Unpin>(stream: &mut S) -> Result<BytesMut, BindFailed> {
    let mut octets = BytesMut::new();
    loop {
        let length = pdu::length(&octets).map_err(|_| BindFailed::NoAnswer)?;
        if let Some(length) = length.filter(|length| *length <= octets.len()) {
            let frame: Bytes = octets.split_to(length).freeze();
            let pdu = pdu::read(frame).map_err(|_| BindFailed::NoAnswer)?;
            return match pdu.body {
                Body::BindResp(..) if pdu.status.is_ok() => Ok(octets),
                Body::BindResp(..) | Body::GenericNack => Err(BindFailed::Refused(pdu.status)),
                _ => Err(BindFailed::NoAnswer),
            };
        }
        if stream.read_buf(&mut octets).await? == 0 {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        }
    }
}
