//! What a session does with `deliver_sm`s, also when they come faster than they are stored.

use tokio::io::duplex;
use tokio::time::{Instant, sleep};

use super::*;

#[tokio::test(start_paused = true)]
async fn each_deliver_sm_is_answered_as_it_was_handled() {
    let (_session, mut arrivals, mut peer) = bound(1).await;
    for sequence in 1..=3 {
        let body = Body::DeliverSm(Box::new(message("news")));
        peer.say(Pdu::request(sequence, body)).await;
    }
    arrivals.recv().await.unwrap().answer.taken();
    arrivals.recv().await.unwrap().answer.later();
    drop(arrivals.recv().await.unwrap());
    for (sequence, status) in [(1, Status::OK), (2, Status::TEMPORARY), (3, Status::TEMPORARY)] {
        let answer = peer.read().await.unwrap();
        assert_eq!((answer.sequence, answer.status), (sequence, status));
        assert_eq!(answer.body, Body::DeliverSmResp);
    }
}

/// Sends more `deliver_sm`s than the queue holds, numbered from 1. Returns how many.
async fn overfill(peer: &mut Peer, extra: usize) -> u32 {
    let count = u32::try_from(ARRIVALS + extra).unwrap();
    for sequence in 1..=count {
        peer.say(Pdu::request(sequence, Body::DeliverSm(Box::new(message("news"))))).await;
    }
    count
}

#[tokio::test(start_paused = true)]
async fn deliver_sms_beyond_the_queue_wait_for_room_and_none_is_refused() {
    let (_session, mut arrivals, mut peer) = bound(1).await;
    let extra = 500;
    let count = overfill(&mut peer, extra).await;
    for sequence in 1..=count {
        if sequence as usize <= extra {
            sleep(Duration::from_secs(1)).await;
        }
        arrivals.recv().await.unwrap().answer.taken();
        let answer = peer.read().await.unwrap();
        assert_eq!((answer.sequence, answer.status), (sequence, Status::OK));
    }
}

#[tokio::test(start_paused = true)]
async fn deliver_sms_that_find_no_room_for_long_are_asked_for_again_later() {
    let (ours, theirs) = duplex(1 << 20);
    let mut peer = Peer { stream: theirs, unread: BytesMut::new() };
    // The session sends no `enquire_link` while it reads nothing: the response would lie unread.
    let settings = Settings { idle: Duration::from_secs(4), ..settings(1) };
    let ((session, mut arrivals), ()) =
        tokio::join!(async { bind(ours, settings).await.unwrap() }, peer.take_bind());
    let count = overfill(&mut peer, 3).await;
    let start = Instant::now();
    for sequence in count - 2..=count {
        let answer = peer.read().await.unwrap();
        assert_eq!((answer.sequence, answer.status), (sequence, Status::TEMPORARY));
        assert_eq!(start.elapsed().as_secs(), 10);
    }
    assert!(session.is_open());
    arrivals.recv().await.unwrap().answer.taken();
    assert_eq!(peer.read().await.unwrap(), Pdu::answer(1, Body::DeliverSmResp));
    peer.say(Pdu::request(900, Body::DeliverSm(Box::new(message("more"))))).await;
    for _ in 1..ARRIVALS {
        arrivals.recv().await.unwrap().answer.taken();
        assert_eq!(peer.read().await.unwrap().status, Status::OK);
    }
    assert_eq!(arrivals.recv().await.unwrap().message, message("more"));
}

#[tokio::test(start_paused = true)]
async fn a_response_behind_deliver_sms_without_room_is_read_in_time() {
    let (session, mut arrivals, mut peer) = bound(1).await;
    let text = submit(&session, "one");
    let (sequence, _) = peer.text().await;
    let start = Instant::now();
    sleep(Duration::from_secs(6)).await;
    overfill(&mut peer, 100).await;
    peer.accept(sequence, "id").await;
    // Room for one now and then would otherwise hold the response back until it is too late.
    let taking = tokio::spawn(async move {
        loop {
            sleep(Duration::from_secs(3)).await;
            arrivals.recv().await.unwrap().answer.taken();
        }
    });
    assert_eq!(text.await.unwrap(), accepted("id"));
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(peer.read().await.unwrap().status, Status::OK);
    for _ in 1..100 {
        assert_eq!(peer.read().await.unwrap().status, Status::TEMPORARY);
    }
    taking.abort();
}

#[tokio::test(start_paused = true)]
async fn a_response_before_a_broken_connection_counts_behind_deliver_sms_without_room() {
    let (session, _arrivals, mut peer) = bound(2).await;
    let first = submit(&session, "one");
    let (sequence, _) = peer.text().await;
    overfill(&mut peer, 2).await;
    peer.accept(sequence, "id").await;
    drop(peer);
    let start = Instant::now();
    // Writing this fails.
    let _second = submit(&session, "two");
    assert_eq!(first.await.unwrap(), accepted("id"));
    assert_eq!(session.ended().await, Ended::Lost);
    assert_eq!(start.elapsed().as_secs(), 0);
}
