//! Starts a session: sends the bind request, reads its response (4.1).

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::settings::Settings;
use crate::pdu::{self, Body, Pdu, Status};

/// Why a bind failed.
#[derive(Debug, thiserror::Error)]
pub enum BindFailed {
    /// The SMSC refused it: a wrong system_id or password, or too many binds.
    #[error("the SMSC refused the bind: {0}")]
    Refused(Status),
    /// The SMSC did not respond in time.
    #[error("the SMSC did not respond to the bind")]
    Silent,
    /// The connection broke before the response.
    #[error("the connection broke while binding")]
    Connection(#[from] std::io::Error),
    /// The first PDU was not a bind response, or was not SMPP.
    #[error("the SMSC did not answer the bind with a bind response")]
    NoAnswer,
}

/// The sequence number of the bind request.
pub(super) const FIRST: u32 = 1;

/// Binds. Returns the octets that followed the response.
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
