//! Fills a demo account with a month of history: contacts, conversations, campaigns with clicks, an
//! endpoint that broke, opt-outs, templates, keywords, and sender names under review.
//!
//! It is written through the service itself, with a second [`Sms`] on the same store whose clock
//! begins a month ago: [`Sms::pass`] moves it from one event to the next, and does what falls due
//! on the way. Its messages go to the simulated network, and its webhooks nowhere. So the store
//! must be new, and no worker may run yet.

use std::sync::Arc;
use std::time::Duration;

use sms_core::account::{AccountStatus, Mode};
use sms_core::campaign::CampaignInput;
use sms_core::campaign::launch::LaunchOptions;
use sms_core::clock::{Clock, ManualClock, MovableClock};
use sms_core::contact::ContactInput;
use sms_core::credits::Credits;
use sms_core::event::EventType;
use sms_core::ids::{CampaignId, ContactId, ListId, NumberId, TemplateId};
use sms_core::keyword::save::KeywordInput;
use sms_core::link::{LinkBase, LinkFilter};
use sms_core::list::ListInput;
use sms_core::list::join::JoinInput;
use sms_core::page::{Limit, PageRequest};
use sms_core::phone::{E164, parse_uk_mobile};
use sms_core::sender_name::review::Decision;
use sms_core::sending::SendRequest;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_core::service::{AccountHandle, Operator};
use sms_core::store::Store;
use sms_core::template::TemplateInput;
use sms_core::time::{Timestamp, london};
use sms_core::webhook::endpoint::EndpointInput;
use sms_core::{Error, Sms};

use super::endpoints::{BREAKS, Endpoints, WELL};
use super::numbers::{DEDICATED_NUMBER, SHARED_NUMBER};
use super::plot::{self, Event};
use super::script::{Group, ID, NAME, REMINDER, ROLES};

/// Everything in the history that looks like chance follows from it.
const SEED: u64 = 20;
/// What the account begins with.
const OPENING: u32 = 600;
/// The rent of the account's number.
const RENT: u64 = 20;

/// What the history was written for.
pub(super) struct Written {
    pub live_key: String,
    pub test_key: String,
    pub number: NumberId,
}

/// Writes the month that ends now, and leaves the account with `balance` credits.
pub(super) async fn write(
    store: Arc<dyn Store>,
    now: Timestamp,
    link_base: LinkBase,
    balance: u32,
) -> Result<Written, Error> {
    let start = plot::beginning(now);
    let clock = Arc::new(MovableClock::new(Arc::new(ManualClock::at(start))));
    let endpoints = Endpoints {
        clock: clock.clone(),
        broken_from: plot::moment(london::shown(now).date(), 3, 9 * 60 + 10, 0),
    };
    let sms = Sms::builder(store)
        .clock(clock.clone())
        .link_base(link_base)
        .webhooks(Arc::new(endpoints))
        .build();
    let story = Story::begin(sms, clock, now).await?;
    for (at, event) in plot::plot(SEED, now) {
        story.pass_to(at).await?;
        story.happen(event).await?;
    }
    story.pass_to(now).await?;
    story.finish(balance).await
}

/// The account while its month passes.
struct Story {
    sms: Sms,
    clock: Arc<MovableClock>,
    /// When the history ends.
    end: Timestamp,
    operator: Operator,
    account: AccountHandle,
    keys: [String; 2],
    number: NumberId,
    /// Our own numbers.
    dedicated: E164,
    shared: E164,
    /// Those of [`ROLES`].
    people: Vec<E164>,
    contacts: Vec<ContactId>,
    reminder: TemplateId,
    regulars: ListId,
    campaigns: [CampaignId; 2],
}

impl Story {
    /// The account as it was set up.
    async fn begin(sms: Sms, clock: Arc<MovableClock>, end: Timestamp) -> Result<Self, Error> {
        let operator = sms.operator();
        let made = operator.account_create(NewAccountInput::active(NAME, OPENING).id(ID)).await?;
        let account = sms.account(made.id, Mode::Live);
        let mut keys = [String::new(), String::new()];
        for (key, mode) in keys.iter_mut().zip([Mode::Live, Mode::Test]) {
            let made = operator.api_key_create(made.id, mode, Some("demo".to_owned())).await?;
            made.key.reveal().clone_into(key);
        }
        operator.number_create(NumberInput::shared(SHARED_NUMBER)).await?;
        let rent = Credits::new(RENT).unwrap_or(Credits::ZERO);
        let rented = NumberInput::dedicated(DEDICATED_NUMBER, made.id);
        let rented = rented.rental_credits(rent).monthly_credits(rent);
        let number = operator.number_create(rented).await?.id;
        let waiting = NewAccountInput::active("Corner shop", 0).status(AccountStatus::Pending);
        operator.account_create(waiting).await?;
        let people = ROLES.iter().map(|role| number_of(role.number)).collect::<Result<_, _>>()?;
        let (regulars, contacts) = address_book(&account).await?;
        let reminder = TemplateInput::new("Reminder of tonight", REMINDER);
        let reminder = account.template_create(reminder).await?.id;
        habits(&operator, &account, regulars).await?;
        let campaigns = [
            (
                "Quiz night",
                "Quiz night this Thursday at 8. Teams of up to six: \
                            https://example.com/quiz",
            ),
            (
                "New menu",
                "Hi {first_name}, our new menu is here: https://example.com/menu To book, \
                          just reply.",
            ),
        ];
        let mut drafts = Vec::new();
        for (name, body) in campaigns {
            let input = CampaignInput::new(name, body, regulars).append_opt_out().track_links();
            drafts.push(account.campaign_create(input).await?.id);
        }
        let campaigns = [drafts[0], drafts[1]];
        let [dedicated, shared] = [DEDICATED_NUMBER, SHARED_NUMBER].map(own_number);
        let (dedicated, shared) = (dedicated?, shared?);
        Ok(Self {
            sms,
            clock,
            end,
            operator,
            account,
            keys,
            number,
            dedicated,
            shared,
            people,
            contacts,
            reminder,
            regulars,
            campaigns,
        })
    }

    async fn pass_to(&self, at: Timestamp) -> Result<(), Error> {
        self.sms.pass(&self.clock, at.since(self.clock.now())).await
    }

    async fn happen(&self, event: Event) -> Result<(), Error> {
        // The gateway checks in, so that messages go by the account's own number.
        self.operator.number_check_in(self.number).await?;
        match event {
            Event::Out(person, body) => {
                self.send(SendRequest::new(body).to(self.people[person].to_string())).await
            }
            Event::Remind(guests) => {
                let contacts = guests.into_iter().map(|guest| self.contacts[guest]);
                self.send(SendRequest::from_template(self.reminder).to_contacts(contacts)).await
            }
            Event::In(person, body) => {
                self.operator.inbound(self.people[person], self.dedicated, body).await.map(drop)
            }
            Event::Stranger(number, body) => {
                self.operator.inbound(number_of(number)?, self.shared, body).await.map(drop)
            }
            Event::Read(people) => {
                for person in people {
                    match self.account.conversation_read(self.people[person]).await {
                        Ok(_) | Err(Error::NotFound(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            }
            Event::Plan => self.plan().await,
            Event::TopUp(amount) => self.top_up(amount.into()).await,
            Event::Campaign(place) => {
                let options = LaunchOptions::default();
                self.account.campaign_launch(self.campaigns[place], options).await.map(drop)
            }
            Event::Click(place, which) => self.click(self.campaigns[place], which).await,
            Event::OptOut(person) => {
                let note = Some("Asked us by telephone".to_owned());
                let number = self.people[person].to_string();
                self.account.opt_out_create(&number, note).await.map(drop)
            }
        }
    }

    async fn send(&self, request: SendRequest) -> Result<(), Error> {
        self.account.send(request).await.map(drop)
    }

    async fn top_up(&self, amount: u64) -> Result<(), Error> {
        let credits = Credits::new(amount).unwrap_or(Credits::ZERO);
        let note = Some("Top-up by card".to_owned());
        self.operator.credits_adjust(self.account.id(), credits.gain(), note).await.map(drop)
    }

    /// Follows one of a campaign's links.
    async fn click(&self, campaign: CampaignId, which: u64) -> Result<(), Error> {
        let page = PageRequest::default().limit(Limit::EXPORT);
        let links = self.account.link_list(LinkFilter::default().campaign(campaign), page).await?;
        let links = links.items;
        let place = which.checked_rem(links.len() as u64).and_then(|it| usize::try_from(it).ok());
        if let Some(link) = place.and_then(|place| links.get(place)) {
            self.sms.link_click(link.code).await?;
        }
        Ok(())
    }

    /// What is to be sent two days after the history ends, and a draft.
    async fn plan(&self) -> Result<(), Error> {
        let today = london::shown(self.end).date();
        let roast = "Roast of the day, next Sunday from noon. Reply with a time to book.";
        let roast = CampaignInput::new("Sunday roast", roast, self.regulars).append_opt_out();
        let roast = self.account.campaign_create(roast).await?.id;
        let half_past_ten = plot::moment(today, 0, 10 * 60 + 30, 0);
        let later = half_past_ten.plus(Duration::from_hours(48));
        let later = LaunchOptions::default().schedule_at(later);
        self.account.campaign_launch(roast, later).await?;
        let vouchers = "Give an evening: vouchers are at the bar, or at https://example.com/gift";
        let draft = CampaignInput::new("Gift vouchers", vouchers, self.regulars);
        self.account.campaign_create(draft.append_opt_out().track_links()).await?;
        let party = self.people[plot::place_of("Office party")].to_string();
        let reminder = "Your table for 22 is ready from 6pm today. See you then.";
        let tomorrow = half_past_ten.plus(Duration::from_hours(23));
        self.send(SendRequest::new(reminder).to(party).schedule_at(tomorrow)).await
    }

    /// The account as it is to be found, with this balance.
    async fn finish(self, balance: u32) -> Result<Written, Error> {
        let left = self.account.get().await?.balance.get();
        if let Some(missing) = u64::from(balance).checked_sub(left).filter(|it| *it > 0) {
            self.top_up(missing).await?;
        }
        self.operator.number_check_in(self.number).await?;
        let Self { keys: [live_key, test_key], number, .. } = self;
        Ok(Written { live_key, test_key, number })
    }
}

/// The contacts, and the list of regulars.
async fn address_book(account: &AccountHandle) -> Result<(ListId, Vec<ContactId>), Error> {
    let mut regulars = None;
    let mut contacts = vec![None; ROLES.len()];
    for (group, name) in
        [(Group::Suppliers, "Suppliers"), (Group::Staff, "Staff"), (Group::Regulars, "Regulars")]
    {
        let list = account.list_create(ListInput::new(name)).await?.id;
        let places: Vec<usize> =
            (0..ROLES.len()).filter(|place| ROLES[*place].group == group).collect();
        let rows = places.iter().map(|place| {
            let role = ROLES[*place];
            ContactInput::new(phone_of(role.number)).first_name(role.name)
        });
        let imported = account.contacts_import(rows.collect(), Some(list)).await?;
        for (place, row) in places.into_iter().zip(imported.rows) {
            contacts[place] = row.contact;
        }
        regulars = Some(list);
    }
    let contacts: Option<Vec<ContactId>> = contacts.into_iter().collect();
    regulars.zip(contacts).ok_or(Error::NotFound("contact"))
}

/// Templates, keywords, sender names and endpoints.
async fn habits(
    operator: &Operator,
    account: &AccountHandle,
    regulars: ListId,
) -> Result<(), Error> {
    for (name, body) in [
        ("Table is ready", "Hi {first_name}, your table is ready. We keep it for 15 minutes."),
        ("Lost property", "Hi {first_name}, we found something of yours. It waits at the bar."),
        ("Shift change", "{first_name}: can you work tomorrow from 5pm? Reply YES or NO."),
    ] {
        account.template_create(TemplateInput::new(name, body)).await?;
    }
    let menu = "Today: leek soup, cod with mussels, lamb shoulder, apple tart. Book by replying.";
    account.keyword_create(KeywordInput::new("MENU").reply(menu)).await?;
    let join = KeywordInput::new("JOIN").reply("Welcome! We write once or twice a month.");
    account.keyword_create(join.add_to_list_id(regulars.to_string())).await?;
    let lunch = ListInput::new("Lunch offers");
    let lunch = account.list_create(lunch).await?.id;
    let members = ["155", "156", "157"].map(|end| format!("07700 900{end}"));
    account.list_add(lunch, JoinInput::default().phones(members)).await?;
    for (value, decision) in [
        ("Bistro", Some((Decision::Approve, None))),
        ("BANK-INFO", Some((Decision::Reject, Some("The name suggests a bank.".to_owned())))),
        ("BistroVIP", None),
    ] {
        let purpose = Some("Messages to our guests".to_owned());
        let name = account.sender_name_create(value, purpose).await?;
        if let Some((decision, reason)) = decision {
            operator.sender_name_review(name.id, decision, reason).await?;
        }
    }
    let inbound = [EventType::MessageReceived, EventType::OptOutCreated, EventType::LinkClicked];
    account.webhook_create(EndpointInput::new(WELL, inbound)).await?;
    let outbound = [EventType::MessageSent, EventType::MessageDelivered, EventType::MessageFailed];
    account.webhook_create(EndpointInput::new(BREAKS, outbound)).await?;
    Ok(())
}

fn phone_of(number: u16) -> String {
    format!("07700 900{number}")
}

fn number_of(number: u16) -> Result<E164, Error> {
    own_number(&phone_of(number))
}

fn own_number(text: &str) -> Result<E164, Error> {
    parse_uk_mobile(text).map_err(|_| Error::NotFound("number"))
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;
    use sms_core::message::filter::MessageFilter;
    use sms_core::webhook::delivery::DeliveryStatus;
    use sms_store_memory::MemoryStore;

    use super::*;

    /// What a first look at the demo shows of its month, if the month is written in this minute of
    /// this day.
    async fn shown(day: NaiveDate, minute: u32) -> [usize; 4] {
        let now = plot::moment(day, 0, minute, 0);
        let store = Arc::new(MemoryStore::new());
        write(store.clone(), now, LinkBase::default(), 1_000).await.unwrap();
        let sms = Sms::builder(store).clock(Arc::new(ManualClock::at(now))).build();
        let accounts = sms.operator().account_list(PageRequest::default()).await.unwrap().items;
        let demo = accounts.iter().find(|account| account.name == "Demo").unwrap();
        let demo = sms.account(demo.id, Mode::Live);
        let page = || PageRequest::default().limit(Limit::EXPORT);
        let endpoints = demo.webhook_list().await.unwrap();
        let broken = endpoints.iter().find(|endpoint| endpoint.url == BREAKS).unwrap();
        let deliveries = demo.delivery_list(broken.id, page()).await.unwrap().items;
        let lost = deliveries.iter().filter(|it| it.status == DeliveryStatus::GivenUp).count();
        let threads = demo.conversation_list(None, None, page()).await.unwrap();
        let threads = threads.conversations.items;
        let unread = threads.iter().filter(|it| it.unread > 0).count();
        let messages = demo.message_list(&MessageFilter::default(), page()).await.unwrap();
        [lost, threads.len(), unread, messages.items.len()]
    }

    #[tokio::test]
    async fn the_demo_shows_much_the_same_on_every_day_and_at_every_hour() {
        let day = |year, month, day| NaiveDate::from_ymd_opt(year, month, day).unwrap();
        for (day, minute) in [
            (day(2026, 11, 26), 12 * 60),
            (day(2026, 11, 28), 1),
            (day(2027, 1, 1), 23 * 60 + 59),
            (day(2027, 3, 28), 2 * 60 + 1),
            (day(2027, 10, 31), 60),
            (day(2028, 2, 29), 9 * 60 + 15),
        ] {
            let [lost, threads, unread, messages] = shown(day, minute).await;
            let what = format!("{day}, minute {minute}: {lost} {threads} {unread} {messages}");
            assert!(lost > 20, "failed deliveries: {what}");
            assert!(threads > 30, "conversations: {what}");
            assert!(unread > 2, "unread conversations: {what}");
            assert!(messages > 500, "messages: {what}");
        }
    }
}
