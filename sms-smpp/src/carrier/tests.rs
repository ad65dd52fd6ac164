//! A route's connections, with a scripted SMSC over real sockets.

use sms_core::random::SeededRandom;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::address::Address;
use crate::pdu::Status;
use crate::scripted_peer::{Peer, Say, settings_of, until};

/// The connections of a route to this port, driven by a task.
fn route(port: u16, binds: Binds) -> (Arc<Carrier>, JoinHandle<()>) {
    let random: Arc<dyn Random> = Arc::new(SeededRandom::new(7));
    route_with(&random, port, binds)
}

fn route_with(random: &Arc<dyn Random>, port: u16, binds: Binds) -> (Arc<Carrier>, JoinHandle<()>) {
    let settings = Arc::new(settings_of(port).binds(binds).unwrap());
    let carrier = Arc::new(Carrier::new(RouteName::new("main"), &settings, random));
    let kept = Arc::clone(&carrier);
    let (arrivals, _) = mpsc::channel(1);
    let task = tokio::spawn(async move { kept.run(arrivals).await });
    (carrier, task)
}

async fn bound(carrier: &Carrier, count: usize) {
    until(|| carrier.standing().bound == count).await;
}

fn text() -> ShortMessage {
    ShortMessage::between(Address::name("a"), Address::name("b"))
}

#[tokio::test]
async fn messages_use_all_connections_in_turn() {
    let peer = Peer::start(&[]).await;
    let (carrier, _task) = route(peer.port, Binds::Transceivers(3));
    bound(&carrier, 3).await;
    for _ in 0..9 {
        assert!(matches!(
            carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
            Submitted::Accepted { .. }
        ));
    }
    assert_eq!(peer.messages().len(), 9);
    assert_eq!(peer.shares(), [3, 3, 3]);
    assert_eq!(carrier.standing().down_for, None);
}

#[tokio::test]
async fn separate_connections_are_transmitters_and_receivers() {
    let peer = Peer::start(&[]).await;
    let (carrier, _task) = route(peer.port, Binds::Separate(2));
    bound(&carrier, 4).await;
    let mut modes = peer.binds();
    modes.sort();

    let (sends, takes) = (BindMode::Transmitter, BindMode::Receiver);
    assert_eq!(modes, [sends, sends, takes, takes]);
    assert!(matches!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::Accepted { .. }
    ));
}

#[tokio::test]
async fn without_a_connection_nothing_is_written_and_the_route_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (carrier, _task) = route(port, Binds::Transceivers(1));
    assert_eq!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::NotWritten
    );
    let standing = carrier.standing();
    assert_eq!((standing.bound, standing.wanted), (0, 1));
    assert!(standing.down_for.is_some());
}

#[tokio::test]
async fn a_lost_connection_is_bound_again() {
    let peer = Peer::start(&[Say::Accept, Say::HangUp]).await;
    let (carrier, _task) = route(peer.port, Binds::Transceivers(1));
    bound(&carrier, 1).await;
    assert!(matches!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::Accepted { .. }
    ));
    assert_eq!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::Unanswered
    );
    bound(&carrier, 0).await;
    bound(&carrier, 1).await;
    assert!(matches!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::Accepted { .. }
    ));
}

#[tokio::test]
async fn only_throttling_slows_a_route_down() {
    for status in [Status::THROTTLED, Status::QUEUE_FULL] {
        let script = [Say::Refuse(Status::INVALID_DESTINATION), Say::Refuse(status)];
        let peer = Peer::start(&script).await;
        let (carrier, _task) = route(peer.port, Binds::Transceivers(1));
        bound(&carrier, 1).await;
        let mut paces = Vec::new();
        for _ in 0..2 {
            assert!(matches!(
                carrier
                    .submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing())
                    .await,
                Submitted::Refused(_)
            ));
            paces.push(carrier.standing().pace);
        }
        assert!(paces[0] >= 1.0 && paces[1] < 0.6, "{paces:?}");
    }
}

#[tokio::test]
async fn unbinding_ends_every_session_and_none_binds_again() {
    let peer = Peer::start(&[]).await;
    let (carrier, task) = route(peer.port, Binds::Transceivers(2));
    bound(&carrier, 2).await;
    let sessions: Vec<Session> = carrier.links.iter().filter_map(|link| link.session()).collect();
    carrier.unbind().await;
    for session in sessions {
        assert_eq!(session.ended().await, crate::session::Ended::ByUs);
    }
    // Every link has ended; none binds again.
    assert_eq!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::NotWritten
    );
    assert_eq!(peer.binds().len(), 2);
    task.abort();
}

/// A source of randomness that panics.
#[derive(Debug)]
struct Broken;

impl Random for Broken {
    fn fill(&self, _bytes: &mut [u8]) {
        panic!("broken on purpose");
    }
}

#[tokio::test]
async fn a_link_that_panics_ends_the_route_with_that_panic() {
    let peer = Peer::start(&[Say::HangUp]).await;
    let random: Arc<dyn Random> = Arc::new(Broken);
    let (carrier, task) = route_with(&random, peer.port, Binds::Transceivers(2));
    bound(&carrier, 2).await;
    // The pause before the reconnect is random, so the link panics.
    assert_eq!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::Unanswered
    );
    let reason = timeout(Duration::from_secs(30), task).await.unwrap().unwrap_err().into_panic();
    assert_eq!(reason.downcast_ref(), Some(&"broken on purpose"));
}

#[tokio::test]
async fn a_route_that_no_longer_runs_is_no_longer_bound() {
    let peer = Peer::start(&[]).await;
    let (carrier, task) = route(peer.port, Binds::Transceivers(1));
    bound(&carrier, 1).await;
    task.abort();
    bound(&carrier, 0).await;
    assert_eq!(
        carrier.submit(text(), sms_core::dispatch::Lane::Normal, || {}, Heard::nothing()).await,
        Submitted::NotWritten
    );
}
