//! Defects introduced on purpose, to show that the checks detect them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use sms_core::credits::ledger::{Cause, Draft};
use sms_core::dispatch::{Lane, Lease, Turns};
use sms_core::event::EventType;
use sms_core::ids::{BatchId, IdSource};
use sms_core::inbound::{InboundMessage, Origin};
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::number::rent;
use sms_core::opt_out::OptOutSource;
use sms_core::random::SeededRandom;
use sms_core::route::{HandOver, Look, OutboundMessage, RouteName};
use sms_core::sending::FieldGaps;
use sms_core::sending::plan::Extent;

use crate::layer::prelude::*;
use crate::layer::{
    CampaignLayer, DispatchLayer, InboundLayer, Layer, LinkLayer, MessageLayer, NumberLayer,
    ReceiptLayer, SendingLayer, passes_on,
};

mod event_log;
mod webhook;

/// A defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sabotage {
    /// The network gets messages twice under one lease.
    HandsOverTwice,
    /// The network gets messages however long ago somebody looked at them.
    SubmitsLate,
    /// The store lets workers claim messages that failed because their number had opted out.
    MessagesOptedOut,
    /// The store answers a repeated request with another batch.
    MixesUpReplays,
    /// The store refunds a cancelled message twice.
    RefundsTwice,
    /// The store gives accounts no turns: claims go by time alone.
    ClaimsByTimeAlone,
    /// The store lets workers claim messages before their time.
    ClaimsEarly,
    /// The store never lets workers claim one delivery in fifty.
    LosesDeliveries,
    /// One receipt in ten that the network promised never comes.
    LosesReceipts,
    /// The store takes rent before it is owed.
    TakesRentEarly,
    /// The store makes no delivery of one event in ten that receipts raise.
    DropsEvents,
    /// The store sends a keyword's reply to one message in three twice.
    AnswersTwice,
    /// The store counts one hit in five twice.
    CountsHitsTwice,
    /// The store marks one inbound message in ten as read.
    LosesUnread,
    /// The store stores a joined message twice.
    JoinsTwice,
    /// The store omits the reference of one message in ten.
    LosesReferences,
    /// The store omits one contact of a campaign's list.
    LeavesSomebodyOut,
    /// The store lets others claim what a worker holds from the start.
    LetsGoOfHeld,
    /// The store accepts sends on facts that it remembers: opt-outs since then do not count.
    AcceptsOnOldFacts,
    /// The store never lets others claim what a worker holds from the start, even if it dies.
    KeepsHeldForEver,
    /// The store records the wrong route for one inbound message in ten.
    MixesUpRoutes,
    /// The event log lacks the events of one commit in twenty.
    OmitsFromLog,
    /// The event log has the events of one commit in twenty twice, at different positions.
    LogsTwice,
    /// One read in ten of the event log finds the events of one commit in twenty elsewhere.
    MovesEvents,
    /// The event log of each account has the events that one commit in twenty raised for others.
    LeaksEvents,
    /// The store shows events although those of a commit before them are still hidden.
    SkipsHorizon,
    /// The store removes events that are an hour old.
    TidiesEarly,
    /// One portion of a replay in three writes its deliveries but not the progress of the replay,
    /// so the same events are sent again after a crash.
    ForgetsReplayPosition,
    /// The store leaves out of replays what was committed after events that happened later.
    SkipsLateInReplay,
    /// The store replays events of all types, whatever the request says.
    ReplaysAllTypes,
    /// The store lets replays go on 5 s too early.
    HurriesReplays,
}

/// A store with one defect.
pub struct Saboteur {
    inner: Arc<dyn Store>,
    sabotage: Sabotage,
    calls: AtomicU64,
}

impl fmt::Debug for Saboteur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Saboteur").field(&self.sabotage).finish()
    }
}

impl Saboteur {
    /// Adds a defect to `inner`.
    pub fn new(inner: Arc<dyn Store>, sabotage: Sabotage) -> Self {
        Self { inner, sabotage, calls: AtomicU64::new(0) }
    }

    fn does(&self, sabotage: Sabotage) -> bool {
        self.sabotage == sabotage
    }

    /// The newest message that failed because its number had opted out.
    async fn opted_out_message(&self) -> Result<Option<OutboundMessage>, StoreError> {
        let accounts = self.inner.account_list(PageRequest::default()).await?;
        let filter = MessageFilter { status: Some(MessageStatus::Failed), ..Default::default() };
        for account in accounts.items {
            let failed =
                self.inner.message_list(account.id, &filter, PageRequest::default()).await?;
            let opted_out = |text: &Message| text.error == Some(ErrorCode::OptedOut);
            if let Some(text) = failed.items.into_iter().find(opted_out) {
                return Ok(Some(outbound(text)));
            }
        }
        Ok(None)
    }

    /// Sends a reply, again.
    async fn send_again(&self, message: Message, plan: InboundPlan) {
        let InboundPlan { at, validity, mut ids, .. } = plan;
        let send = SendPlan {
            account: message.account,
            mode: message.mode,
            batch: message.batch_id.unwrap_or_else(|| ids.next()),
            idempotency: None,
            price: message.credits,
            charge: message.credits,
            extent: Extent::Whole,
            messages: vec![message],
            links: Vec::new(),
            rejected: Vec::new(),
            gaps: FieldGaps::default(),
            entry_id: ids.next(),
            lane: Lane::Normal,
            claimable_at: at,
            expires_at: at.plus(validity),
            at,
            held: None,
        };
        let _ = self.inner.send_accept(vec![send]).await;
    }

    async fn mistreat_held(&self, plan: &SendPlan, lease: Lease) {
        let Lease { token, until } = lease;
        if self.does(Sabotage::KeepsHeldForEver) {
            let _ = self.inner.dispatch_renew(token, until.plus(Duration::from_hours(9_000))).await;
        }
        if self.does(Sabotage::LetsGoOfHeld) {
            let let_go = |text: &Message| OutcomePlan {
                message: text.id,
                token,
                claimed_at: plan.at,
                result: HandOver::GivenBack,
                at: plan.at,
                held: None,
                ids: IdSource::default().draw(plan.at, &SeededRandom::new(0)),
            };
            let _ = self.inner.dispatch_record(plan.messages.iter().map(let_go).collect()).await;
        }
    }

    /// Accepts a send as if nobody had opted out of it.
    async fn accept_on_old_facts(
        &self,
        plan: SendPlan,
    ) -> Option<Result<Sent, CommitError<SendRefused>>> {
        let (account, at) = (plan.account, plan.at);
        let people: Vec<E164> = plan.messages.iter().map(|text| text.to).collect();
        let gone = self.inner.opt_outs_among(account, &people).await.unwrap_or_default();
        for phone in &gone {
            let _ = self.inner.opt_out_delete(account, *phone).await;
        }
        let answer = self.inner.send_accept(vec![plan]).await.pop();
        for phone in gone {
            let (source, note) = (OptOutSource::Sms, None);
            let opt_out = OptOut { phone, source, note, created_at: at };
            let _ = self.inner.opt_out_create(account, opt_out, None).await;
        }
        answer
    }

    /// Every endpoint of every account.
    async fn all_endpoints(&self) -> Vec<Endpoint> {
        let accounts = self.inner.account_list(PageRequest::default()).await;
        let mut all = Vec::new();
        for account in accounts.map(|page| page.items).unwrap_or_default() {
            all.extend(
                self.inner.endpoint_list(EndpointsWanted::Of(account.id)).await.unwrap_or_default(),
            );
        }
        all
    }

    /// Sets the events of an endpoint, without a trace of the change.
    async fn subscribe(&self, endpoint: &Endpoint, events: BTreeSet<EventType>) {
        let change = EndpointChange { events: Some(events), ..EndpointChange::default() };
        let Endpoint { account, id, updated_at, .. } = endpoint;
        let _ = self.inner.endpoint_update(*account, *id, change, *updated_at).await;
    }

    /// True in one of this many calls.
    fn one_in(&self, calls: u64) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed) % calls == calls - 1
    }
}

fn outbound(text: Message) -> OutboundMessage {
    OutboundMessage {
        message: text.id,
        to: text.to,
        from: text.from,
        sender: text.sender,
        body: text.body,
        encoding: text.encoding,
        segments: text.segments,
        route: text.route,
        mode: text.mode,
        lane: Lane::Normal,
        attempt: 0,
        expires_at: text.id.timestamp().plus(sms_core::dispatch::VALIDITY),
        look: Look::at(text.id.timestamp()),
    }
}

impl Layer for Saboteur {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }
}

passes_on! {
    Saboteur:
    AccountLayer ApiKeyLayer ContactLayer ConversationLayer CreditLayer HealthLayer
    IdempotencyLayer KeywordLayer ListLayer OptOutLayer SenderNameLayer SessionLayer
    StatisticsLayer TemplateLayer
}

impl InboundLayer for Saboteur {
    async fn inbound_take(
        &self,
        mut plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError> {
        if self.does(Sabotage::MixesUpRoutes) && self.one_in(10) {
            plan.text.route = RouteName::new("another");
        }
        let again = plan.clone();
        let once = self.inner.inbound_take(plan.clone(), claim).await?;
        let Once::Done(taken) = &once else { return Ok(once) };
        match taken {
            TakenIn::Answered(_, reply) if self.does(Sabotage::AnswersTwice) && self.one_in(3) => {
                let message = Message {
                    id: plan.ids.next(),
                    batch_id: Some(plan.ids.next()),
                    ..reply.as_ref().clone()
                };
                self.send_again(message, again).await;
            }
            TakenIn::Routed(message) if self.does(Sabotage::LosesUnread) && self.one_in(10) => {
                self.inner.conversation_read(message.account, message.from, plan.at).await?;
            }
            _ => {}
        }
        Ok(once)
    }

    async fn inbound_segment_take(&self, plan: SegmentPlan) -> Result<SegmentTaken, StoreError> {
        let (at, mut ids) = (plan.at, plan.ids.clone());
        let route = plan.part.route.clone();
        let taken = self.inner.inbound_segment_take(plan).await?;
        if let SegmentTaken::Joined(TakenIn::Routed(text)) = &taken
            && self.does(Sabotage::JoinsTwice)
        {
            let _: MessageId = ids.next();
            let (from, to, body) = (text.originator(), text.to, text.body.clone());
            let text = InboundMessage { from, to, body, route };
            let plan = InboundPlan::new(text, Origin::Network, at, ids);
            drop(self.inner.inbound_take(plan, None).await?);
        }
        Ok(taken)
    }
}

impl LinkLayer for Saboteur {
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>> {
        if self.does(Sabotage::CountsHitsTwice) && self.one_in(5) {
            self.inner.links_click(plans.clone()).await;
        }
        self.inner.links_click(plans).await
    }
}

impl ReceiptLayer for Saboteur {
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>> {
        let deaf = self.does(Sabotage::DropsEvents) && self.one_in(10);
        let endpoints = if deaf { self.all_endpoints().await } else { Vec::new() };
        for endpoint in &endpoints {
            self.subscribe(endpoint, BTreeSet::new()).await;
        }
        let answers = self.inner.receipts_record(plans).await;
        for endpoint in &endpoints {
            self.subscribe(endpoint, endpoint.events.clone()).await;
        }
        answers
    }
}

impl DispatchLayer for Saboteur {
    async fn dispatch_claim(&self, mut plan: ClaimPlan) -> Result<Claimed, StoreError> {
        if self.does(Sabotage::ClaimsEarly) && self.one_in(20) {
            plan.at = plan.at.plus(Duration::from_mins(10));
        }
        if self.does(Sabotage::ClaimsByTimeAlone) {
            plan.turns = Turns::default();
        }
        let mut claimed = self.inner.dispatch_claim(plan).await?;
        if self.does(Sabotage::MessagesOptedOut) && claimed.failed > 0 {
            claimed.messages.extend(self.opted_out_message().await?);
        }
        Ok(claimed)
    }
}

impl MessageLayer for Saboteur {
    async fn message_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Message, CommitError<CancelRefused>> {
        let (account, at, mut ids) = (plan.account, plan.at, plan.ids.clone());
        let message = self.inner.message_cancel(plan).await?;
        if self.does(Sabotage::RefundsTwice) && message.credits.get() > 0 {
            let cause = Cause::Refund {
                message: message.id,
                batch: message.batch_id,
                campaign: message.campaign_id,
            };
            let amount = message.credits.gain();
            let draft = Draft { id: ids.next(), cause, amount, note: None, at };
            let _ = self.inner.credits_adjust(AdjustPlan { account, draft }, None).await;
        }
        Ok(message)
    }
}

impl NumberLayer for Saboteur {
    async fn rents_charge(&self, mut plan: RentPlan) -> Result<RentsCharged, StoreError> {
        if self.does(Sabotage::TakesRentEarly) {
            plan.at = plan.at.plus(rent::PERIOD);
        }
        self.inner.rents_charge(plan).await
    }
}

impl CampaignLayer for Saboteur {
    async fn campaign_launch(
        &self,
        plan: LaunchPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, CommitError<LaunchRefused>> {
        let (account, list, at) = (plan.account(), plan.draft.list, plan.at);
        let mut left_out = None;
        if self.does(Sabotage::LeavesSomebodyOut) {
            let filter = ContactFilter { list_id: Some(list), search: None };
            let members = self.inner.contact_list(account, &filter, PageRequest::default()).await?;
            left_out = members.items.first().map(|contact| contact.id);
        }
        if let Some(contact) = left_out {
            self.inner.list_leave(account, list, contact).await?;
        }
        let launched = self.inner.campaign_launch(plan, claim).await;
        let contacts: Vec<ContactId> = left_out.into_iter().collect();
        if !contacts.is_empty() {
            let ids = IdSource::default().draw(at, &SeededRandom::new(0));
            let back = JoinPlan { account, list, contacts, phones: Vec::new(), ids, at };
            let _ = self.inner.list_join(back).await;
        }
        launched
    }
}

impl SendingLayer for Saboteur {
    async fn send_accept(
        &self,
        mut plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>> {
        for text in plans.iter_mut().flat_map(|plan| &mut plan.messages) {
            if self.does(Sabotage::LosesReferences) && self.one_in(10) {
                text.client_ref = None;
            }
        }
        let held: Vec<_> = plans.iter().map(|plan| (plan.held, plan.clone())).collect();
        let mut answers = self.inner.send_accept(plans).await;
        for ((lease, plan), answer) in held.into_iter().zip(&mut answers) {
            if matches!(answer, Err(CommitError::Stale))
                && self.does(Sabotage::AcceptsOnOldFacts)
                && let Some(accepted) = self.accept_on_old_facts(plan.clone()).await
            {
                *answer = accepted;
            }
            let Some(lease) = lease else { continue };
            if answer.is_ok() {
                self.mistreat_held(&plan, lease).await;
            }
        }
        answers
    }

    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        let mut sent = self.inner.send_replay(account, earlier).await?;
        if self.does(Sabotage::MixesUpReplays) {
            sent.batch = BatchId::from_u128(sent.batch.as_u128() + 1);
        }
        Ok(sent)
    }
}
