//! A receiver of webhooks. Start the server with `SMS_WEBHOOK_ALLOW_PRIVATE=true`, create an
//! endpoint with the URL http://127.0.0.1:9000/, and run this with the secret from the answer:
//!
//! `cargo run -p sms-examples --example verify_a_webhook -- whsec_…`

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use poem::endpoint::make;
use poem::http::StatusCode;
use poem::listener::TcpListener;
use poem::{Request, Route, Server, post};
use sms_webhooks::{DELIVERY_HEADER, SIGNATURE_HEADER, verify};

async fn receive(mut request: Request, secret: Arc<str>) -> poem::Result<StatusCode> {
    // Verify the body exactly as received: parsing and serialising it may change its bytes.
    let body = request.take_body().into_vec().await?;
    let header = |name: &str| request.header(name).unwrap_or_default();
    match verify(&secret, header(SIGNATURE_HEADER), &body, now()) {
        Ok(()) => {
            // A delivery may arrive twice: store the body's `id`, and skip an `id` you have seen.
            println!("{}: {}", header(DELIVERY_HEADER), String::from_utf8_lossy(&body));
            Ok(StatusCode::NO_CONTENT)
        }
        Err(reason) => {
            eprintln!("refused: {reason}");
            Ok(StatusCode::UNAUTHORIZED)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a receiver compares with the real time")]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[tokio::main]
async fn main() -> Result<(), std::io::Error> {
    let secret: Arc<str> = std::env::args().nth(1).unwrap_or_default().into();
    if !secret.starts_with("whsec_") {
        eprintln!("usage: verify_a_webhook whsec_…");
        std::process::exit(2);
    }
    let app = Route::new().at("/", post(make(move |request| receive(request, secret.clone()))));
    println!("waiting for webhooks on http://127.0.0.1:9000/");
    Server::new(TcpListener::bind("127.0.0.1:9000")).run(app).await
}
