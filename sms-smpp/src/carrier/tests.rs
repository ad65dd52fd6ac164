//! A route's connections against a peer over real sockets.

use std::collections::VecDeque;

use bytes::BytesMut;
use sms_core::random::SeededRandom;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;
use crate::address::Address;
use crate::pdu::{self, BindResp, Body, Pdu, Status};

/// What the peer says to the next texts, one after the other; then it accepts all.
#[derive(Debug, Clone, Copy)]
enum Say {
    Accept,
    Refuse(Status),
    /// Hangs up instead.
    HangUp,
}

type Script = Arc<Mutex<VecDeque<Say>>>;

/// A peer that listens on a port of its own.
struct Peer {
    port: u16,
    texts: Arc<AtomicUsize>,
    /// Texts of each connection, in the order of the binds.
    shares: Shares,
    binds: Arc<Mutex<Vec<BindMode>>>,
    _listening: JoinSet<()>,
}

type Shares = Arc<Mutex<Vec<Arc<AtomicUsize>>>>;

impl Peer {
    async fn start(script: &[Say]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script: Script = Arc::new(Mutex::new(script.iter().copied().collect()));
        let (texts, binds, shares) = (Arc::default(), Arc::default(), Shares::default());
        let mut listening = JoinSet::new();
        let (counted, bound, shared) =
            (Arc::clone(&texts), Arc::clone(&binds), Arc::clone(&shares));
        listening.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, texts, binds) =
                    (Arc::clone(&script), Arc::clone(&counted), Arc::clone(&bound));
                let share = Arc::new(AtomicUsize::new(0));
                shared.lock().unwrap().push(Arc::clone(&share));
                connections.spawn(serve(stream, script, (texts, share), binds));
            }
        });
        Self { port, texts, shares, binds, _listening: listening }
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Script,
    (texts, share): (Arc<AtomicUsize>, Arc<AtomicUsize>),
    binds: Arc<Mutex<Vec<BindMode>>>,
) {
    let mut unread = BytesMut::new();
    loop {
        let length = pdu::length(&unread).unwrap();
        let Some(length) = length.filter(|length| *length <= unread.len()) else {
            if stream.read_buf(&mut unread).await.unwrap_or(0) == 0 {
                return;
            }
            continue;
        };
        let Pdu { sequence, body, .. } = pdu::read(unread.split_to(length).freeze()).unwrap();
        let answer = match body {
            Body::Bind(mode, _) => {
                binds.lock().unwrap().push(mode);
                Pdu::answer(sequence, Body::BindResp(mode, BindResp::default()))
            }
            Body::SubmitSm(_) => {
                let number = texts.fetch_add(1, Ordering::SeqCst);
                share.fetch_add(1, Ordering::SeqCst);
                let body = Body::SubmitSmResp { message_id: number.to_string() };
                match script.lock().unwrap().pop_front().unwrap_or(Say::Accept) {
                    Say::Accept => Pdu::answer(sequence, body),
                    Say::Refuse(status) => Pdu::refusal(status, sequence, body),
                    Say::HangUp => return,
                }
            }
            Body::EnquireLink => Pdu::answer(sequence, Body::EnquireLinkResp),
            Body::Unbind => Pdu::answer(sequence, Body::UnbindResp),
            _ => continue,
        };
        let mut octets = BytesMut::new();
        pdu::write(&answer, &mut octets);
        if stream.write_all(&octets).await.is_err() {
            return;
        }
    }
}

/// A route to a port, kept by a task.
fn route(port: u16, settings: &[(&str, &str)]) -> (Arc<Carrier>, JoinHandle<()>) {
    sms_test_log::watch();
    sms_test_log::secret("gr8 duck");
    let url = format!("smpp://example@127.0.0.1:{port}");
    let variables = |name: &str| {
        let setting = name.strip_prefix("SMS_ROUTE_MAIN_")?;
        let told = settings.iter().find(|(known, _)| *known == setting);
        match setting {
            "URL" => Some(url.clone()),
            "PASSWORD" => Some("gr8 duck".to_owned()),
            _ => told.map(|(_, value)| (*value).to_owned()),
        }
    };
    let settings = Arc::new(RouteSettings::read("main", &variables).unwrap());
    let random: Arc<dyn Random> = Arc::new(SeededRandom::new(7));
    let carrier = Arc::new(Carrier::new(RouteName::new("main"), &settings, &random));
    let kept = Arc::clone(&carrier);
    let (arrivals, _) = mpsc::channel(1);
    let task = tokio::spawn(async move { kept.run(arrivals).await });
    (carrier, task)
}

async fn bound(carrier: &Carrier, count: usize) {
    let all = async {
        while carrier.standing().bound != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.expect("bound in time");
}

fn text() -> ShortMessage {
    ShortMessage::between(Address::name("a"), Address::name("b"))
}

#[tokio::test]
async fn texts_go_through_all_connections_in_turn() {
    let peer = Peer::start(&[]).await;
    let (carrier, _task) = route(peer.port, &[("BINDS", "3")]);
    bound(&carrier, 3).await;
    for _ in 0..9 {
        assert!(matches!(carrier.submit(text()).await, Submitted::Accepted { .. }));
    }
    assert_eq!(peer.texts.load(Ordering::SeqCst), 9);
    let shares = peer.shares.lock().unwrap();
    let shares: Vec<usize> = shares.iter().map(|share| share.load(Ordering::SeqCst)).collect();
    assert_eq!(shares, [3, 3, 3]);
    assert_eq!(carrier.standing().down_for, None);
}

#[tokio::test]
async fn separate_connections_are_transmitters_and_receivers() {
    let peer = Peer::start(&[]).await;
    let (carrier, _task) = route(peer.port, &[("BIND", "separate"), ("BINDS", "2")]);
    bound(&carrier, 4).await;
    let mut modes = peer.binds.lock().unwrap().clone();
    modes.sort();

    let (sends, takes) = (BindMode::Transmitter, BindMode::Receiver);
    assert_eq!(modes, [sends, sends, takes, takes]);
    assert!(matches!(carrier.submit(text()).await, Submitted::Accepted { .. }));
}

#[tokio::test]
async fn without_a_connection_nothing_is_written_and_the_route_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (carrier, _task) = route(port, &[]);
    assert_eq!(carrier.submit(text()).await, Submitted::NotWritten);
    let standing = carrier.standing();
    assert_eq!((standing.bound, standing.wanted), (0, 1));
    assert!(standing.down_for.is_some());
}

#[tokio::test]
async fn a_lost_connection_is_made_again() {
    let peer = Peer::start(&[Say::Accept, Say::HangUp]).await;
    let (carrier, _task) = route(peer.port, &[]);
    bound(&carrier, 1).await;
    assert!(matches!(carrier.submit(text()).await, Submitted::Accepted { .. }));
    assert_eq!(carrier.submit(text()).await, Submitted::Unanswered);
    bound(&carrier, 0).await;
    bound(&carrier, 1).await;
    assert!(matches!(carrier.submit(text()).await, Submitted::Accepted { .. }));
}

#[tokio::test]
async fn a_throttled_route_slows_down_and_no_other_refusal_does_that() {
    for status in [Status::THROTTLED, Status::QUEUE_FULL] {
        let script = [Say::Refuse(Status::INVALID_DESTINATION), Say::Refuse(status)];
        let peer = Peer::start(&script).await;
        let (carrier, _task) = route(peer.port, &[]);
        bound(&carrier, 1).await;
        let mut paces = Vec::new();
        for _ in 0..2 {
            assert!(matches!(carrier.submit(text()).await, Submitted::Refused(_)));
            paces.push(carrier.standing().pace);
        }
        assert!(paces[0] >= 1.0 && paces[1] < 0.6, "{paces:?}");
    }
}

#[tokio::test]
async fn unbinding_ends_every_connection_in_order() {
    let peer = Peer::start(&[]).await;
    let (carrier, task) = route(peer.port, &[("BINDS", "2")]);
    bound(&carrier, 2).await;
    let sessions: Vec<Session> = carrier.links.iter().filter_map(|link| link.session()).collect();
    carrier.unbind().await;
    for session in sessions {
        assert_eq!(session.ended().await, crate::session::Ended::ByUs);
    }
    // Every link has ended by itself: none binds again.
    assert_eq!(carrier.submit(text()).await, Submitted::NotWritten);
    assert_eq!(peer.binds.lock().unwrap().len(), 2);
    task.abort();
}

#[tokio::test]
async fn a_route_that_is_no_longer_run_is_no_longer_bound() {
    let peer = Peer::start(&[]).await;
    let (carrier, task) = route(peer.port, &[]);
    bound(&carrier, 1).await;
    task.abort();
    bound(&carrier, 0).await;
    assert_eq!(carrier.submit(text()).await, Submitted::NotWritten);
}
