//! Pieces that are broken on purpose, to show that the checks see it.

use std::collections::BTreeSet;
use std::fmt;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::account::store::{AccountStore, ApiKeyStore, KeyCreated, NewAccount};
use sms_core::account::{Account, AccountChange, Settings};
use sms_core::campaign::cancel::{SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
use sms_core::campaign::store::CampaignStore;
use sms_core::campaign::{self, Campaign, CampaignChange, EditRefused};
use sms_core::contact::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::import::{ImportPlan, Imported};
use sms_core::contact::store::ContactStore;
use sms_core::contact::{Contact, ContactFilter};
use sms_core::conversation::store::ConversationStore;
use sms_core::conversation::{Conversation, ConversationFilter};
use sms_core::credits::adjust::{AdjustPlan, AdjustRefused, Adjusted};
use sms_core::credits::ledger::{Cause, Draft, Entry};
use sms_core::credits::store::CreditStore;
use sms_core::dispatch::store::DispatchStore;
use sms_core::dispatch::{ClaimPlan, Claimed, FollowUp, LeaseToken, OutcomePlan, OutcomeRecorded};
use sms_core::ids::{
    AccountId, ApiKeyId, BatchId, CampaignId, ContactId, DeliveryId, EndpointId, KeywordId, LinkId,
    ListId, MessageId, NumberId, TemplateId,
};
use sms_core::inbound::part::{GaveUp, GiveUpPlan, PartPlan, PartTaken};
use sms_core::inbound::store::InboundStore;
use sms_core::inbound::{InboundPlan, TakenIn, Unrouted};
use sms_core::keyword::Keyword;
use sms_core::keyword::save::{KeywordRefused, SavePlan};
use sms_core::keyword::store::KeywordStore;
use sms_core::link::store::LinkStore;
use sms_core::link::{ClickPlan, Link, LinkCode, LinkFilter};
use sms_core::list::join::{JoinPlan, Joined};
use sms_core::list::store::ListStore;
use sms_core::list::{ContactList, ListChange};
use sms_core::message::cancel::{CancelPlan, CancelRefused};
use sms_core::message::filter::Search;
use sms_core::message::store::MessageStore;
use sms_core::message::{ErrorCode, Message, MessageFilter, MessageStatus, TimelineEntry};
use sms_core::number::Number;
use sms_core::number::rent::{self, RentPlan, RentsCharged};
use sms_core::number::store::{NumberCreated, NumberStore};
use sms_core::opt_out::store::OptOutStore;
use sms_core::opt_out::{Added, OptOut};
use sms_core::page::{OffsetPage, OffsetRequest, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::receipt::report::{ReportPlan, Reported};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::route::{OutboundText, RouteName};
use sms_core::sender_name::store::SenderNameStore;
use sms_core::sender_name::{
    ReviewPlan, ReviewRefused, ReviewStatus, SenderName, SenderNameExists,
};
use sms_core::sending::idempotency::EarlierSend;
use sms_core::sending::settle::{SendRefused, Sent};
use sms_core::sending::store::SendingStore;
use sms_core::sending::{IdempotencyKey, SendPlan};
use sms_core::statistics::store::StatisticsStore;
use sms_core::statistics::{Counts, Period};
use sms_core::store::{CommitError, Health, Store, StoreError};
use sms_core::template::store::TemplateStore;
use sms_core::template::{Template, TemplateChange, TemplateSearch};
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaimPlan, RetryPlan, RetryVerdict,
};
use sms_core::webhook::delivery::Delivery;
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, EndpointRefused};
use sms_core::webhook::store::WebhookStore;

use super::forward::forward;

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// The network is handed texts twice under one lease.
    HandsOverTwice,
    /// The store gives out texts that failed because their number had opted out.
    TextsOptedOut,
    /// The store answers a repeated request with another batch.
    MixesUpReplays,
    /// The store refunds a cancelled text twice.
    RefundsTwice,
    /// The store gives texts out before their time.
    ClaimsEarly,
    /// The store never gives out one delivery in fifty.
    LosesDeliveries,
    /// One receipt in ten that the network promised never comes.
    LosesReceipts,
    /// The store takes rent before it is owed.
    TakesRentEarly,
}

/// A store that does one thing wrong.
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
    /// Breaks `inner`.
    pub fn new(inner: Arc<dyn Store>, sabotage: Sabotage) -> Self {
        Self { inner, sabotage, calls: AtomicU64::new(0) }
    }

    /// Nothing happens before a call.
    #[expect(clippy::unused_self, reason = "forwarding calls it as a method of every decorator")]
    fn before(&self, _call: &'static str) -> Ready<()> {
        ready(())
    }

    fn does(&self, sabotage: Sabotage) -> bool {
        self.sabotage == sabotage
    }

    /// The newest text that failed because its number had opted out.
    async fn opted_out_text(&self) -> Result<Option<OutboundText>, StoreError> {
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

    /// True in one of so many calls.
    fn one_in(&self, calls: u64) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed) % calls == calls - 1
    }
}

fn outbound(text: Message) -> OutboundText {
    OutboundText {
        message: text.id,
        to: text.to,
        from: text.from,
        sender: text.sender,
        body: text.body,
        encoding: text.encoding,
        segments: text.segments,
        route: text.route,
        mode: text.mode,
        attempt: 0,
        expires_at: text.id.timestamp().plus(sms_core::dispatch::VALIDITY),
    }
}

forward! {
    impl Health for Saboteur {
        health_check() -> Result<(), StoreError>;
    }
}

forward! {
    impl AccountStore for Saboteur {
        account_create(new: NewAccount) -> Result<(), StoreError>;
        account_get(id: AccountId) -> Result<Option<Account>, StoreError>;
        account_settings(id: AccountId) -> Result<Option<Settings>, StoreError>;
        account_list(page: PageRequest) -> Result<Page<Account>, StoreError>;
        account_update(
            id: AccountId,
            change: AccountChange,
            at: Timestamp
        ) -> Result<Option<Account>, StoreError>;
    }
}

forward! {
    impl ApiKeyStore for Saboteur {
        api_key_create(key: KeyRecord) -> Result<KeyCreated, StoreError>;
        api_key_list(account: AccountId) -> Result<Vec<KeyRecord>, StoreError>;
        api_key_find(hash: KeyHash) -> Result<Option<KeyRecord>, StoreError>;
        api_key_revoke(
            account: AccountId,
            id: ApiKeyId,
            at: Timestamp
        ) -> Result<Option<KeyRecord>, StoreError>;
        api_key_used(account: AccountId, id: ApiKeyId, at: Timestamp) -> Result<(), StoreError>;
    }
}

forward! {
    impl CampaignStore for Saboteur {
        campaign_create(draft: Campaign) -> Result<(), StoreError>;
        campaign_get(account: AccountId, id: CampaignId) -> Result<Option<Campaign>, StoreError>;
        campaign_list(account: AccountId, page: PageRequest)
            -> Result<Page<Campaign>, StoreError>;
        campaign_update(account: AccountId, id: CampaignId, change: CampaignChange, at: Timestamp)
            -> Result<Campaign, CommitError<EditRefused>>;
        campaign_delete(account: AccountId, id: CampaignId)
            -> Result<(), CommitError<EditRefused>>;
        campaign_launch(plan: LaunchPlan) -> Result<Campaign, CommitError<LaunchRefused>>;
        campaign_cancel(plan: campaign::cancel::CancelPlan)
            -> Result<Campaign, CommitError<campaign::cancel::CancelRefused>>;
        campaign_sweep(plan: SweepPlan) -> Result<Swept, StoreError>;
        campaigns_unswept(before: Timestamp, limit: usize)
            -> Result<Vec<(AccountId, CampaignId)>, StoreError>;
        campaign_counts_tidy(limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl ContactStore for Saboteur {
        contact_create(plan: CreatePlan) -> Result<Contact, CommitError<BookRefused>>;
        contact_get(account: AccountId, id: ContactId)
            -> Result<Option<(Contact, Vec<ListId>)>, StoreError>;
        contact_list(account: AccountId, filter: &ContactFilter, page: PageRequest)
            -> Result<Page<Contact>, StoreError>;
        contact_update(plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>>;
        contact_delete(plan: RemovePlan) -> Result<(), CommitError<BookRefused>>;
        contacts_import(plan: ImportPlan) -> Result<Imported, CommitError<BookRefused>>;
        custom_names(account: AccountId) -> Result<Vec<String>, StoreError>;
        custom_names_among(account: AccountId, names: &[String])
            -> Result<BTreeSet<String>, StoreError>;
        contacts_by_id(account: AccountId, ids: &[ContactId]) -> Result<Vec<Contact>, StoreError>;
        contacts_by_phone(account: AccountId, phones: &[E164]) -> Result<Vec<Contact>, StoreError>;
        address_book_is_empty(account: AccountId) -> Result<bool, StoreError>;
    }
}

forward! {
    impl ConversationStore for Saboteur {
        conversation_list(account: AccountId, filter: &ConversationFilter, page: PageRequest)
            -> Result<Page<Conversation>, StoreError>;
        unread_total(account: AccountId) -> Result<u64, StoreError>;
        conversation_read(account: AccountId, number: E164, at: Timestamp)
            -> Result<Option<u64>, StoreError>;
    }
}

forward! {
    impl CreditStore for Saboteur {
        credits_adjust(plan: AdjustPlan) -> Result<Adjusted, CommitError<AdjustRefused>>;
        ledger_list(account: AccountId, page: PageRequest) -> Result<Page<Entry>, StoreError>;
    }
}

forward! {
    impl DispatchStore for Saboteur {
        dispatch_record(plans: Vec<OutcomePlan>) -> Result<Vec<OutcomeRecorded>, StoreError>;
        dispatch_renew(token: LeaseToken, until: Timestamp) -> Result<usize, StoreError>;
        dispatch_next() -> Result<Option<Timestamp>, StoreError>;
        follow_ups_due(at: Timestamp, limit: usize) -> Result<Vec<FollowUp>, StoreError>;
        follow_ups_next() -> Result<Option<Timestamp>, StoreError>;
    }
    own {
        async fn dispatch_claim(&self, mut plan: ClaimPlan) -> Result<Claimed, StoreError> {
            if self.does(Sabotage::ClaimsEarly) && self.one_in(20) {
                plan.at = plan.at.plus(Duration::from_mins(10));
            }
            let mut claimed = self.inner.dispatch_claim(plan).await?;
            if self.does(Sabotage::TextsOptedOut) && claimed.failed > 0 {
                claimed.texts.extend(self.opted_out_text().await?);
            }
            Ok(claimed)
        }
    }
}

forward! {
    impl InboundStore for Saboteur {
        inbound_take(plan: InboundPlan) -> Result<TakenIn, StoreError>;
        inbound_part_take(plan: PartPlan) -> Result<PartTaken, StoreError>;
        inbound_part_give_up(plan: GiveUpPlan) -> Result<GaveUp, StoreError>;
        unrouted_list(page: PageRequest) -> Result<Page<Unrouted>, StoreError>;
        last_texted_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl LinkStore for Saboteur {
        link_get(account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError>;
        link_list(account: AccountId, filter: LinkFilter, page: PageRequest)
            -> Result<Page<Link>, StoreError>;
        link_by_code(code: LinkCode) -> Result<Option<Link>, StoreError>;
        links_click(plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>>;
    }
}

forward! {
    impl KeywordStore for Saboteur {
        keyword_save(plan: SavePlan) -> Result<Keyword, CommitError<KeywordRefused>>;
        keyword_get(account: AccountId, id: KeywordId) -> Result<Option<Keyword>, StoreError>;
        keyword_list(account: AccountId, page: PageRequest) -> Result<Page<Keyword>, StoreError>;
        keyword_delete(account: AccountId, id: KeywordId) -> Result<bool, StoreError>;
    }
}

forward! {
    impl ListStore for Saboteur {
        list_create(list: ContactList) -> Result<(), StoreError>;
        list_get(account: AccountId, id: ListId) -> Result<Option<ContactList>, StoreError>;
        list_list(account: AccountId, page: PageRequest) -> Result<Page<ContactList>, StoreError>;
        list_update(account: AccountId, id: ListId, change: ListChange, at: Timestamp)
            -> Result<Option<ContactList>, StoreError>;
        list_delete(account: AccountId, id: ListId) -> Result<bool, StoreError>;
        list_join(plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>>;
        list_leave(account: AccountId, list: ListId, contact: ContactId)
            -> Result<bool, StoreError>;
        list_portion(account: AccountId, list: ListId, after: Option<ContactId>, limit: usize)
            -> Result<Vec<Contact>, StoreError>;
    }
}

forward! {
    impl MessageStore for Saboteur {
        message_get(
            account: AccountId,
            id: MessageId
        ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError>;
        message_list(
            account: AccountId,
            filter: &MessageFilter,
            page: PageRequest
        ) -> Result<Page<Message>, StoreError>;
        search_prepare(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
    own {
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
                let _ = self.inner.credits_adjust(AdjustPlan { account, draft }).await;
            }
            Ok(message)
        }
    }
}

forward! {
    impl NumberStore for Saboteur {
        number_create(number: Number) -> Result<NumberCreated, StoreError>;
        number_list() -> Result<Vec<Number>, StoreError>;
        numbers_for(account: AccountId) -> Result<Vec<Number>, StoreError>;
        numbers_held(account: AccountId) -> Result<Vec<Number>, StoreError>;
        number_delete(id: NumberId) -> Result<bool, StoreError>;
        number_check_in(id: NumberId, at: Timestamp) -> Result<bool, StoreError>;
        numbers_check_in(
            routes: Vec<Option<RouteName>>,
            at: Timestamp
        ) -> Result<usize, StoreError>;
        rents_next() -> Result<Option<Timestamp>, StoreError>;
    }
    own {
        async fn rents_charge(&self, mut plan: RentPlan) -> Result<RentsCharged, StoreError> {
            if self.does(Sabotage::TakesRentEarly) {
                plan.at = plan.at.plus(rent::PERIOD);
            }
            self.inner.rents_charge(plan).await
        }
    }
}

forward! {
    impl OptOutStore for Saboteur {
        opt_outs_among(
            account: AccountId,
            numbers: &[E164]
        ) -> Result<BTreeSet<E164>, StoreError>;
        opt_out_create(account: AccountId, opt_out: OptOut) -> Result<Added, StoreError>;
        opt_out_list(account: AccountId, search: Option<&Search>, wanted: OffsetRequest)
            -> Result<OffsetPage<OptOut>, StoreError>;
        opt_out_delete(account: AccountId, phone: E164) -> Result<bool, StoreError>;
    }
}

forward! {
    impl ReceiptStore for Saboteur {
        receipts_record(plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>>;
        reports_record(plans: Vec<ReportPlan>) -> Vec<Result<Reported, StoreError>>;
        reports_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl SendingStore for Saboteur {
        send_earlier(
            account: AccountId,
            key: &IdempotencyKey,
            at: Timestamp
        ) -> Result<Option<EarlierSend>, StoreError>;
        send_accept(plans: Vec<SendPlan>) -> Vec<Result<Sent, CommitError<SendRefused>>>;
        idempotency_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
        test_sends_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
    own {
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
}

forward! {
    impl SenderNameStore for Saboteur {
        sender_name_create(name: SenderName) -> Result<(), CommitError<SenderNameExists>>;
        sender_name_list(account: AccountId) -> Result<Vec<SenderName>, StoreError>;
        sender_names_approved(account: AccountId) -> Result<Vec<SenderName>, StoreError>;
        sender_names_for_review(status: Option<ReviewStatus>, page: PageRequest)
            -> Result<Page<SenderName>, StoreError>;
        sender_name_review(plan: ReviewPlan) -> Result<SenderName, CommitError<ReviewRefused>>;
    }
}

forward! {
    impl StatisticsStore for Saboteur {
        statistics_within(account: AccountId, periods: &[Period])
            -> Result<Vec<Counts>, StoreError>;
        statistics_fold(limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl TemplateStore for Saboteur {
        template_create(template: Template) -> Result<(), StoreError>;
        template_get(account: AccountId, id: TemplateId) -> Result<Option<Template>, StoreError>;
        template_list(account: AccountId, search: Option<&TemplateSearch>, page: PageRequest)
            -> Result<Page<Template>, StoreError>;
        template_update(account: AccountId, id: TemplateId, change: TemplateChange, at: Timestamp)
            -> Result<Option<Template>, StoreError>;
        template_delete(account: AccountId, id: TemplateId) -> Result<bool, StoreError>;
    }
}

forward! {
    impl WebhookStore for Saboteur {
        endpoint_create(endpoint: Endpoint) -> Result<(), CommitError<EndpointRefused>>;
        endpoint_get(account: AccountId, id: EndpointId) -> Result<Option<Endpoint>, StoreError>;
        endpoint_list(account: AccountId) -> Result<Vec<Endpoint>, StoreError>;
        endpoint_update(
            account: AccountId,
            id: EndpointId,
            change: EndpointChange,
            at: Timestamp
        ) -> Result<Option<Endpoint>, StoreError>;
        endpoint_delete(account: AccountId, id: EndpointId) -> Result<bool, StoreError>;
        deliveries_record(plans: Vec<AttemptPlan>) -> Vec<Result<AttemptVerdict, StoreError>>;
        delivery_retry(plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError>;
        delivery_log(delivery: Delivery) -> Result<(), StoreError>;
        delivery_get(
            account: AccountId,
            endpoint: EndpointId,
            id: DeliveryId
        ) -> Result<Option<Delivery>, StoreError>;
        delivery_list(
            account: AccountId,
            endpoint: EndpointId,
            page: PageRequest
        ) -> Result<Page<Delivery>, StoreError>;
        deliveries_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
        deliveries_next() -> Result<Option<Timestamp>, StoreError>;
    }
    own {
        async fn deliveries_claim(
            &self,
            plan: DeliveryClaimPlan,
        ) -> Result<Vec<ClaimedDelivery>, StoreError> {
            let mut claimed = self.inner.deliveries_claim(plan).await?;
            if self.does(Sabotage::LosesDeliveries) {
                claimed.retain(|claimed| claimed.request.delivery.as_u128() % 50 != 0);
            }
            Ok(claimed)
        }
    }
}
