//! Commands of every noun, about one account, each with as many items as the caller says.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_conformance::Rig;
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::clock::ManualClock;
use sms_core::contact::filter::{ContactFilter, ContactSearch};
use sms_core::contact::input::{ContactInput, ContactPatch};
use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::ids::{ContactId, ListId};
use sms_core::inbound::segment::{InboundSegment, Place, SegmentText};
use sms_core::keyword::save::KeywordInput;
use sms_core::link::LinkFilter;
use sms_core::list::ListInput;
use sms_core::list::join::JoinInput;
use sms_core::message::filter::Search;
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus};
use sms_core::page::{OffsetRequest, PageRequest};
use sms_core::phone::E164;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{NetworkId, NetworkReport};
use sms_core::route::{HandOver, RouteName};
use sms_core::sending::SendRequest;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_core::service::{AccountHandle, Work};
use sms_core::statistics::summary::SummaryRequest;
use sms_core::store::Store;
use sms_core::template::TemplateInput;
use sms_core::webhook::delivery::DeliveryError;
use sms_core::webhook::endpoint::EndpointInput;
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};

/// Endpoints that all take what they get.
#[derive(Debug)]
struct Takes;

#[async_trait]
impl WebhookSender for Takes {
    async fn check_url(
        &self,
        _account: AccountId,
        _url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        Ok(())
    }

    async fn send(&self, _request: WebhookRequest) -> WebhookAnswer {
        let (result, duration): (Result<(), DeliveryError>, _) = (Ok(()), Duration::ZERO);
        let (status_code, retry_after) = (Some(200), None);
        WebhookAnswer { result, status_code, duration, response_body: Vec::new(), retry_after }
    }
}

/// The number that people text.
const OURS: u64 = 447_700_900_001;

fn number(digits: u64) -> E164 {
    E164::from_digits(digits).expect("a number")
}

/// One account, over the connections of one store.
pub(super) struct Commands {
    sms: Sms,
    clock: Arc<ManualClock>,
    rig: Rig,
    account: AccountHandle,
    /// How often the commands ran. No two runs are about the same people.
    run: u64,
}

impl Commands {
    /// With a new account that has an endpoint, and a number that all accounts share.
    pub(super) async fn start(store: Arc<dyn Store>, rig: Rig) -> Self {
        let clock = Arc::new(ManualClock::at(rig.now()));
        let sms = service(store, &clock);
        let input = NewAccountInput::active("Bistro", 1_000_000);
        let account = sms.operator().account_create(input).await.expect("made").id;
        let account = sms.account(account, Mode::Live);
        let shared = NumberInput::shared(format!("+{OURS}"));
        sms.operator().number_create(shared).await.expect("made");
        let events = [EventType::MessageSent, EventType::MessageReceived];
        let endpoint = EndpointInput::new("https://example.com/", events);
        account.webhook_create(endpoint).await.expect("made");
        Self { sms, clock, rig, account, run: 0 }
    }

    /// The same account over other connections.
    pub(super) fn over(self, store: Arc<dyn Store>, rig: Rig) -> Self {
        let sms = service(store, &self.clock);
        let account = sms.account(self.account.id(), Mode::Live);
        rig.advance_to(self.rig.now());
        Self { sms, rig, account, ..self }
    }

    pub(super) fn account(&self) -> String {
        uuid::Uuid::from_u128(self.account.id().as_u128()).to_string()
    }

    /// Runs them all, with `n` items each.
    pub(super) async fn run(&mut self, n: u64) {
        self.run += 1;
        let people: Vec<E164> =
            (1..=n).map(|i| number(447_700_000_000 + self.run * 10_000 + i)).collect();
        let list = self.address_book(&people).await;
        let sent = self.sends(&people, list).await;
        self.workers(n).await;
        self.network(&people, &sent).await;
        self.campaigns(list).await;
        self.workers(n).await;
        self.inbox(&people).await;
        self.workers(n).await;
        self.lists_of_messages(&sent).await;
        self.small_nouns(&people).await;
        self.operator().await;
        self.upkeep(n).await;
    }

    async fn address_book(&self, people: &[E164]) -> ListId {
        let account = &self.account;
        let rows = |first_name: &str| {
            let row = |phone: &E164| {
                let mut row = ContactInput::new(phone.to_string());
                row.first_name = Some(first_name.to_owned());
                row
            };
            people.iter().map(row).collect::<Vec<_>>()
        };
        let list = account.list_create(ListInput::new("Guests")).await.expect("made").id;
        let other = account.list_create(ListInput::new("Others")).await.expect("made").id;
        for name in ["Ann", "Bob"] {
            account.contacts_import(rows(name), Some(list)).await.expect("imported");
        }
        let (phones, page) = (people.iter().map(ToString::to_string), PageRequest::default());
        let join = JoinInput::default().phones(phones.collect::<Vec<_>>());
        account.list_add(other, join).await.expect("joined");
        let filter = ContactFilter { list_id: Some(other), search: None };
        let some = account.contact_list(&filter, page).await.expect("listed").items;
        let ids = some.iter().map(|contact| contact.id.to_string());
        let join = JoinInput::default().contact_ids(ids.collect::<Vec<_>>());
        account.list_add(list, join).await.expect("joined");
        account.contact_list(&ContactFilter::default(), page).await.expect("listed");
        let search = ContactSearch::parse(&people[0].to_string());
        let filter = ContactFilter { list_id: None, search };
        account.contact_list(&filter, page).await.expect("listed");
        self.contacts(list, other, some[0].id).await;
        account.list_delete(other).await.expect("deleted");
        list
    }

    /// Single contacts and their lists.
    async fn contacts(&self, list: ListId, other: ListId, contact: ContactId) {
        let (account, page) = (&self.account, PageRequest::default());
        account.contact_get(contact).await.expect("read");
        let mut patch = ContactPatch::default();
        patch.notes = Some(Some("Late".to_owned()));
        account.contact_update(contact, patch).await.expect("changed");
        account.list_remove(other, contact).await.expect("left");
        account.list_list(page).await.expect("listed");
        account.list_get(list).await.expect("read");
        account.list_contacts(list, page).await.expect("listed");
        account.contact_fields().await.expect("listed");
        let extra = number(447_700_000_000 + self.run * 10_000 + 9_000);
        let made = account.contact_create(ContactInput::new(extra.to_string())).await;
        account.contact_delete(made.expect("made").id).await.expect("deleted");
    }

    /// Returns the messages of the first send.
    async fn sends(&self, people: &[E164], list: ListId) -> Vec<Message> {
        let account = &self.account;
        let numbers = people.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let key = format!("key-of-run-{}", self.run).parse().expect("a key");
        let first = SendRequest::new("Your table: https://example.com/table")
            .to(numbers.clone())
            .track_links()
            .client_ref(format!("run-{}", self.run))
            .idempotency_key(key);
        account.quote(first.clone()).await.expect("planned");
        let sent = account.send(first.clone()).await.expect("sent");
        account.send(first).await.expect("answered again");
        let named = SendRequest::new("Hello {first_name}").to_list(list);
        account.quote(named.clone()).await.expect("planned");
        account.send(named).await.expect("sent");
        let later = self.rig.now().plus(Duration::from_hours(48));
        let later = SendRequest::new("Later").to(people[0].to_string()).schedule_at(later);
        let later = account.send(later).await.expect("sent");
        account.message_cancel(later.messages[0].id).await.expect("cancelled");
        let test = self.sms.account(account.id(), Mode::Test);
        let request = SendRequest::new("A test").to(people[0].to_string());
        test.send(request).await.expect("sent");
        sent.messages
    }

    /// What the workers do, until nothing is due.
    async fn workers(&self, n: u64) {
        let limit = usize::try_from(n).expect("small");
        for _ in 0..2 {
            self.clock.advance(Duration::from_mins(1));
            for work in Work::ALL {
                self.sms.next_work(work).await.expect("read");
                while self.sms.do_work(work, limit).await.expect("done") > 0 {}
            }
        }
        self.rig.advance_to(sms_core::clock::Clock::now(&*self.clock));
    }

    /// Segments that a network takes, and its reports.
    async fn network(&self, people: &[E164], sent: &[Message]) {
        let numbers = people.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let request = SendRequest::new("x".repeat(200)).to(numbers);
        self.account.send(request).await.expect("sent");
        let hand = self.rig.claim(people.len()).await;
        self.sms.store().dispatch_renew(hand.token, self.rig.now()).await.expect("renewed");
        let id = |message: &str, n| {
            NetworkId::new(RouteName::new("simulator"), format!("{message}-{n}"))
        };
        let plans = hand.messages.iter().map(|entry| {
            let message = entry.message.to_string();
            let parts = vec![id(&message, 1), id(&message, 2)];
            self.rig.outcome(entry.message, hand.token, HandOver::Submitted { parts })
        });
        self.rig.record_all(plans.collect()).await;
        for n in [1, 2] {
            let reports = hand.messages.iter().map(|entry| {
                let id = id(&entry.message.to_string(), n);
                NetworkReport::new(id, ReceiptStatus::Delivered)
            });
            self.sms.record_reports(reports.collect()).await;
        }
        let unknown = NetworkId::new(RouteName::new("simulator"), format!("early-{}", self.run));
        let early = NetworkReport::new(unknown, ReceiptStatus::Delivered);
        self.sms.record_reports(vec![early]).await;
        let operator = self.sms.operator();
        operator.receipt(sent[0].id, ReceiptStatus::Delivered).await.expect("recorded");
    }

    /// One that leaves, and one that is cancelled.
    async fn campaigns(&self, list: ListId) {
        let (account, page) = (&self.account, PageRequest::default());
        for name in ["Autumn", "Winter"] {
            let mut input = CampaignInput::new(name, "See https://example.com/menu", list);
            input.ignore_quiet_hours = true;
            input.track_links = Some(true);
            let campaign = account.campaign_create(input).await.expect("made").id;
            let mut options = LaunchOptions::default();
            if name == "Winter" {
                options.schedule_at = Some(self.rig.now().plus(Duration::from_hours(24)));
            }
            account.campaign_launch(campaign, options).await.expect("launched");
            if name == "Winter" {
                account.campaign_cancel(campaign).await.expect("cancelled");
            }
            account.campaign_get(campaign).await.expect("read");
            let of_it = MessageFilter { campaign_id: Some(campaign), ..MessageFilter::default() };
            account.message_list(&of_it, page).await.expect("listed");
            let filter = LinkFilter { campaign: Some(campaign), ..LinkFilter::default() };
            let links = account.link_list(filter, page).await.expect("listed").items;
            account.link_get(links[0].id).await.expect("read");
            self.sms.link_click(links[0].code).await.expect("counted");
        }
        account.campaign_list(page).await.expect("listed");
    }

    /// People answer: with a keyword, in several segments, and with STOP.
    async fn inbox(&self, people: &[E164]) {
        let (account, operator) = (&self.account, self.sms.operator());
        let ours = number(OURS);
        let word = format!("MENU{}", self.run);
        let keyword = KeywordInput::new(word.as_str()).reply("Soup");
        let keyword = account.keyword_create(keyword).await.expect("made").id;
        for person in people.iter().take(20) {
            operator.inbound(*person, ours, "Thank you").await.expect("taken in");
        }
        operator.inbound(people[0], ours, word).await.expect("taken in");
        operator.inbound(people[1], ours, "STOP").await.expect("taken in");
        for place in [2, 1] {
            let segment = InboundSegment {
                from: people[2].into(),
                to: ours,
                reference: 7,
                place: Place::new(place, 2).expect("a place"),
                text: SegmentText::whole("Hello "),
                route: RouteName::new("simulator"),
                received_at: self.rig.now(),
            };
            self.sms.inbound_segment(segment).await.expect("taken in");
        }
        let page = PageRequest::default();
        account.conversation_list(None, None, page).await.expect("listed");
        account.conversation_get(people[0]).await.expect("read");
        account.conversation_read(people[0]).await.expect("marked");
        account.keyword_get(keyword).await.expect("read");
        account.keyword_list(page).await.expect("listed");
        account.keyword_delete(keyword).await.expect("deleted");
    }

    async fn lists_of_messages(&self, sent: &[Message]) {
        let all = MessageFilter::default();
        let client_ref = Some(format!("run-{}", self.run));
        let person = Search::parse(&sent[0].contact_number().to_string());
        for filter in [
            all.clone(),
            MessageFilter { status: Some(MessageStatus::Delivered), ..all.clone() },
            MessageFilter { status: Some(MessageStatus::Failed), ..all.clone() },
            MessageFilter { direction: Some(Direction::Inbound), ..all.clone() },
            MessageFilter { batch_id: sent[0].batch_id, ..all.clone() },
            MessageFilter { client_ref, ..all.clone() },
            MessageFilter { search: person, ..all.clone() },
        ] {
            let page = self.account.message_list(&filter, PageRequest::default()).await;
            assert!(!page.expect("listed").items.is_empty() || filter.status.is_some());
        }
        self.account.message_get(sent[0].id).await.expect("read");
        let links = LinkFilter { message: Some(sent[0].id), ..LinkFilter::default() };
        self.account.link_list(links, PageRequest::default()).await.expect("listed");
        self.account
            .link_list(LinkFilter::default(), PageRequest::default())
            .await
            .expect("listed");
    }

    /// Opt-outs, templates, sender names, webhooks and figures.
    async fn small_nouns(&self, people: &[E164]) {
        let (account, page) = (&self.account, PageRequest::default());
        let person = people[3];
        account.opt_out_create(&person.to_string(), None).await.expect("added");
        account.opt_out_list(None, OffsetRequest::default()).await.expect("listed");
        account.opt_out_delete(person).await.expect("removed");
        let template = account.template_create(TemplateInput::new("Ready", "Hello")).await;
        let template = template.expect("made").id;
        account.template_get(template).await.expect("read");
        account.template_list(None, page).await.expect("listed");
        account.template_delete(template).await.expect("deleted");
        account.sender_name_list().await.expect("listed");
        account.number_list().await.expect("listed");
        for endpoint in account.webhook_list().await.expect("listed") {
            let deliveries = account.delivery_list(endpoint.id, page).await.expect("listed").items;
            if let Some(delivery) = deliveries.first() {
                let _ = account.delivery_retry(endpoint.id, delivery.id).await;
            }
        }
        account.statistics_summary(SummaryRequest::default()).await.expect("read");
        account.statistics_timeseries(Some(7)).await.expect("read");
        account.get().await.expect("read");
    }

    async fn operator(&self) {
        let (operator, id) = (self.sms.operator(), self.account.id());
        let key = operator.api_key_create(id, Mode::Live, None).await.expect("made");
        self.sms.authenticate(key.key.reveal()).await.expect("read");
        operator.api_key_list(id).await.expect("listed");
        operator.api_key_revoke(id, key.record.id).await.expect("revoked");
        operator.account_list(PageRequest::default()).await.expect("listed");
        operator.ledger_list(id, PageRequest::default()).await.expect("listed");
        operator.unrouted_list(PageRequest::default()).await.expect("listed");
    }

    async fn upkeep(&self, n: u64) {
        let limit = usize::try_from(n).expect("small");
        self.sms.tidy(limit).await.expect("tidied");
        self.sms.fold_statistics(limit).await.expect("folded");
    }
}

fn service(store: Arc<dyn Store>, clock: &Arc<ManualClock>) -> Sms {
    let clock = Arc::clone(clock);
    Sms::builder(store).clock(clock).webhooks(Arc::new(Takes)).build()
}
