//! Limits on people without a key: made-up keys and short links, counted by the address that the
//! requests come from.

use std::time::Duration;

use serde_json::Value;
use sms_core::account::Mode;
use sms_core::account::api_key::ApiKey;
use sms_core::random::SeededRandom;
use sms_http::web::serve::ServeLimits;

use crate::link::link;
use crate::rig::{Account, Rig};
use crate::socket::{Answer, Server};
use crate::watched::keep_private;

/// The rig's application on a socket, behind a proxy that says whose request it is.
fn serve(rig: &Rig) -> Server {
    Server::start(rig.app.clone(), ServeLimits::default())
}

/// GET from this address, with a key or none.
async fn get(server: &Server, from: &str, path: &str, key: Option<&str>) -> Answer {
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {from}\r\n{key}\r\n");
    server.ask(head).await
}

/// How many of so many answers are not 429.
async fn answered(server: &Server, from: &str, path: &str, requests: usize) -> usize {
    let mut answered = 0;
    for _ in 0..requests {
        let answer = get(server, from, path, None).await;
        if answer.status == 429 {
            assert_eq!(answer.code(), "rate_limited");
            assert_eq!(answer.header("retry-after"), Some("1"));
        } else {
            answered += 1;
        }
    }
    answered
}

async fn clicks(account: &Account, link: &Value) -> u64 {
    let path = format!("/links/{}", link["id"].as_str().unwrap());
    account.live.get(&path).await.ok()["clicks"].as_u64().unwrap()
}

/// A key that no account has.
fn made_up(n: u64) -> String {
    let key = ApiKey::generate(Mode::Live, &SeededRandom::new(1_000 + n));
    keep_private(key.reveal().as_bytes());
    key.reveal().to_owned()
}

#[tokio::test]
async fn an_address_asks_for_twenty_unknown_keys_at_once_and_five_a_second() {
    let rig = Rig::new().await;
    let server = serve(&rig);
    let account = rig.account(10).await;
    let (known, new) = (account.live.token.unwrap(), account.test.token.unwrap());
    let (bad, good) = ("203.0.113.9", "203.0.113.10");
    let status = async |from, key: &str| get(&server, from, "/api/v1/balance", Some(key)).await;
    assert_eq!(status(bad, &known).await.status, 200);
    for n in 0..20 {
        assert_eq!(status(bad, &made_up(n)).await.status, 401, "{n}");
    }
    let refused = status(bad, &made_up(20)).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    // The same key again counts, too; a malformed one asks nobody.
    assert_eq!(status(bad, &made_up(0)).await.status, 429);
    assert_eq!(status(bad, "nonsense").await.status, 401);
    // Whoever had a valid key goes on, even from there. Others are not concerned.
    assert_eq!(status(bad, &known).await.status, 200);
    assert_eq!(status(bad, &new).await.status, 429);
    assert_eq!(status(good, &made_up(21)).await.status, 401);
    rig.pass_real(Duration::from_secs(1));
    for n in 0..4 {
        assert_eq!(status(bad, &made_up(n)).await.status, 401, "{n}");
    }
    assert_eq!(status(bad, &new).await.status, 200);
    assert_eq!(status(bad, &made_up(4)).await.status, 401, "a valid key is not counted");
    assert_eq!(status(bad, &made_up(5)).await.status, 429);
}

#[tokio::test]
async fn a_code_is_answered_twenty_times_at_once_and_five_times_a_second() {
    let rig = Rig::new().await;
    let server = serve(&rig);
    let account = rig.account(10).await;
    let (first, second) = (
        link(&account, "https://example.com/menu").await,
        link(&account, "https://example.com/map").await,
    );
    let path = |link: &Value| format!("/l/{}", link["code"].as_str().unwrap());
    // By whomever.
    assert_eq!(answered(&server, "203.0.113.9", &path(&first), 15).await, 15);
    assert_eq!(answered(&server, "203.0.113.10", &path(&first), 15).await, 5);
    assert_eq!(answered(&server, "203.0.113.9", &path(&second), 1).await, 1);
    rig.pass_real(Duration::from_secs(2));
    assert_eq!(answered(&server, "203.0.113.11", &path(&first), 15).await, 10);
    // Each answer is a hit, and nothing else is.
    assert_eq!(clicks(&account, &first).await, 30);
    assert_eq!(clicks(&account, &second).await, 1);
}

#[tokio::test]
async fn an_address_follows_two_hundred_links_at_once_and_fifty_a_second() {
    let rig = Rig::new().await;
    let server = serve(&rig);
    let follow = async |from: &str, codes: std::ops::Range<u32>| {
        let mut followed = 0;
        for code in codes {
            followed += answered(&server, from, &format!("/l/{code:010}"), 1).await;
        }
        followed
    };
    assert_eq!(follow("203.0.113.9", 0..210).await, 200);
    assert_eq!(follow("203.0.113.10", 300..310).await, 10);
    // One client usually has 2^64 addresses of IPv6.
    assert_eq!(follow("2001:db8::1", 400..600).await, 200);
    assert_eq!(follow("2001:db8::2", 600..601).await, 0);
    rig.pass_real(Duration::from_secs(1));
    assert_eq!(follow("203.0.113.9", 700..760).await, 50);
}
