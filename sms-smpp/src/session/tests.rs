//! A session against a peer that the test itself plays.

mod arrivals;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use sms_test_smsc::PASSWORD;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

use super::*;
use crate::address::Address;
use crate::pdu::{self, Bind, BindMode, BindResp, Body, Pdu, Status};
use crate::scripted_peer;

/// The other side of the connection.
struct Peer {
    stream: DuplexStream,
    unread: BytesMut,
}

impl Peer {
    async fn read(&mut self) -> Option<Pdu> {
        scripted_peer::read(&mut self.stream, &mut self.unread).await
    }

    /// The sequence number and the user data of the next `submit_sm`.
    async fn text(&mut self) -> (u32, Bytes) {
        match self.read().await.unwrap() {
            Pdu { sequence, body: Body::SubmitSm(message), .. } => {
                (sequence, message.short_message)
            }
            other => panic!("not a submit_sm: {other:?}"),
        }
    }

    async fn say(&mut self, pdu: Pdu) {
        scripted_peer::write(&mut self.stream, &pdu).await.unwrap();
    }

    async fn accept(&mut self, sequence: u32, id: &str) {
        self.say(Pdu::answer(sequence, Body::SubmitSmResp { message_id: id.to_owned() })).await;
    }

    async fn take_bind(&mut self) {
        let Some(Pdu { sequence, body: Body::Bind(mode, _), .. }) = self.read().await else {
            panic!("no bind")
        };
        let answer = BindResp { system_id: "peer".to_owned(), version: Some(0x34) };
        self.say(Pdu::answer(sequence, Body::BindResp(mode, answer))).await;
    }
}

fn settings(window: usize) -> Settings {
    sms_test_log::watch();
    sms_test_log::secret(PASSWORD);
    let bind = Bind {
        system_id: "example".to_owned(),
        password: PASSWORD.to_owned(),
        system_type: String::new(),
        version: 0x34,
    };
    Settings { window, ..Settings::new(bind) }
}

fn message(words: &str) -> ShortMessage {
    sms_test_log::secret(words);
    let blank = ShortMessage::between(Address::name("a"), Address::name("b"));
    ShortMessage { short_message: Bytes::copy_from_slice(words.as_bytes()), ..blank }
}

/// A session and its peer.
async fn bound(window: usize) -> (Session, mpsc::Receiver<Arrival>, Peer) {
    let (ours, theirs) = duplex(1 << 20);
    let mut peer = Peer { stream: theirs, unread: BytesMut::new() };
    let ((session, arrivals), ()) =
        tokio::join!(async { bind(ours, settings(window)).await.unwrap() }, peer.take_bind());
    (session, arrivals, peer)
}

/// Submits a message on a task.
fn submit(session: &Session, words: &str) -> tokio::task::JoinHandle<Submitted> {
    let (session, message) = (session.clone(), message(words));
    tokio::spawn(async move { session.submit(message).await })
}

fn accepted(id: &str) -> Submitted {
    Submitted::Accepted { id: id.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn a_refused_bind_says_why() {
    let (ours, theirs) = duplex(1 << 16);
    let mut peer = Peer { stream: theirs, unread: BytesMut::new() };
    let refuse = async {
        let asked = peer.read().await.unwrap();
        let body = Body::BindResp(BindMode::Transceiver, BindResp::default());
        peer.say(Pdu::refusal(Status::INVALID_PASSWORD, asked.sequence, body)).await;
    };
    let (bound, ()) = tokio::join!(bind(ours, settings(1)), refuse);
    assert!(matches!(bound, Err(BindFailed::Refused(Status::INVALID_PASSWORD))));
}

#[tokio::test(start_paused = true)]
async fn a_bind_without_a_response_fails_after_the_timeout() {
    let (ours, _theirs) = duplex(1 << 16);
    assert!(matches!(bind(ours, settings(1)).await, Err(BindFailed::Silent)));
    let (ours, theirs) = duplex(1 << 16);
    drop(theirs);
    assert!(matches!(bind(ours, settings(1)).await, Err(BindFailed::Connection(_))));
}

#[tokio::test(start_paused = true)]
async fn each_request_gets_its_own_response_whatever_their_order() {
    let (session, _arrivals, mut peer) = bound(10).await;
    let messages: Vec<_> = ["one", "two", "three"].map(|words| submit(&session, words)).into();
    let mut asked = Vec::new();
    for _ in 0..3 {
        asked.push(peer.text().await);
    }
    asked.reverse();
    for (sequence, words) in asked {
        match &words[..] {
            b"two" => {
                let body = Body::SubmitSmResp { message_id: String::new() };
                peer.say(Pdu::refusal(Status::THROTTLED, sequence, body)).await;
            }
            words => peer.accept(sequence, std::str::from_utf8(words).unwrap()).await,
        }
    }
    let mut results = Vec::new();
    for text in messages {
        results.push(text.await.unwrap());
    }
    let expected = [accepted("one"), Submitted::Refused(Status::THROTTLED), accepted("three")];
    assert_eq!(results, expected);
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_outstanding_than_the_window_allows() {
    let (session, _arrivals, mut peer) = bound(3).await;
    let messages: Vec<_> = (0..10).map(|n| submit(&session, &n.to_string())).collect();
    let mut waiting = std::collections::VecDeque::new();
    for _ in 0..3 {
        waiting.push_back(peer.text().await.0);
    }
    let nothing = tokio::time::timeout(Duration::from_secs(5), peer.text()).await;
    assert!(nothing.is_err(), "a fourth request before a response");
    for answered in 0..10 {
        peer.accept(waiting.pop_front().unwrap(), "id").await;
        if answered < 7 {
            waiting.push_back(peer.text().await.0);
        }
    }
    for text in messages {
        assert_eq!(text.await.unwrap(), accepted("id"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_or_unexpected_response_is_ignored() {
    let (session, _arrivals, mut peer) = bound(1).await;
    let first = submit(&session, "one");
    let (sequence, _) = peer.text().await;
    for id in ["a", "b", "b"] {
        peer.accept(sequence, id).await;
    }
    peer.accept(77, "c").await;
    assert_eq!(first.await.unwrap(), accepted("a"));
    let second = submit(&session, "two");
    let (sequence, _) = peer.text().await;
    peer.accept(sequence, "d").await;
    assert_eq!(second.await.unwrap(), accepted("d"));
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_leaves_written_requests_unanswered_and_others_not_written() {
    let (session, _arrivals, mut peer) = bound(1).await;
    let written = submit(&session, "one");
    peer.text().await;
    let queued = submit(&session, "two");
    tokio::task::yield_now().await;
    drop(peer);
    assert_eq!(written.await.unwrap(), Submitted::Unanswered);
    assert_eq!(queued.await.unwrap(), Submitted::NotWritten);
    assert_eq!(session.ended().await, Ended::Lost);
    assert_eq!(session.submit(message("three")).await, Submitted::NotWritten);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_connection_never_accepted_was_not_written() {
    // Room for little more than the bind.
    let (ours, theirs) = duplex(64);
    let mut peer = Peer { stream: theirs, unread: BytesMut::new() };
    let ((session, _arrivals), ()) =
        tokio::join!(async { bind(ours, settings(10)).await.unwrap() }, peer.take_bind());
    let messages: Vec<_> = (0..3).map(|_| submit(&session, &"x".repeat(100))).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(peer);
    let mut results = Vec::new();
    for text in messages {
        results.push(text.await.unwrap());
    }
    let expected = [Submitted::Unanswered, Submitted::NotWritten, Submitted::NotWritten];
    assert_eq!(results, expected, "only the first was partly written");
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_peer_stops_responding_ends_after_the_timeout() {
    let (session, _arrivals, mut peer) = bound(1).await;
    let text = submit(&session, "one");
    peer.text().await;
    let start = tokio::time::Instant::now();
    assert_eq!(text.await.unwrap(), Submitted::Unanswered);
    assert_eq!(start.elapsed().as_secs(), 30);
    // An `enquire_link` was sent, and gets no response either.
    assert_eq!(session.ended().await, Ended::Silent);
    assert_eq!(start.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn one_missing_response_does_not_affect_other_requests() {
    let (session, _arrivals, mut peer) = bound(2).await;
    let lost = submit(&session, "lost");
    let _ = peer.text().await;
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let text = submit(&session, "one");
        let (sequence, _) = peer.text().await;
        peer.accept(sequence, "id").await;
        assert_eq!(text.await.unwrap(), accepted("id"));
    }
    assert_eq!(lost.await.unwrap(), Submitted::Unanswered);
    assert!(session.is_open());
    assert_eq!(session.free_slots(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_late_response_within_the_timeout_counts() {
    let (session, _arrivals, mut peer) = bound(1).await;
    let text = submit(&session, "one");
    let (sequence, _) = peer.text().await;
    tokio::time::sleep(Duration::from_secs(29)).await;
    peer.accept(sequence, "late").await;
    assert_eq!(text.await.unwrap(), accepted("late"));
}

#[tokio::test(start_paused = true)]
async fn enquire_link_is_sent_and_answered() {
    let (session, _arrivals, mut peer) = bound(1).await;
    for _ in 0..3 {
        let start = tokio::time::Instant::now();
        let asked = peer.read().await.unwrap();
        assert_eq!(asked.body, Body::EnquireLink);
        assert_eq!(start.elapsed().as_secs(), 30);
        peer.say(Pdu::answer(asked.sequence, Body::EnquireLinkResp)).await;
    }
    peer.say(Pdu::request(7, Body::EnquireLink)).await;
    assert_eq!(peer.read().await.unwrap(), Pdu::answer(7, Body::EnquireLinkResp));
    assert!(session.is_open());
    // Now the peer falls silent.
    assert_eq!(peer.read().await.unwrap().body, Body::EnquireLink);
    assert_eq!(session.ended().await, Ended::Silent);
}

#[tokio::test(start_paused = true)]
async fn each_command_that_no_esme_serves_is_refused_or_ignored_as_the_standard_says() {
    let (session, _arrivals, mut peer) = bound(1).await;
    // 3.4, 5.1.2.1, and 5.0, 4.7.5: outbind and alert_notification have no response, and nothing
    // responds to a response.
    let ignored = [0x0B, 0x0102, 0x8000_0003, 0x8000_0007, 0x8000_0008, 0x8000_0021, 0x8000_0103];
    let ignored = ignored.into_iter().chain([0x8000_0111, 0x8000_0112, 0x8000_0113, 0x8000_7777]);
    // query_sm, replace_sm, cancel_sm, submit_multi, the broadcasts of 5.0, and others.
    let refused = [0x03, 0x07, 0x08, 0x21, 0x0111, 0x0112, 0x0113, 0x7777];
    for (place, command) in (100..).zip(ignored) {
        peer.say(Pdu::request(place, Body::Other(pdu::CommandId(command)))).await;
    }
    for (place, command) in (200..).zip(refused) {
        peer.say(Pdu::request(place, Body::Other(pdu::CommandId(command)))).await;
        let refusal = Pdu::refusal(Status::INVALID_COMMAND, place, Body::GenericNack);
        assert_eq!(peer.read().await.unwrap(), refusal, "{command:#x}");
    }
    assert!(session.is_open());
}

#[tokio::test(start_paused = true)]
async fn every_request_of_the_standard_gets_the_response_that_it_gives() {
    for (command, name) in pdu::CommandId::REQUESTS {
        let (_session, mut arrivals, mut peer) = bound(1).await;
        let body = |command| pdu::Body::Other(command);
        let refusal = Some((Status::INVALID_COMMAND, "generic_nack".to_owned()));
        let (request, expected) = match name {
            "deliver_sm" => (
                Body::DeliverSm(Box::new(message("x"))),
                Some((Status::OK, format!("{name}_resp"))),
            ),
            "data_sm" => {
                (Body::DataSm(Box::new(message("x"))), Some((Status::OK, format!("{name}_resp"))))
            }
            "enquire_link" | "unbind" => {
                (body(command), Some((Status::OK, format!("{name}_resp"))))
            }
            "outbind" | "alert_notification" => (body(command), None),
            "submit_sm" => (Body::SubmitSm(Box::new(message("x"))), refusal),
            "bind_receiver" | "bind_transmitter" | "bind_transceiver" => {
                // They have fields, without which they are refused as malformed.
                let malformed = (Status::INVALID_LENGTH, "generic_nack".to_owned());
                (body(command), Some(malformed))
            }
            _ => (body(command), refusal),
        };
        peer.say(Pdu::request(77, request)).await;
        if let Ok(arrival) = tokio::time::timeout(Duration::from_secs(1), arrivals.recv()).await
            && let Some(arrival) = arrival
        {
            arrival.answer.taken();
        }
        let Some((status, response)) = expected else {
            peer.say(Pdu::request(78, Body::EnquireLink)).await;
            assert_eq!(peer.read().await.unwrap().sequence, 78, "{name} has no response");
            continue;
        };
        let heard = peer.read().await.unwrap();
        let shown = format!("{:?}", heard.body.command());
        assert_eq!((heard.sequence, heard.status, shown), (77, status, response), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_pdu_is_refused_and_the_next_one_is_parsed() {
    let (_session, mut arrivals, mut peer) = bound(1).await;
    let mut octets = BytesMut::new();
    pdu::write(&Pdu::request(5, Body::DeliverSm(Box::new(message("news")))), &mut octets);
    octets.truncate(30);
    octets[3] = 30;
    peer.stream.write_all(&octets).await.unwrap();
    peer.say(Pdu::request(6, Body::DeliverSm(Box::new(message("more"))))).await;
    let refusal = Pdu::refusal(Status::INVALID_LENGTH, 5, Body::DeliverSmResp);
    assert_eq!(peer.read().await.unwrap(), refusal);
    assert_eq!(arrivals.recv().await.unwrap().message, message("more"));
}

#[tokio::test(start_paused = true)]
async fn another_protocol_ends_the_session() {
    let (session, _arrivals, mut peer) = bound(1).await;
    peer.stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    assert_eq!(session.ended().await, Ended::OutOfStep);
}

#[tokio::test(start_paused = true)]
async fn unbinding_waits_for_the_window_and_accepts_nothing_new() {
    let (session, _arrivals, mut peer) = bound(5).await;
    let under_way = submit(&session, "one");
    let (sequence, _) = peer.text().await;
    let ending = tokio::spawn({
        let session = session.clone();
        async move { session.unbind().await }
    });
    let nothing = tokio::time::timeout(Duration::from_secs(5), peer.read()).await;
    assert!(nothing.is_err(), "no unbind before the window is empty");
    assert_eq!(session.submit(message("two")).await, Submitted::NotWritten);
    peer.accept(sequence, "id").await;
    assert_eq!(under_way.await.unwrap(), accepted("id"));
    let asked = peer.read().await.unwrap();
    assert_eq!(asked.body, Body::Unbind);
    peer.say(Pdu::answer(asked.sequence, Body::UnbindResp)).await;
    assert_eq!(ending.await.unwrap(), Ended::ByUs);
}

#[tokio::test(start_paused = true)]
async fn unbinding_waits_until_every_deliver_sm_is_answered() {
    let (session, mut arrivals, mut peer) = bound(5).await;
    peer.say(Pdu::request(8, Body::DeliverSm(Box::new(message("news"))))).await;
    let arrival = arrivals.recv().await.unwrap();
    let ending = tokio::spawn(async move { session.unbind().await });
    let nothing = tokio::time::timeout(Duration::from_secs(5), peer.read()).await;
    assert!(nothing.is_err());
    arrival.answer.taken();
    assert_eq!(peer.read().await.unwrap(), Pdu::answer(8, Body::DeliverSmResp));
    let asked = peer.read().await.unwrap();
    assert_eq!(asked.body, Body::Unbind);
    peer.say(Pdu::answer(asked.sequence, Body::UnbindResp)).await;
    assert_eq!(ending.await.unwrap(), Ended::ByUs);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_respond_is_unbound_all_the_same() {
    let (session, _arrivals, mut peer) = bound(5).await;
    let text = submit(&session, "one");
    peer.text().await;
    let ending = tokio::spawn({
        let session = session.clone();
        async move { session.unbind().await }
    });
    assert_eq!(text.await.unwrap(), Submitted::Unanswered);
    let mut said = peer.read().await.unwrap();
    if said.body == Body::EnquireLink {
        said = peer.read().await.unwrap();
    }
    assert_eq!(said.body, Body::Unbind);
    peer.say(Pdu::answer(said.sequence, Body::UnbindResp)).await;
    assert_eq!(ending.await.unwrap(), Ended::ByUs);
}

#[tokio::test(start_paused = true)]
async fn responses_that_follow_the_peers_unbind_count() {
    let (session, _arrivals, mut peer) = bound(5).await;
    let (one, two) = (submit(&session, "one"), submit(&session, "two"));
    let (first, second) = (peer.text().await.0, peer.text().await.0);
    peer.say(Pdu::request(4, Body::Unbind)).await;
    peer.accept(first, "a").await;
    assert_eq!(one.await.unwrap(), accepted("a"));
    assert_eq!(session.submit(message("three")).await, Submitted::NotWritten);
    peer.accept(second, "b").await;
    assert_eq!(two.await.unwrap(), accepted("b"));
    assert_eq!(peer.read().await.unwrap(), Pdu::answer(4, Body::UnbindResp));
    assert_eq!(session.ended().await, Ended::ByPeer);
}

#[tokio::test(start_paused = true)]
async fn a_request_written_while_the_session_ends_is_unanswered() {
    // The peer reads nothing while it writes, so `submit_sm`s wait to be written.
    let (ours, theirs) = duplex(64);
    let mut peer = Peer { stream: theirs, unread: BytesMut::new() };
    let ((session, _arrivals), ()) =
        tokio::join!(async { bind(ours, settings(10)).await.unwrap() }, peer.take_bind());
    let messages: Vec<_> = (0..3).map(|_| submit(&session, &"x".repeat(30))).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    peer.stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    let mut seen = 0;
    while peer.read().await.is_some() {
        seen += 1;
    }
    assert_eq!(seen, 3);
    for text in messages {
        assert_eq!(text.await.unwrap(), Submitted::Unanswered);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_unbinds_when_its_last_handle_is_dropped() {
    let (session, _arrivals, mut peer) = bound(5).await;
    drop(session);
    assert_eq!(peer.read().await.unwrap().body, Body::Unbind);
}

#[tokio::test(start_paused = true)]
async fn the_unbind_of_a_peer_is_answered() {
    let (session, _arrivals, mut peer) = bound(5).await;
    peer.say(Pdu::request(4, Body::Unbind)).await;
    assert_eq!(peer.read().await.unwrap(), Pdu::answer(4, Body::UnbindResp));
    assert_eq!(session.ended().await, Ended::ByPeer);
}

#[tokio::test(start_paused = true)]
async fn a_window_of_sixty_four_fills_before_the_first_response() {
    let (session, _arrivals, mut peer) = bound(64).await;
    let messages: Vec<_> = (0..64).map(|n| submit(&session, &n.to_string())).collect();
    let mut asked = Vec::new();
    for _ in 0..64 {
        asked.push(peer.text().await.0);
    }
    for sequence in asked {
        peer.accept(sequence, "id").await;
    }
    for text in messages {
        assert_eq!(text.await.unwrap(), accepted("id"));
    }
}
