//! Campaigns from the draft to the last receipt.

use serde_json::Value;

use crate::home::Home;
use crate::server;

#[test]
fn a_campaign_is_drafted_quoted_launched_and_watched() {
    let home = Home::with_key(&server::account(10).live);
    let list = home.run(&["lists", "create", "Guests"]).assert(0).out.trim().to_owned();
    home.run(&["lists", "add", &list, "07700900123", "07700900901", "07700900902"]).assert(0);
    let create = ["campaigns", "create", "--name", "Christmas", "--list", &list];
    let create = [&create[..], &["--body", "We are open", "--ignore-quiet-hours"]].concat();
    let id = home.run(&create).assert(0).out.trim().to_owned();
    let ran = home.run(&["campaigns", "quote", &id]).assert(0);
    assert!(ran.out.contains("3 credits to 3 recipients, balance 10"), "{ran:?}");
    let ran = home.run(&["campaigns", "watch", &id]).assert(2);
    assert!(ran.err.contains("campaigns launch"), "{ran:?}");
    let ran = home.run(&["campaigns", "launch", &id]).assert(6);
    assert!(ran.err.contains("Launch to 3 recipients for 3 credits (balance 10)"), "{ran:?}");
    let ran = home.run(&["campaigns", "launch", &id, "--yes"]).assert(0);
    assert!(ran.out.contains("3 recipients, 3 credits"), "{ran:?}");
    server::pass(60);
    let ran = home.run(&["campaigns", "watch", &id, "--json"]).assert(0);
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let counts = &last["counts"];
    let settled = ["delivered", "failed", "undelivered"].map(|name| counts[name].as_u64());
    assert_eq!(settled, [Some(1); 3], "{ran:?}");
    let ran = home.run(&["campaigns", "watch", &id]).assert(0);
    assert!(ran.out.contains("delivered 1  undelivered 1  failed 1"), "{ran:?}");
    let ran = home.run(&["campaigns", "list"]).assert(0);
    assert!(ran.out.contains("Christmas"), "{ran:?}");
    home.run(&["campaigns", "cancel", &id]).assert(4);
    let ran = home.run(&["campaigns", "launch", &id, "--yes"]).assert(4);
    assert!(ran.err.contains("campaign_already_launched"), "{ran:?}");
}
