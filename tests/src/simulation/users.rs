//! What users and the operator do: every call of the service's public API, with checks of the
//! answers that users see.
//!
//! A deed is drawn with all its parameters, and then runs as a task. The model checks the store's
//! answers at each commit; this module checks the answers of the API.

use sms_core::account::{AccountStatus, Mode};
use sms_core::ids::{
    AccountId, CampaignId, DeliveryId, EndpointId, MessageId, NumberId, SenderNameId,
};
use sms_core::link::LinkCode;
use sms_core::phone::E164;
use sms_core::sender_name::review::Decision;
use sms_core::sending::IdempotencyKey;

use super::dice::Dice;
use super::model::Model;
use super::talk::Answer;
use super::wish::{Meaning, SENDERS, Wish, number, person};
use super::world::{State, World};

mod account;
mod book;
mod caller;
mod campaign;
mod event;
mod inbox;
mod look;
mod replay;
mod send;
mod sender_name;
mod webhook;

pub use book::BookDeed;
pub use caller::Caller;
pub use campaign::Spread;
pub use event::EventDeed;
pub use inbox::KeywordDeed;
pub use webhook::EndpointDeed;

/// The most accounts a run has.
const MOST_ACCOUNTS: usize = 6;
/// The most numbers the operator has.
const MOST_NUMBERS: usize = 8;

/// Something a user or the operator does.
#[derive(Debug, Clone)]
pub enum Deed {
    /// Sends, perhaps after a quote.
    Send {
        /// Who.
        account: AccountId,
        /// What.
        meaning: Meaning,
        /// Under which key.
        key: Option<IdempotencyKey>,
        /// Whether a quote is asked for first.
        quoted: bool,
    },
    /// Sends test messages to everybody, again and again.
    Rehearse(AccountId),
    /// Launches a campaign to a new list.
    Launch(AccountId, Spread),
    /// Cancels a campaign.
    CampaignCancel(AccountId, CampaignId),
    /// Cancels a message.
    Cancel(AccountId, MessageId),
    /// Reads a message.
    Read(AccountId, MessageId),
    /// Reads a list of messages by pages.
    List(AccountId, u32),
    /// Reads account, ledger and unrouted messages.
    Look(AccountId),
    /// Makes an account.
    AccountCreate(AccountStatus, u32),
    /// Changes an account's status.
    AccountStatus(AccountId, AccountStatus),
    /// Gives or takes credits.
    Credits(AccountId, i64),
    /// Makes a key, uses it, and perhaps revokes it.
    Key(AccountId, Mode),
    /// Adds a number, with its rent.
    NumberCreate(E164, Option<AccountId>, u64),
    /// Removes a number.
    NumberDelete(NumberId),
    /// A number's gateway checks in.
    NumberCheckIn(NumberId),
    /// The operator adds an inbound message.
    Inbound(E164, E164, &'static str),
    /// The operator records a receipt.
    Receipt(MessageId),
    /// Something with the address book.
    Book(AccountId, BookDeed),
    /// Something with keywords.
    Keyword(AccountId, KeywordDeed),
    /// Reads conversations.
    Converse(AccountId, E164),
    /// Asks for a sender name.
    SenderName(AccountId, &'static str),
    /// The operator decides on one.
    Review(SenderNameId, Decision),
    /// A person follows a short URL.
    Follow(LinkCode),
    /// Something with webhook endpoints.
    Webhook(AccountId, EndpointDeed),
    /// Sends a delivery again.
    Retry(AccountId, EndpointId, DeliveryId),
    /// Something with the event log.
    Events(EventDeed),
}

/// An earlier request with a key, to repeat.
#[derive(Debug, Default)]
pub struct Memory {
    sends: Vec<(AccountId, IdempotencyKey, Meaning)>,
}

impl Deed {
    /// Draws a deed that makes sense in this world; `None` when it turns out that none does.
    pub fn draw(dice: &mut Dice, world: &World, memory: &mut Memory) -> Option<Self> {
        let now = world.now();
        let choice = dice.weighted(&[
            (52, 0),
            (9, 1),
            (4, 2),
            (2, 3),
            (2, 4),
            (1, 5),
            (4, 6),
            (6, 7),
            (3, 8),
            (1, 9),
            (1, 10),
            (7, 11),
            (6, 12),
            (2, 13),
            (14, 14),
            (3, 15),
            (2, 16),
            (2, 17),
            (9, 18),
            (7, 19),
            (4, 20),
            (5, 21),
            (2, 22),
            (3, 23),
            (1, 24),
            (12, 25),
        ]);
        world.with(|state| {
            let accounts: Vec<AccountId> = state.model.accounts.keys().copied().collect();
            let account = dice.pick(&accounts);
            Some(match choice {
                0 => send(dice, account?, now, memory),
                1 | 2 => {
                    let (owner, id) = dice.pick(state.model.recent_messages.items())?;
                    let who = if dice.percent(90) { owner } else { account? };
                    if choice == 1 { Self::Cancel(who, id) } else { Self::Read(who, id) }
                }
                3 => Self::List(account?, dice.pick(&[1, 7, 25, 100])?),
                5 if accounts.len() < MOST_ACCOUNTS => {
                    Self::AccountCreate(status(dice), dice.pick(&[0, 10, 500])?)
                }
                5 | 6 => Self::AccountStatus(account?, status(dice)),
                7 => Self::Credits(account?, dice.pick(&[1, 20, 200, 500, -1, -30, -400])?),
                8 => Self::Key(account?, dice.pick(&[Mode::Live, Mode::Test])?),
                9..=11 => number_deed(dice, state, choice, account?)?,
                12 => {
                    let to = our_number(dice, state)?;
                    Self::Inbound(person(dice), to, Answer::draw(dice))
                }
                13 => Self::Receipt(dice.pick(state.model.recent_messages.items())?.1),
                14 => {
                    let endpoints: Vec<EndpointId> =
                        state.model.endpoints.keys().copied().collect();
                    let endpoint = dice.pick(&endpoints);
                    let owner = endpoint.and_then(|id| state.model.endpoints.get(&id));
                    let owner = owner.map(|endpoint| endpoint.last.account);
                    let who = if dice.percent(95) { owner } else { None }.or(account)?;
                    Self::Webhook(who, EndpointDeed::draw(dice, state, endpoint))
                }
                16 => Self::Launch(account?, Spread::draw(dice, now)),
                17 => {
                    let (owner, id) = dice.pick(state.model.recent_campaigns.items())?;
                    let who = if dice.percent(90) { owner } else { account? };
                    Self::CampaignCancel(who, id)
                }
                18 => Self::Book(account?, BookDeed::draw(dice, &state.model.accounts[&account?])),
                19 => {
                    let own = &state.model.accounts[&account?];
                    Self::Keyword(account?, KeywordDeed::draw(dice, own))
                }
                20 => Self::Converse(account?, person(dice)),
                22 => Self::SenderName(account?, dice.pick(&SENDERS)?),
                23 if dice.percent(30) => {
                    Self::Review(waiting_name(&state.model)?, Decision::Reject)
                }
                23 => {
                    let names: Vec<SenderNameId> =
                        state.model.sender_names.keys().copied().collect();
                    let approve = dice.percent(75);
                    let decision = if approve { Decision::Approve } else { Decision::Reject };
                    Self::Review(dice.pick(&names)?, decision)
                }
                21 if dice.percent(5) => Self::Follow("0123456789".parse().ok()?),
                21 => Self::Follow(dice.pick(state.model.recent_links.items())?),
                24 if dice.percent(40) => Self::Rehearse(account?),
                4 | 24 => Self::Look(account?),
                25 => Self::Events(EventDeed::draw(dice, state, account?)),
                _ => {
                    let (owner, endpoint, delivery) =
                        dice.pick(state.model.recent_deliveries.items())?;
                    let who = if dice.percent(95) { owner } else { account? };
                    Self::Retry(who, endpoint, delivery)
                }
            })
        })
    }

    /// What it is called in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Send { key: Some(_), .. } => "send with a key",
            Self::Send { quoted: true, .. } => "quote and send",
            Self::Send { .. } => "send",
            Self::Rehearse(_) => "send tests again and again",
            Self::Launch(..) => "launch a campaign",
            Self::CampaignCancel(..) => "cancel a campaign",
            Self::Cancel(..) => "cancel",
            Self::Read(..) => "read a text",
            Self::List(..) => "list messages",
            Self::Look(_) => "look at account and ledger",
            Self::AccountCreate(..) => "make an account",
            Self::AccountStatus(..) => "change an account's status",
            Self::Credits(..) => "give or take credits",
            Self::Key(..) => "make, use and revoke a key",
            Self::NumberCreate(..) => "add a number",
            Self::NumberDelete(_) => "remove a number",
            Self::NumberCheckIn(_) => "check a number in",
            Self::Inbound(..) => "take a text in",
            Self::Receipt(_) => "record a receipt",
            Self::Book(_, deed) => deed.name(),
            Self::Keyword(_, deed) => deed.name(),
            Self::Converse(..) => "read conversations",
            Self::SenderName(..) => "ask for a sender name",
            Self::Review(..) => "review a sender name",
            Self::Follow(_) => "follow a link",
            Self::Webhook(_, deed) => deed.name(),
            Self::Retry(..) => "send a delivery again",
            Self::Events(deed) => deed.name(),
        }
    }

    /// Does it.
    pub async fn run(self, caller: Caller) {
        match self {
            Self::Send { account, meaning, key, quoted } => {
                caller.send(account, meaning, key, quoted).await;
            }
            Self::Rehearse(account) => caller.rehearse(account).await,
            Self::Launch(account, spread) => caller.launch(account, spread).await,
            Self::CampaignCancel(account, id) => caller.campaign_cancel(account, id).await,
            Self::Cancel(account, id) => caller.cancel(account, id).await,
            Self::Read(account, id) => caller.read(account, id).await,
            Self::List(account, limit) => caller.list(account, limit).await,
            Self::Look(account) => caller.look(account).await,
            Self::AccountCreate(status, credits) => caller.account_create(status, credits).await,
            Self::AccountStatus(account, status) => caller.account_status(account, status).await,
            Self::Credits(account, amount) => caller.credits(account, amount).await,
            Self::Key(account, mode) => caller.key(account, mode).await,
            Self::NumberCreate(phone, account, rent) => {
                caller.number_create(phone, account, rent).await;
            }
            Self::NumberDelete(id) => caller.number_delete(id).await,
            Self::NumberCheckIn(id) => caller.number_check_in(id).await,
            Self::Inbound(from, to, body) => caller.inbound(from, to, body).await,
            Self::Receipt(id) => caller.receipt(id).await,
            Self::Book(account, deed) => caller.book(account, deed).await,
            Self::Keyword(account, deed) => caller.keyword(account, deed).await,
            Self::Converse(account, number) => caller.converse(account, number).await,
            Self::SenderName(account, value) => caller.sender_name(account, value).await,
            Self::Review(id, decision) => caller.review(id, decision).await,
            Self::Follow(code) => caller.follow(code).await,
            Self::Webhook(account, deed) => caller.webhook(account, deed).await,
            Self::Retry(account, endpoint, id) => caller.retry(account, endpoint, id).await,
            Self::Events(deed) => caller.events(deed).await,
        }
    }
}

fn status(dice: &mut Dice) -> AccountStatus {
    dice.weighted(&[
        (6, AccountStatus::Active),
        (1, AccountStatus::Pending),
        (1, AccountStatus::Suspended),
    ])
}

/// One of the operator's numbers, or one that was released, or sometimes an unknown one.
pub fn our_number(dice: &mut Dice, state: &State) -> Option<E164> {
    let numbers = state.model.numbers.values().map(|own| own.phone);
    let numbers: Vec<E164> = numbers.chain(state.model.releases.keys().copied()).collect();
    if dice.percent(8) { Some(number(447_700_900_099)) } else { dice.pick(&numbers) }
}

/// A sender name under which a message waits.
fn waiting_name(model: &Model) -> Option<SenderNameId> {
    let waiting = model.queue.iter().filter_map(|(_, id)| model.messages.get(id));
    let mut named =
        waiting.filter_map(|text| Some((text.last.account, text.last.sender.as_ref()?)));
    named.find_map(|(account, name)| {
        let mut own = model.sender_names.iter().filter(|(_, own)| own.account == account);
        own.find(|(_, own)| own.value.same_as(name)).map(|(id, _)| *id)
    })
}

fn number_deed(dice: &mut Dice, state: &State, choice: i32, account: AccountId) -> Option<Deed> {
    let ids: Vec<NumberId> = state.model.numbers.keys().copied().collect();
    Some(match choice {
        9 => {
            let phone = number(447_700_900_010 + dice.between(0, 9));
            let holder = if dice.percent(80) { Some(account) } else { None };
            Deed::NumberCreate(phone, holder, dice.pick(&[0, 3, 40])?)
        }
        10 if ids.len() > MOST_NUMBERS / 2 => Deed::NumberDelete(dice.pick(&ids)?),
        _ => Deed::NumberCheckIn(dice.pick(&ids)?),
    })
}

/// A new send, or, with a key, an earlier one, sometimes with a change.
fn send(
    dice: &mut Dice,
    account: AccountId,
    now: sms_core::time::Timestamp,
    memory: &mut Memory,
) -> Deed {
    let mode = if dice.percent(75) { Mode::Live } else { Mode::Test };
    let fresh = |dice: &mut Dice| Meaning { wish: Wish::draw(dice, now), mode };
    if !dice.percent(35) {
        let meaning = fresh(dice);
        return Deed::Send { account, meaning, key: None, quoted: dice.percent(20) };
    }
    let again = dice.below(memory.sends.len() + 1);
    if let Some((account, key, meaning)) = memory.sends.get(again).cloned() {
        let meaning = match dice.below(10) {
            0 | 1 => Meaning { wish: meaning.wish.changed(dice), ..meaning },
            2 => Meaning { mode, ..meaning },
            _ => meaning,
        };
        return Deed::Send { account, meaning, key: Some(key), quoted: false };
    }
    let name = format!("key {}", dice.between(1, 12));
    let Ok(key) = name.parse::<IdempotencyKey>() else {
        return Deed::Send { account, meaning: fresh(dice), key: None, quoted: false };
    };
    let meaning = fresh(dice);
    if memory.sends.len() == 12 {
        memory.sends.remove(0);
    }
    memory.sends.push((account, key.clone(), meaning.clone()));
    Deed::Send { account, meaning, key: Some(key), quoted: false }
}
