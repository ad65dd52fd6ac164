//! Replays: what an endpoint missed is sent again from the event log, in portions.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::reading::Read;
use super::sms::Sms;
use super::wake::Work;
use crate::error::Error;
use crate::event::EventType;
use crate::event::kinds::Kinds;
use crate::event::log::{EventPage, EventRequest, LoggedEvent, ReadFrom};
use crate::event::position::Position;
use crate::field_error::FieldError;
use crate::idempotency::fingerprint::Fields;
use crate::idempotency::{Claim, Made};
use crate::ids::{EndpointId, EventId};
use crate::page::Limit;
use crate::time::Timestamp;
use crate::upkeep::Due;
use crate::webhook::endpoint::Endpoint;
use crate::webhook::replay::plan::{PortionEnd, PortionPlan, ReplayPlan, ReplayRefused, may_begin};
use crate::webhook::replay::{MOST_PAGES, PORTION, Replay, ReplayBegun, Span};
use crate::webhook::store::EndpointsWanted;

/// The log is in the order of commits, and most events happen at most this long before theirs.
const SLACK: Duration = Duration::from_mins(1);
/// How many replays go on in one call.
const AT_ONCE: usize = 100;

/// Where a replay begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayFrom {
    /// With what came after this position.
    Position(Position),
    /// With what came after this event.
    Event(EventId),
    /// With what happened at this time or later.
    Time(Timestamp),
}

/// What to send again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRequest {
    /// Where in the log it begins.
    pub from: ReplayFrom,
    /// Only events before this time; `None` for all events up to now.
    pub to: Option<Timestamp>,
    /// Only these kinds, which the endpoint subscribes to; `None` for all that it subscribes to.
    pub types: Option<BTreeSet<EventType>>,
}

impl ReplayRequest {
    fn meaning(&self, endpoint: EndpointId, fields: &mut Fields) {
        let Self { from, to, types } = self;
        fields.add("endpoint", [endpoint.to_string()]);
        match from {
            ReplayFrom::Position(position) => fields.add("after", [position.to_string()]),
            ReplayFrom::Event(id) => fields.add("after", [id.to_string()]),
            ReplayFrom::Time(at) => fields.add("from", [at.as_millis().to_string()]),
        }
        fields.add("to", to.map(|at| at.as_millis().to_string()));
        fields.add("types", types.iter().flatten().map(|kind| kind.as_str()));
    }
}

impl AccountHandle {
    /// Sends an endpoint again what the event log has for it: at most 100,000 events, in the order
    /// of the log. The answer says how many. They are sent in portions, and a new event waits for
    /// one portion at most. The requests of an account are counted one after another.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a beginning or kinds that do not fit; [`Error::WebhookDisabled`];
    /// [`Error::ReplayUnderWay`]; [`Error::TooManyPlans`] and [`Error::TooManyPlansInAll`] if too
    /// many requests wait for their turn.
    pub async fn webhook_replay(
        &self,
        endpoint: EndpointId,
        request: ReplayRequest,
    ) -> Result<ReplayBegun, Error> {
        Ok(self.keyed(None).webhook_replay(endpoint, request).await?.value)
    }

    /// What a valid request means for the endpoint.
    async fn replay_scope(
        &self,
        endpoint: &Endpoint,
        request: &ReplayRequest,
    ) -> Result<Scope, Error> {
        let kinds = check(endpoint, request)?;
        let (after, from) = match request.from {
            ReplayFrom::Position(position) => (Some(position), None),
            ReplayFrom::Event(id) => (Some(self.position_of(id).await?), None),
            ReplayFrom::Time(at) => (None, Some(at)),
        };
        Ok(Scope { kinds, after, span: Span { from, to: request.to } })
    }

    /// Counts the events of a replay, and finds where it begins and ends.
    async fn replay_plan(&self, endpoint: EndpointId, scope: Scope) -> Result<ReplayPlan, Error> {
        let Scope { kinds, after, span } = scope;
        let after = match (after, span.from) {
            (None, Some(at)) => self.place_before(at).await?,
            (after, _) => after.unwrap_or(Position::START),
        };
        let end = match span.to {
            Some(to) => self.place_after(to).await?,
            None => Position::end_of(u64::MAX),
        };
        let next_at = self.sms.now();
        let replay = Replay { kinds, span, after, until: end, next_at };
        let begun = self.count(replay).await?;
        let until = begun.reached.filter(|_| begun.events > 0);
        let replay = until.map(|until| Replay { until, ..replay });
        Ok(ReplayPlan { account: self.id, endpoint, replay, begun })
    }

    async fn position_of(&self, id: EventId) -> Result<Position, Error> {
        let found = self.sms.store().event_get(self.id, id).await?;
        let unknown = || {
            let message = "there is no such event in the log; begin at a time, with `from`";
            Error::invalid("after", "unknown_value", message)
        };
        Ok(found.ok_or_else(unknown)?.position)
    }

    /// How many events a replay has, up to the most that it may have, and the last of them. Reads
    /// no more of the log than a request may.
    async fn count(&self, replay: Replay) -> Result<ReplayBegun, Error> {
        let mut begun = ReplayBegun::NONE;
        let mut after = replay.after;
        for pages in 1.. {
            let page = self.page(replay.kinds, ReadFrom::After(after), Limit::EXPORT).await?;
            for LoggedEvent { position, event } in page.items {
                if !replay.includes(position, &event) {
                    continue;
                }
                match begun.count(position) {
                    ControlFlow::Continue(counted) => begun = counted,
                    ControlFlow::Break(counted) => return Ok(counted),
                }
            }
            match page.next.filter(|next| *next < replay.until) {
                Some(next) => after = next,
                None => return Ok(begun),
            }
            if let ControlFlow::Break(read) = begun.read(pages, after) {
                return Ok(read);
            }
        }
        Ok(begun)
    }

    /// A place in the log before what happened at `at` or later: all of it, unless more than
    /// [`Limit::EXPORT`] events in a row before that place were committed late, or more were than a
    /// request may read.
    async fn place_before(&self, at: Timestamp) -> Result<Position, Error> {
        let mut high = self.newest().await?;
        for _ in 0..MOST_PAGES {
            let commit = self.last_before(at.minus(SLACK), high).await?;
            // That commit may have come late, after events that belong to the replay.
            let before = ReadFrom::Newest(Some(Position { commit, place: 0 }));
            let page = self.page(Kinds::all(), before, Limit::EXPORT).await?;
            match page.items.iter().rfind(|logged| logged.event.created_at >= at) {
                Some(first) => high = first.position.commit.saturating_sub(1),
                None => return Ok(Position::end_of(commit.saturating_sub(1))),
            }
        }
        Ok(Position::end_of(high))
    }

    /// A place in the log after what happened before `at`: all of it, unless more than
    /// [`Limit::EXPORT`] events are between two of them that were committed late.
    async fn place_after(&self, at: Timestamp) -> Result<Position, Error> {
        let newest = self.newest().await?;
        let mut end = Position::end_of(self.last_before(at.plus(SLACK), newest).await?);
        for _ in 0..MOST_PAGES {
            let page = self.page(Kinds::all(), ReadFrom::After(end), Limit::EXPORT).await?;
            match page.items.iter().rfind(|logged| logged.event.created_at < at) {
                Some(last) => end = Position::end_of(last.position.commit),
                None => break,
            }
        }
        Ok(end)
    }

    /// The last commit that can be read; 0 if there is none.
    async fn newest(&self) -> Result<u64, Error> {
        let newest = self.one(ReadFrom::Newest(None)).await?;
        Ok(newest.map_or(0, |newest| newest.position.commit))
    }

    /// The last commit up to `high` whose first event happened before `at`; 0 if there is none.
    /// Halves the log until it has found one. A commit that came late may be taken for the last.
    async fn last_before(&self, at: Timestamp, mut high: u64) -> Result<u64, Error> {
        let mut low = 0;
        while low < high {
            let middle = low + (high - low) / 2;
            let first = self.one(ReadFrom::After(Position::end_of(middle))).await?;
            let first = first.filter(|first| first.position.commit <= high);
            match first.filter(|first| first.event.created_at < at) {
                Some(earlier) => low = earlier.position.commit,
                None => high = middle,
            }
        }
        Ok(low)
    }

    async fn one(&self, from: ReadFrom) -> Result<Option<LoggedEvent>, Error> {
        Ok(self.page(Kinds::all(), from, Limit::ONE).await?.items.pop())
    }

    async fn page(&self, kinds: Kinds, from: ReadFrom, limit: Limit) -> Result<EventPage, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().event_list(self.id, EventRequest { kinds, from, limit }).await?)
    }
}

/// What a request means for its endpoint.
struct Scope {
    kinds: Kinds,
    /// Only events after this position; `None` to begin at a time.
    after: Option<Position>,
    span: Span,
}

/// The kinds of a replay, if the request fits the endpoint.
fn check(endpoint: &Endpoint, request: &ReplayRequest) -> Result<Kinds, Error> {
    let mut errors = Vec::new();
    if let (ReplayFrom::Time(from), Some(to)) = (request.from, request.to)
        && from >= to
    {
        errors.push(FieldError::new("to", "out_of_range", "the time must be after `from`"));
    }
    let own: Kinds = endpoint.events.iter().copied().collect();
    let wanted = request.types.as_ref().map(|types| types.iter().copied().collect());
    let wanted: Kinds = wanted.unwrap_or(own);
    if !wanted.are_among(own) {
        let message = "the endpoint does not subscribe to all of these types; subscribe it first";
        errors.push(FieldError::new("types", "unknown_value", message));
    }
    if errors.is_empty() { Ok(wanted) } else { Err(Error::Invalid(errors)) }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::webhook_replay`], once for the key.
    pub async fn webhook_replay(
        &self,
        endpoint: EndpointId,
        request: ReplayRequest,
    ) -> Result<Made<ReplayBegun>, Error> {
        let claim = self.claim("webhook_replay", |fields| request.meaning(endpoint, fields));
        let claim = claim.as_ref();
        if let Some(kept) = self.earlier::<ReplayBegun>(claim).await? {
            return Ok(Made::again(kept.into()));
        }
        let account = &self.handle;
        let mut turn = None;
        let scope = loop {
            let found = account.webhook_get(endpoint).await?;
            let scope = account.replay_scope(&found, &request).await?;
            if let Err(refused) = may_begin(Some(&found)) {
                return self.not_begun(refused, claim).await;
            }
            if turn.is_some() {
                break scope;
            }
            turn = Some(account.turn(&account.sms.inner.replay_turns).await?);
            // The endpoint may have changed while the request waited.
        };
        let plan = account.replay_plan(endpoint, scope).await?;
        let begun = account.sms.store().replay_begin(plan, claim).await?;
        drop(turn);
        let begun = made(begun, claim, Into::into)?;
        account.sms.inner.replays.look();
        account.sms.wake(Work::Webhooks);
        Ok(begun)
    }

    /// The answer to a valid request that no replay can begin for. Its key comes first: the same
    /// request may have begun the replay meanwhile, or another one may have used the key.
    async fn not_begun(
        &self,
        refused: ReplayRefused,
        claim: Option<&Claim>,
    ) -> Result<Made<ReplayBegun>, Error> {
        let Some(claim) = claim else { return Err(refused.into()) };
        match self.found(claim).await? {
            Some(earlier) => Ok(Made::again(claim.answer::<ReplayBegun>(&earlier)?.into())),
            None => Err(refused.into()),
        }
    }
}

impl Sms {
    /// Continues replays whose next portion is due, one of each account. Returns how many portions
    /// it wrote: their deliveries are due now. Call it beside the calls that deliver, because a
    /// portion may take long to read.
    ///
    /// # Errors
    ///
    /// The last failure of the store. A replay that fails does not keep the others from going on.
    pub async fn replays_go_on(&self) -> Result<usize, Error> {
        let at = self.now();
        let Some(asked) = self.inner.replays.ask(at) else { return Ok(0) };
        let next = self.store().next(Due::Replays).await?;
        self.inner.replays.looked(&asked, at, next);
        if next.is_none_or(|next| next > at) {
            return Ok(0);
        }
        let due =
            self.store().endpoint_list(EndpointsWanted::ReplaysDue { at, limit: AT_ONCE }).await?;
        if due.is_empty() {
            self.inner.replays.all_wait(&asked, at);
        }
        let mut written = Ok(0);
        let mut served = BTreeSet::new();
        for endpoint in due {
            if served.contains(&endpoint.account) {
                continue;
            }
            let Some(replay) = endpoint.replay else { continue };
            match self.go_on(&endpoint, replay, at).await {
                Ok(()) => {
                    served.insert(endpoint.account);
                    self.inner.replays.wrote(at);
                    written = written.map(|count| count + 1);
                }
                Err(error) => written = Err(error),
            }
        }
        written
    }

    /// When [`Sms::replays_go_on`] next has something to do, as far as this program knows; `None`
    /// if it knows of nothing. Call it every second nevertheless: another program may have begun a
    /// replay.
    pub fn next_replay(&self) -> Option<Timestamp> {
        self.inner.replays.next()
    }

    async fn go_on(&self, endpoint: &Endpoint, replay: Replay, at: Timestamp) -> Result<(), Error> {
        let portion = self.portion(endpoint, replay, at).await?;
        self.store().replay_portion(portion).await?;
        Ok(())
    }

    /// Reads the next portion of a replay.
    async fn portion(
        &self,
        endpoint: &Endpoint,
        replay: Replay,
        at: Timestamp,
    ) -> Result<PortionPlan, Error> {
        let Replay { kinds, after, until, .. } = replay;
        let request = EventRequest { kinds, from: ReadFrom::After(after), limit: PORTION };
        let page = self.store().event_list(endpoint.account, request).await?;
        let end = match page.next.filter(|next| *next < until) {
            Some(next) => PortionEnd::At(next),
            None => PortionEnd::Last,
        };
        let own = |logged: &LoggedEvent| replay.includes(logged.position, &logged.event);
        let events = page.items.into_iter().filter(own).map(|logged| logged.event).collect();
        let (account, id) = (endpoint.account, endpoint.id);
        Ok(PortionPlan { account, endpoint: id, replay, events, end, at, ids: self.ids(at) })
    }
}
