//! A receiver of webhooks. Start the server with `SMS_WEBHOOK_ALLOW_PRIVATE=true`, make an endpoint
//! with the URL http://127.0.0.1:9000/, and run this with the secret that the answer shows:
//!
//! `cargo run -p sms-examples --example verify_a_webhook -- whsec_…`

use std::time::{SystemTime, UNIX_EPOCH};

use poem::http::StatusCode;
use poem::listener::TcpListener;
use poem::{EndpointExt, Request, Server, handler, post};
use sms_webhooks::{DELIVERY_HEADER, SIGNATURE_HEADER, verify};

struct Secret(String);

#[handler]
fn receive(request: &Request, body: Vec<u8>, secret: poem::web::Data<&std::sync::Arc<Secret>>) -> StatusCode {
    let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
    // The body exactly as received: parsing it first and writing it again may change its bytes.
    match verify(&secret.0.0, &header(SIGNATURE_HEADER), &body, now()) {
        Ok(()) => {
            // The same delivery may come twice; remember the body's `id` and skip what you know.
            println!("{}: {}", header(DELIVERY_HEADER), String::from_utf8_lossy(&body));
            StatusCode::NO_CONTENT
        }
        Err(reason) => {
            eprintln!("refused: {reason}");
            StatusCode::UNAUTHORIZED
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
    let secret = std::env::args().nth(1).unwrap_or_default();
    if !secret.starts_with("whsec_") {
        eprintln!("usage: verify_a_webhook whsec_…");
        std::process::exit(2);
    }
    let app = poem::Route::new().at("/", post(receive)).data(std::sync::Arc::new(Secret(secret)));
    println!("waiting for webhooks on http://127.0.0.1:9000/");
    Server::new(TcpListener::bind("127.0.0.1:9000")).run(app).await
}
