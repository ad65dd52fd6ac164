//! Plans sends and quotes: reads recipients page by page, and plans each page in portions between
//! which other work runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::account::AccountHandle;
use super::addressees::Addressees;
use super::compute::{self, Compute};
use super::turns::{Turn, Turns};
use crate::contact::store::CustomNamesWanted;
use crate::credits::Credits;
use crate::error::Error;
use crate::mode::Mode;
use crate::number::sending_number;
use crate::number::store::NumbersWanted;
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::sending::facts::{Codes, PlanFacts, Shortening};
use crate::sending::plan::{Planner, Progress};
use crate::sending::recipients::Recipients;
use crate::sending::request::SendRequest;
use crate::sending::settle::TEST_NUMBERS_PER_REQUEST;
use crate::sending::writer::effort;
use crate::store_error::StoreError;
use crate::time::Timestamp;

/// How often a send is planned again when its facts change between plan and commit.
pub(super) const MOST_PLANS: usize = 4;
/// Up to this many recipients, a send is planned without asking first who has opted out.
const FEW_RECIPIENTS: usize = 10;
/// A plan of more than this work, in characters rendered, waits for its turn and runs where long
/// computations run. It takes some 10 ms.
const LARGE: usize = 2_000_000;
/// The most memory that the messages of one send may take, in bytes: enough for the longest text
/// to the longest list.
const MOST_BYTES: usize = 256 << 20;

/// How long a large plan may wait for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// When a plan learns who has opted out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OptOuts {
    /// Before it is made.
    Now,
    /// At the commit, which checks opt-outs in any case and refuses a plan with a recipient that
    /// has opted out. This saves a query, because opt-outs are rare.
    AtTheCommit,
}

/// Which messages a large plan keeps. The others only count towards its price.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// All, because the caller takes them page by page.
    All,
    /// Those that the account can pay for. A send that it cannot pay for is refused, and to keep
    /// its messages until then takes memory, and time at the commit.
    WhatItCanPay,
    /// None, because the send will be refused for another reason.
    Nothing,
}

/// What is to be planned.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) request: &'a SendRequest,
    /// The text, before merging.
    pub(super) words: &'a str,
    pub(super) codes: Codes<'a>,
    pub(super) opt_outs: OptOuts,
    pub(super) kept: Kept,
}

/// Where messages come from, and by which route they leave.
pub(super) struct Departure {
    /// The number that the messages are sent from.
    pub(super) from: E164,
    /// The route that carries them.
    pub(super) route: RouteName,
}

/// How much there is to plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

impl AccountHandle {
    /// Plans everything that was asked for. Calls `page_done` after each page of recipients; it may
    /// take what was planned. A large plan waits for its turn, which `turn` then holds.
    pub(super) async fn plan(
        &self,
        asked: &Asked<'_>,
        turn: &mut Option<Turn>,
        mut page_done: impl FnMut(&mut Planner) + Send,
    ) -> Result<Planner, Error> {
        let mut addressees = self.addressees(asked.request, asked.words).await;
        let size = size_of(&addressees, asked);
        if size == Size::Large && turn.is_none() {
            *turn = Some(self.turn(&self.sms.inner.turns).await?);
        }
        let mut recipients = Recipients::of(asked.request);
        self.know_numbers(asked.request, &addressees, &mut recipients).await?;
        addressees.read_page(self, &mut recipients).await?;
        self.check_distinct(&recipients)?;
        let mut planner = self.planner(asked, &mut recipients).await?;
        if size == Size::Large {
            planner = planner.within(self.means(asked.kept).await?);
        }
        loop {
            planner.add(recipients.take_page());
            planner = self.compute(planner, Planner::next_portion, size).await?;
            if planner.bytes() > MOST_BYTES {
                self.discard(planner, turn.as_ref()).await?;
                return Err(too_large(asked.request));
            }
            page_done(&mut planner);
            if addressees.are_all_read() {
                return Ok(planner);
            }
            addressees.read_page(self, &mut recipients).await?;
            self.check_distinct(&recipients)?;
        }
    }

    /// Waits for a turn, and gives it up after so long that the caller no longer waits for an
    /// answer.
    pub(super) async fn turn(&self, turns: &Turns) -> Result<Turn, Error> {
        let since = self.sms.now();
        let turn = turns.take(self.id).await?;
        if self.sms.now().since(since) > LONGEST_WAIT {
            return Err(Error::TooManyPlansInAll);
        }
        Ok(turn)
    }

    /// A planner, once those on the first page who have opted out are rejected.
    async fn planner(
        &self,
        asked: &Asked<'_>,
        recipients: &mut Recipients,
    ) -> Result<Planner, Error> {
        let store = self.sms.store();
        let sender = self.approved_sender(asked.request.sender.as_deref()).await?;
        // Read together: a message whose id is of a later time could be sent before it was created.
        let at = self.sms.now();
        let ids = self.sms.ids(at);
        let settings = store.account_settings(self.id).await?;
        let settings = settings.ok_or(Error::NotFound("account"))?;
        if asked.opt_outs == OptOuts::Now || recipients.distinct() > FEW_RECIPIENTS {
            let numbers: Vec<E164> = recipients.numbers().collect();
            recipients.reject_opted_out(&store.opt_outs_among(self.id, &numbers).await?);
        }
        let custom_names = self.custom_names_in(asked.words).await?;
        let Departure { from, route } = self.departure(at).await?;
        let facts = PlanFacts {
            account: self.id,
            settings: &settings,
            mode: self.mode,
            body: asked.words,
            from,
            sender: sender.as_ref(),
            route: &route,
            custom_names: &custom_names,
            shortening: Shortening { base: &self.sms.inner.link_base, codes: asked.codes },
            validity: self.sms.inner.validity,
            at,
        };
        Ok(Planner::new(asked.request, &facts, ids))
    }

    /// The price up to which a large plan keeps its messages.
    async fn means(&self, kept: Kept) -> Result<Credits, Error> {
        match kept {
            Kept::All => Ok(Credits::MAX),
            Kept::Nothing => Ok(Credits::ZERO),
            Kept::WhatItCanPay => {
                let account = self.get().await?;
                let may_send = account.status.may_send(self.mode).is_ok();
                Ok(if may_send { account.balance } else { Credits::ZERO })
            }
        }
    }

    /// Frees a discarded plan where it was made, because freeing a large one takes a while.
    pub(super) async fn discard(&self, plan: Planner, turn: Option<&Turn>) -> Result<(), Error> {
        let size = if turn.is_some() { Size::Large } else { Size::Small };
        self.compute(plan, Planner::next_freed, size).await.map(drop)
    }

    /// Does all portions of a step: plans the page that was added last, or frees the plan.
    async fn compute(
        &self,
        planner: Planner,
        portion: fn(&mut Planner) -> Progress,
        size: Size,
    ) -> Result<Planner, Error> {
        let in_place = compute::InPlace;
        let place: &dyn Compute = match size {
            Size::Small => &in_place,
            Size::Large => &*self.sms.inner.compute,
        };
        let kept = Arc::new(Mutex::new(Some(planner)));
        // When this future is dropped, the next portion finds nothing to do.
        let seen = Arc::downgrade(&kept);
        let next_portion = move || {
            let Some(kept) = seen.upgrade() else { return Progress::Done };
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.as_mut().map_or(Progress::Done, portion)
        };
        place.run(Box::new(next_portion.clone())).await;
        // What is left if the place ended early, as tokio's threads do when the runtime ends.
        in_place.run(Box::new(next_portion)).await;
        let planner = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let lost = StoreError::Internal { doing: "planning a send", source: None };
        planner.ok_or(Error::Store(lost))
    }

    fn check_distinct(&self, recipients: &Recipients) -> Result<(), Error> {
        if self.mode.is_test() && recipients.distinct() > TEST_NUMBERS_PER_REQUEST {
            return Err(Error::TestLimitExceeded);
        }
        Ok(())
    }

    /// The custom fields in a body that contacts of the account use.
    pub(super) async fn custom_names_in(&self, body: &str) -> Result<BTreeSet<String>, Error> {
        let names = crate::text::custom_names(body);
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        if names.is_empty() {
            return Ok(BTreeSet::new());
        }
        Ok(self.sms.store().custom_names(self.id, CustomNamesWanted::Among(&names)).await?)
    }

    /// The words in braces of a text that are neither a built-in field nor a custom field of any
    /// contact, each once, in order of appearance. A [quote](Self::quote) reports them, too.
    pub async fn unknown_fields(&self, body: &str) -> Result<Vec<String>, Error> {
        let known = self.custom_names_in(body).await?;
        let names = crate::text::custom_names(body).into_iter();
        Ok(names.filter(|name| !known.contains(*name)).map(str::to_owned).collect())
    }

    /// From which number and by which route messages leave.
    pub(super) async fn departure(&self, at: Timestamp) -> Result<Departure, Error> {
        let own = self.sms.store().number_list(NumbersWanted::UsableBy(self.id)).await?;
        let from = sending_number(&own, self.id, at).ok_or(Error::NoNumber)?;
        let route = match self.mode {
            Mode::Test => RouteName::test(),
            Mode::Live => from.route.as_ref().unwrap_or_else(|| self.sms.default_route()).clone(),
        };
        Ok(Departure { from: from.phone, route })
    }
}

/// Whether a launch is so large that it waits for its turn.
pub(super) fn is_large(recipients: u64, body: &str, track_links: bool) -> bool {
    let recipients = usize::try_from(recipients).unwrap_or(usize::MAX);
    effort(recipients, body, track_links) > LARGE
}

fn size_of(addressees: &Addressees<'_>, asked: &Asked<'_>) -> Size {
    let recipients = asked.request.numbers().count() + addressees.count();
    let effort = effort(recipients, asked.words, asked.request.track_links);
    if effort > LARGE { Size::Large } else { Size::Small }
}

fn too_large(request: &SendRequest) -> Error {
    let field = if request.list_id.is_some() { "list_id" } else { "contact_ids" };
    let message = format!(
        "the messages of this send take more than {} MiB of memory: send to fewer people at once, \
         shorten the text, or use a campaign",
        MOST_BYTES >> 20
    );
    Error::invalid(field, "too_large", message)
}
