//! Whatever this program learns that stands in the way of a message that it has in hand, it looks
//! at the message again, however it learned of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use sms_core::account::AccountChange;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::clock::{Clock, ManualClock};
use sms_core::contact::input::ContactInput;
use sms_core::ids::{CampaignId, NumberId, SenderNameId};
use sms_core::inbound::InboundMessage;
use sms_core::inbound::segment::{InboundSegment, Place, SegmentText};
use sms_core::list::ListInput;
use sms_core::list::join::JoinInput;
use sms_core::message::Body;
use sms_core::opt_out::Via;
use sms_core::opt_out::import::OptOutRow;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::route::{HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink};
use sms_core::sender_name::review::Decision;
use sms_core::service::AccountHandle;
use sms_core::time::Timestamp;
use sms_store_memory::MemoryStore;

/// A network that is so slow that it submits nothing.
#[derive(Debug, Default)]
struct Holds(Mutex<Vec<OutboundMessage>>);

#[async_trait]
impl Route for Holds {
    fn name(&self) -> &RouteName {
        static NAME: std::sync::LazyLock<RouteName> =
            std::sync::LazyLock::new(|| RouteName::new("slow"));
        &NAME
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        self.0.lock().unwrap().extend_from_slice(messages);
        stream::pending().boxed()
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// Messages of a campaign to two people, under a sender name, in the hand of a route.
struct Scene {
    sms: Sms,
    clock: Arc<ManualClock>,
    account: AccountHandle,
    number: NumberId,
    name: SenderNameId,
    campaign: CampaignId,
    route: Arc<Holds>,
}

impl Scene {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_264_830_123)));
        let route = Arc::new(Holds::default());
        let sms = Sms::builder(Arc::new(MemoryStore::new()))
            .clock(clock.clone())
            .route(route.clone())
            .build();
        let operator = sms.operator();
        let account = block_on(operator.account_create(NewAccountInput::active("x", 10))).unwrap();
        let input = NumberInput::dedicated(ours().to_string(), account.id);
        let number = block_on(operator.number_create(input)).unwrap().id;
        let account = sms.account(account.id, Mode::Live);
        let name = block_on(account.sender_name_create("Bistro", None)).unwrap().id;
        block_on(operator.sender_name_review(name, Decision::Approve, None)).unwrap();
        let list = block_on(account.list_create(ListInput::new("Guests"))).unwrap().id;
        for person in people() {
            let input = ContactInput::new(person.to_string());
            let contact = block_on(account.contact_create(input)).unwrap();
            block_on(
                account.list_add(list, JoinInput::default().contact_ids([contact.id.to_string()])),
            )
            .unwrap();
        }
        let input = CampaignInput::new("Autumn", "A table awaits", list).sender("Bistro");
        let campaign = block_on(account.campaign_create(input)).unwrap().id;
        block_on(account.campaign_launch(campaign, LaunchOptions::default())).unwrap();
        assert!(sms.dispatch_due(10).now_or_never().is_none(), "the network says nothing");
        Self { sms, clock, account, number, name, campaign, route }
    }

    /// Which of the people's messages may be submitted.
    fn fresh(&self) -> [bool; 2] {
        let held = self.route.0.lock().unwrap();
        let of = |person| held.iter().find(|text| text.to == person).unwrap().look.is_fresh();
        people().map(of)
    }

    fn part(&self, number: u8, words: &str) -> InboundSegment {
        InboundSegment {
            from: people()[0].into(),
            to: ours(),
            reference: 7,
            place: Place::new(number, 2).unwrap(),
            text: SegmentText::whole(words),
            route: RouteName::new("slow"),
            received_at: self.clock.now(),
        }
    }

    fn status(&self, status: AccountStatus) {
        let change = AccountChange::default().status(status);
        block_on(self.sms.operator().account_update(self.account.id(), change)).unwrap();
    }
}

fn stop() -> InboundMessage {
    let (from, to, body) = (people()[0].into(), ours(), Body::new("STOP"));
    InboundMessage { from, to, body, route: RouteName::new("slow") }
}

fn ours() -> E164 {
    "+447700900001".parse().unwrap()
}

fn people() -> [E164; 2] {
    ["+447700900123", "+447700900124"].map(|phone| phone.parse().unwrap())
}

const ONE: [bool; 2] = [false, true];
const BOTH: [bool; 2] = [false, false];

/// A way to learn of an obstacle, whose messages may be submitted after it, and what happens.
type Way = (&'static str, [bool; 2], fn(&Scene));

/// Every way in which this program learns of an obstacle, and whose messages it looks at again.
const WAYS: [Way; 11] = [
    ("an opt-out by the account", ONE, |scene| {
        block_on(scene.account.opt_out_create("07700 900123", None)).unwrap();
    }),
    ("an import of opt-outs", BOTH, |scene| {
        let row = OptOutRow { phone: "07700 900123".to_owned(), note: None };
        block_on(scene.account.opt_outs_import(vec![row], Via::Api)).unwrap();
    }),
    ("a STOP by a network", ONE, |scene| {
        block_on(scene.sms.sink().inbound(stop())).unwrap();
    }),
    ("a STOP by the operator", ONE, |scene| {
        block_on(scene.sms.operator().inbound(people()[0], ours(), "STOP")).unwrap();
    }),
    ("a STOP in segments", ONE, |scene| {
        for (number, words) in [(2, "OP"), (1, "ST")] {
            block_on(scene.sms.sink().inbound_segment(scene.part(number, words))).unwrap();
        }
    }),
    ("a suspension", BOTH, |scene| scene.status(AccountStatus::Suspended)),
    ("any other change of an account", BOTH, |scene| scene.status(AccountStatus::Active)),
    ("a rejected sender name", BOTH, |scene| {
        let operator = scene.sms.operator();
        block_on(operator.sender_name_review(scene.name, Decision::Reject, None)).unwrap();
    }),
    ("a released number", BOTH, |scene| {
        block_on(scene.sms.operator().number_delete(scene.number)).unwrap();
    }),
    ("a cancelled campaign", BOTH, |scene| {
        block_on(scene.account.campaign_cancel(scene.campaign)).unwrap();
    }),
    ("nothing", [true, true], |_| {}),
];

#[test]
fn whatever_stands_in_the_way_of_a_message_in_hand_recalls_it() {
    for (way, expected, happens) in WAYS {
        let scene = Scene::new();
        assert_eq!(scene.fresh(), [true, true], "{way}");
        happens(&scene);
        assert_eq!(scene.fresh(), expected, "{way}");
    }
}

#[test]
fn a_stop_whose_last_segment_never_came_recalls_when_it_is_given_up() {
    let scene = Scene::new();
    block_on(scene.sms.sink().inbound_segment(scene.part(1, "STOP"))).unwrap();
    assert_eq!(scene.fresh(), [true, true], "it is not known yet");
    scene.clock.advance(Duration::from_hours(25));
    scene.route.0.lock().unwrap().clear();
    let request = SendRequest::new("hello").to("07700 900123, 07700 900124");
    block_on(scene.account.send(request)).unwrap();
    assert!(scene.sms.dispatch_due(10).now_or_never().is_none());
    block_on(scene.sms.tidy(10)).unwrap();
    assert_eq!(scene.fresh(), ONE);
}

/// The store's calls that may stand in the way of a message are made in one place, which recalls:
/// nowhere else does anything have a method of such a name called, whatever holds the store there.
#[test]
fn no_other_place_of_the_core_makes_such_a_change() {
    let calls = [
        "opt_out_create",
        "opt_outs_add",
        "inbound_take",
        "inbound_segment_take",
        "inbound_segment_give_up",
        "account_update",
        "sender_name_review",
        "number_delete",
        "campaign_cancel",
    ];
    // Calls the service, which has a method of the same name.
    let by_the_service = ".keyed(None).opt_out_create(";
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap().replace(by_the_service, "");
            let is_obstacle = path.ends_with("service/obstacle.rs");
            for call in calls {
                let is_made = text.contains(&format!(".{call}("));
                assert_eq!(is_made, is_obstacle, "{call} in {}", path.display());
            }
        }
    }
}
