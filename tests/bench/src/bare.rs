//! The least that a server can do: read a body, answer as many bytes.

use std::net::SocketAddr;

use bytes::Bytes;
use poem::endpoint::make;
use poem::http::StatusCode;
use poem::listener::TcpListener;
use poem::{Request, Response, Server};

use crate::Failed;

/// Serves until it is killed.
pub(crate) async fn serve(addr: SocketAddr, answer_bytes: usize) -> Result<(), Failed> {
    let answer = Bytes::from(vec![b' '; answer_bytes]);
    let endpoint = make(move |request: Request| {
        let answer = answer.clone();
        async move {
            request.into_body().into_vec().await?;
            let response = Response::builder().status(StatusCode::CREATED);
            Ok::<_, poem::Error>(response.content_type("application/json").body(answer))
        }
    });
    Server::new(TcpListener::bind(addr)).run(endpoint).await?;
    Ok(())
}
