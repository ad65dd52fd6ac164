//! What the operator is shown of a sender name that waits for review.

use sms_core::account::Mode;

use crate::browser::Browser;
use crate::rig::{Rig, TOKEN};
use crate::sender_name::{ask, decide};

#[tokio::test]
async fn a_review_shows_who_asks_what_they_asked_before_and_what_the_name_looks_like() {
    let rig = Rig::new().await;
    let (bistro, other) = (rig.account(5).await, rig.account(5).await);
    let approved = ask(&bistro, "Bistro").await;
    decide(&rig, &approved, "approve").await;
    ask(&other, "B1stro").await;
    ask(&other, "Hmrc Refund").await;
    let browser = Browser::sign_in(&rig, TOKEN).await;
    let page = browser.get("/console/operator/senders").await.assert(200).text();
    let row = |value: &str| {
        let row = page.split("<tr").find(|row| row.contains(&format!("<strong>{value}<")));
        row.unwrap_or_else(|| panic!("{value}: {page}")).to_owned()
    };
    let (fake, taxes) = (row("B1stro"), row("Hmrc Refund"));
    let account = format!("/console/operator/accounts/{}", other.id);
    for (row, words) in [
        (&fake, account.as_str()),
        (&fake, "active, since"),
        (&fake, "Bistro of "),
        (&fake, "Hmrc Refund "),
        (&taxes, "Often imitated"),
        (&taxes, "HMRC"),
        (&taxes, "B1stro "),
    ] {
        assert!(row.contains(words), "{words}: {row}");
    }
    let all = browser.get("/console/operator/senders?status=approved").await.assert(200).text();
    assert!(all.contains("B1stro of "), "{all}");
    assert!(!all.contains("Often imitated"), "{all}");
}

#[tokio::test]
async fn a_name_is_compared_with_more_than_the_newest_thousand() {
    let rig = Rig::new().await;
    let (bistro, other) = (rig.account(5).await, rig.account(5).await);
    ask(&bistro, "Bistro").await;
    let asking = rig.sms.account(bistro.id, Mode::Live);
    for n in 0..1_100 {
        asking.sender_name_create(&format!("Filler {n:04}"), None).await.unwrap();
    }
    ask(&other, "B1stro").await;
    let browser = Browser::sign_in(&rig, TOKEN).await;
    let page = browser.get("/console/operator/senders").await.assert(200).text();
    let row = |value: &str| {
        let row = page.split("<tr").find(|row| row.contains(&format!("<strong>{value}<")));
        row.unwrap_or_else(|| panic!("{value}: {page}")).to_owned()
    };
    assert!(row("B1stro").contains("Bistro of "), "{}", row("B1stro"));
    let filler = row("Filler 1099");
    assert!(filler.contains("and 1,095 more"), "its account's other names: {filler}");
}
