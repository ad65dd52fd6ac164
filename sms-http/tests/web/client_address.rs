//! The client's address, as handlers find it: over real sockets, with and without a proxy.

use poem::http::Method;
use poem::{Request, endpoint};
use sms_http::web::client_address::{ClientAddress, TrustedProxies};
use sms_http::web::intake::Intake;
use sms_http::web::operation::operation;
use sms_http::web::path_pattern::PathTable;
use sms_http::web::serve::ServeLimits;

use crate::sample::limits;
use crate::socket::Server;

/// A server that answers with the address that it takes for the client's.
fn server(trusted: &str) -> Server {
    let tell = endpoint::make_sync(|request: Request| {
        request.data::<ClientAddress>().map_or("unknown".to_owned(), ToString::to_string)
    });
    let trusted: TrustedProxies = trusted.parse().unwrap();
    let routes = PathTable::new().with("/", Method::GET, operation(tell));
    let app = Intake::new(routes, limits()).with_trusted_proxies(trusted);
    Server::start(app, ServeLimits::default())
}

#[tokio::test]
async fn only_a_trusted_proxy_says_whose_request_it_is() {
    let request = "GET / HTTP/1.1\r\nHost: x\r\n\
                   X-Forwarded-For: 192.0.2.66, 203.0.113.9\r\nX-Forwarded-For: 10.0.0.2\r\n\r\n";
    for (trusted, client) in [
        ("", "127.0.0.1"),
        ("10.0.0.0/8", "127.0.0.1"),
        ("127.0.0.1", "10.0.0.2"),
        ("127.0.0.1,10.0.0.0/8", "203.0.113.9"),
    ] {
        assert_eq!(server(trusted).ask(request).await.body, client, "{trusted:?}");
    }
}
