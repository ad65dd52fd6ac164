//! Sessions of the console.

use sms_core::account::Mode;
use sms_core::account::api_key::ApiKey;
use sms_core::session::{Holder, LASTS, OperatorHash, Session, SessionToken};
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::millis;

/// A session of a new key.
fn of_new_key(rig: &Rig) -> Session {
    let key = ApiKey::generate(Mode::Live, rig.random());
    of(rig, |_| Holder::Key(key.hash()))
}

fn of_operator(rig: &Rig) -> Session {
    of(rig, |token| Holder::Operator(token.seal(OperatorHash::of("the token of the operator"))))
}

fn of(rig: &Rig, holder: impl FnOnce(&SessionToken) -> Holder) -> Session {
    let token = SessionToken::generate(rig.random());
    Session::begin(token.hash(), holder(&token), rig.now())
}

async fn create(rig: &Rig, session: &Session, most: usize) {
    rig.store().session_create(session.clone(), most).await.expect("written");
}

async fn is_kept(rig: &Rig, session: &Session) -> bool {
    let found = rig.store().session_find(session.hash).await.expect("read");
    assert!(found.as_ref().is_none_or(|found| found == session));
    found.is_some()
}

scenarios! { Session;
    /// A session is found by its hash as it was written, whether a key or the operator opened it;
    /// one that was never opened is not.
    async fn a_session_is_found_by_its_hash(rig: &Rig) {
        for session in [of_new_key(rig), of_operator(rig)] {
            create(rig, &session, 5).await;
            assert!(is_kept(rig, &session).await);
        }
        assert!(!is_kept(rig, &of_new_key(rig)).await);
    }

    /// A session that is removed is gone at once, and no other; removing it again does nothing.
    async fn a_removed_session_is_gone(rig: &Rig) {
        let (session, other) = (of_new_key(rig), of_operator(rig));
        create(rig, &session, 5).await;
        create(rig, &other, 5).await;
        for _ in 0..2 {
            rig.store().session_delete(session.hash).await.expect("removed");
            assert!(!is_kept(rig, &session).await);
        }
        assert!(is_kept(rig, &other).await);
    }

    /// Of the sessions of one key the newest stay, and so do those of the operator, whatever their
    /// seals. Neither counts sessions of others.
    async fn the_newest_sessions_of_one_holder_stay(rig: &Rig) {
        let key = ApiKey::generate(Mode::Test, rig.random());
        let others = [of_new_key(rig), of_new_key(rig)];
        for other in &others {
            create(rig, other, 2).await;
        }
        let (mut of_key, mut of_operators) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            rig.advance(millis(1));
            of_key.push(of(rig, |_| Holder::Key(key.hash())));
            of_operators.push(of_operator(rig));
            create(rig, of_key.last().expect("one"), 2).await;
            create(rig, of_operators.last().expect("one"), 3).await;
        }
        for (sessions, gone) in [(&of_key, 2), (&of_operators, 1)] {
            for (at, session) in sessions.iter().enumerate() {
                assert_eq!(is_kept(rig, session).await, at >= gone, "{at}");
            }
        }
        for other in &others {
            assert!(is_kept(rig, other).await);
        }
    }

    /// Sessions of one key that are opened at the same moment are no more than allowed.
    async fn sessions_of_one_moment_are_bounded(rig: &Rig) {
        let key = ApiKey::generate(Mode::Live, rig.random());
        let sessions: Vec<_> = (0..5).map(|_| of(rig, |_| Holder::Key(key.hash()))).collect();
        for session in &sessions {
            create(rig, session, 3).await;
        }
        let mut kept = 0;
        for session in &sessions {
            kept += usize::from(is_kept(rig, session).await);
        }
        assert_eq!(kept, 3);
    }

    /// Sessions are tidied when their time was over before the moment given, the oldest first and
    /// no more than asked for.
    async fn sessions_are_tidied_when_their_time_is_over(rig: &Rig) {
        let mut sessions = Vec::new();
        for n in 0..4 {
            let session = if n % 2 == 0 { of_new_key(rig) } else { of_operator(rig) };
            create(rig, &session, 5).await;
            sessions.push(session);
            rig.advance(millis(1));
        }
        let tidy = async |before, limit| {
            rig.store().tidy(Chore::Sessions { before }, limit).await.expect("tidied")
        };
        let third = sessions[2].created_at.plus(LASTS);
        assert_eq!(tidy(sessions[0].expires_at, 10).await, 0, "it ends at that moment");
        assert_eq!(tidy(third, 1).await, 1);
        assert!(!is_kept(rig, &sessions[0]).await && is_kept(rig, &sessions[1]).await);
        assert_eq!(tidy(third, 10).await, 1);
        assert!(!is_kept(rig, &sessions[1]).await);
        assert!(is_kept(rig, &sessions[2]).await && is_kept(rig, &sessions[3]).await);
    }
}
