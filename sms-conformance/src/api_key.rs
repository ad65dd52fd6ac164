//! Keys.

use sms_core::account::api_key::{ApiKey, KeyRecord};
use sms_core::account::store::KeyCreated;
use sms_core::account::{Account, Mode};
use sms_core::ids::AccountId;

use crate::Rig;
use crate::rig::{done, millis};

fn new_key(rig: &Rig, account: AccountId, mode: Mode) -> KeyRecord {
    let key = ApiKey::generate(mode, rig.random());
    KeyRecord {
        id: rig.id(),
        account,
        mode,
        name: (mode == Mode::Live).then(|| "Till".to_owned()),
        hash: key.hash(),
        last_four: key.last_four().to_owned(),
        created_at: rig.now(),
        last_used_at: None,
        revoked_at: None,
    }
}

async fn key(rig: &Rig, account: &Account, mode: Mode) -> KeyRecord {
    let key = new_key(rig, account.id, mode);
    let created = done(rig.store().api_key_create(key.clone(), None).await);
    assert_eq!(created.expect("written"), KeyCreated::Created);
    key
}

async fn find(rig: &Rig, key: &KeyRecord) -> Option<KeyRecord> {
    rig.store().api_key_find(key.hash).await.expect("read")
}

scenarios! { ApiKey;
    /// A key is found by its hash, whole; one that was never made is not.
    async fn a_key_is_found_by_its_hash(rig: &Rig) {
        let account = rig.account(0).await;
        for mode in [Mode::Live, Mode::Test] {
            let key = key(rig, &account, mode).await;
            assert_eq!(find(rig, &key).await, Some(key));
        }
        assert_eq!(find(rig, &new_key(rig, account.id, Mode::Live)).await, None);
    }

    /// A key of an account that does not exist is not made.
    async fn a_key_needs_its_account(rig: &Rig) {
        let key = new_key(rig, rig.id(), Mode::Live);
        let created = done(rig.store().api_key_create(key.clone(), None).await).expect("answered");
        assert_eq!(created, KeyCreated::NoSuchAccount);
        assert_eq!(find(rig, &key).await, None);
    }

    /// An account's keys are listed newest first, revoked ones included, and only the account's
    /// own.
    async fn keys_are_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let mut expected = Vec::new();
        for n in 0..3 {
            expected.insert(0, key(rig, &account, Mode::Live).await);
            key(rig, &other, Mode::Test).await;
            rig.advance(millis(n));
        }
        let revoked = rig.store().api_key_revoke(account.id, expected[1].id, rig.now()).await;
        expected[1] = revoked.expect("revoked").expect("it is there");
        assert_eq!(rig.store().api_key_list(account.id).await.expect("read"), expected);
        assert_eq!(rig.store().api_key_list(rig.id()).await.expect("read"), []);
    }

    /// A revoked key says since when; revoking it again changes nothing.
    async fn revoking_twice_keeps_the_first_moment(rig: &Rig) {
        let account = rig.account(0).await;
        let key = key(rig, &account, Mode::Live).await;
        // From here on, a store may remember it.
        assert_eq!(find(rig, &key).await, Some(key.clone()));
        let at = rig.advance(millis(5));
        let revoked = KeyRecord { revoked_at: Some(at), ..key.clone() };
        for _ in 0..2 {
            let answer = rig.store().api_key_revoke(account.id, key.id, rig.now()).await;
            assert_eq!(answer.expect("revoked"), Some(revoked.clone()));
            assert_eq!(find(rig, &key).await, Some(revoked.clone()));
            rig.advance(millis(5));
        }
    }

    /// A key is revoked through its own account only.
    async fn another_accounts_key_cannot_be_revoked(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let key = key(rig, &account, Mode::Live).await;
        for (through, id) in [(other.id, key.id), (account.id, rig.id())] {
            let answer = rig.store().api_key_revoke(through, id, rig.now()).await;
            assert_eq!(answer.expect("answered"), None);
        }
        assert_eq!(find(rig, &key).await, Some(key));
    }

    /// The last use of a key is remembered, and of no other; one that is unknown does no harm.
    async fn the_last_use_of_a_key_is_remembered(rig: &Rig) {
        let (account, stranger) = (rig.account(0).await, rig.account(0).await);
        let (used, idle) =
            (key(rig, &account, Mode::Live).await, key(rig, &account, Mode::Live).await);
        for _ in 0..2 {
            let now = rig.advance(millis(60_000));
            rig.store().api_key_used(account.id, used.id, now).await.expect("remembered");
            let expected = KeyRecord { last_used_at: Some(now), ..used.clone() };
            assert_eq!(find(rig, &used).await, Some(expected));
        }
        for (through, id) in [(account.id, rig.id()), (stranger.id, idle.id)] {
            rig.store().api_key_used(through, id, rig.now()).await.expect("passed over");
        }
        assert_eq!(find(rig, &idle).await, Some(idle));
    }
}
