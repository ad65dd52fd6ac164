//! A store that fails when it is told to, before it has done anything: for tests of what a service
//! does then.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
use sms_core::credits::ledger::Entry;
use sms_core::credits::store::CreditStore;
use sms_core::dispatch::store::DispatchStore;
use sms_core::dispatch::{ClaimPlan, Claimed, FollowUp, LeaseToken, OutcomePlan, OutcomeRecorded};
use sms_core::ids::{
    AccountId, ApiKeyId, CampaignId, ContactId, DeliveryId, EndpointId, KeywordId, LinkId, ListId,
    MessageId, NumberId, TemplateId,
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
use sms_core::message::{Message, MessageFilter, TimelineEntry};
use sms_core::number::Number;
use sms_core::number::rent::{RentPlan, RentsCharged};
use sms_core::number::store::{NumberCreated, NumberStore};
use sms_core::opt_out::store::OptOutStore;
use sms_core::opt_out::{Added, OptOut};
use sms_core::page::{OffsetPage, OffsetRequest, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::receipt::report::{ReportPlan, Reported};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::route::RouteName;
use sms_core::sender_name::store::SenderNameStore;
use sms_core::sender_name::{
    ReviewPlan, ReviewRefused, ReviewStatus, SenderName, SenderNameExists,
};
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{SendRefused, Sent};
use sms_core::sending::store::SendingStore;
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

use crate::simulation::forward::forward;

/// A store before another one. It passes everything on, but for outcomes while it is told to fail.
#[derive(Debug)]
pub struct FailingStore {
    inner: Arc<dyn Store>,
    outcomes_to_refuse: AtomicUsize,
}

impl FailingStore {
    /// A store that does not fail yet.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, outcomes_to_refuse: AtomicUsize::new(0) }
    }

    /// Refuses so many records of outcomes, as a store that cannot be reached.
    pub fn refuse_outcomes(&self, times: usize) {
        self.outcomes_to_refuse.store(times, Ordering::SeqCst);
    }

    /// What [`forward`] calls before each method.
    #[expect(clippy::unused_async, reason = "other stores have to wait here")]
    async fn before(&self, _name: &'static str) {}
}

forward! {
    impl AccountStore for FailingStore {
        account_create(new: NewAccount) -> Result<(), StoreError>;
        account_get(id: AccountId) -> Result<Option<Account>, StoreError>;
        account_settings(id: AccountId) -> Result<Option<Settings>, StoreError>;
        account_list(page: PageRequest) -> Result<Page<Account>, StoreError>;
        account_update(id: AccountId, change: AccountChange, at: Timestamp)
            -> Result<Option<Account>, StoreError>;
    }
}

forward! {
    impl ApiKeyStore for FailingStore {
        api_key_create(key: KeyRecord) -> Result<KeyCreated, StoreError>;
        api_key_list(account: AccountId) -> Result<Vec<KeyRecord>, StoreError>;
        api_key_find(hash: KeyHash) -> Result<Option<KeyRecord>, StoreError>;
        api_key_revoke(account: AccountId, id: ApiKeyId, at: Timestamp)
            -> Result<Option<KeyRecord>, StoreError>;
        api_key_used(account: AccountId, id: ApiKeyId, at: Timestamp) -> Result<(), StoreError>;
    }
}

forward! {
    impl CampaignStore for FailingStore {
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
    impl ContactStore for FailingStore {
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
    impl ConversationStore for FailingStore {
        conversation_list(account: AccountId, filter: &ConversationFilter, page: PageRequest)
            -> Result<Page<Conversation>, StoreError>;
        unread_total(account: AccountId) -> Result<u64, StoreError>;
        conversation_read(account: AccountId, number: E164, at: Timestamp)
            -> Result<Option<u64>, StoreError>;
    }
}

forward! {
    impl CreditStore for FailingStore {
        credits_adjust(plan: AdjustPlan) -> Result<Adjusted, CommitError<AdjustRefused>>;
        ledger_list(account: AccountId, page: PageRequest) -> Result<Page<Entry>, StoreError>;
    }
}

forward! {
    impl DispatchStore for FailingStore {
        dispatch_claim(plan: ClaimPlan) -> Result<Claimed, StoreError>;
        dispatch_renew(token: LeaseToken, until: Timestamp) -> Result<usize, StoreError>;
        dispatch_next() -> Result<Option<Timestamp>, StoreError>;
        follow_ups_due(at: Timestamp, limit: usize) -> Result<Vec<FollowUp>, StoreError>;
        follow_ups_next() -> Result<Option<Timestamp>, StoreError>;
    }
    own {
        async fn dispatch_record(
            &self,
            plans: Vec<OutcomePlan>,
        ) -> Result<Vec<OutcomeRecorded>, StoreError> {
            let left = self.outcomes_to_refuse.load(Ordering::SeqCst);
            if left > 0 {
                self.outcomes_to_refuse.store(left - 1, Ordering::SeqCst);
                return Err(StoreError::Unavailable { doing: "failing on purpose", source: None });
            }
            self.inner.dispatch_record(plans).await
        }
    }
}

forward! {
    impl InboundStore for FailingStore {
        inbound_take(plan: InboundPlan) -> Result<TakenIn, StoreError>;
        inbound_part_take(plan: PartPlan) -> Result<PartTaken, StoreError>;
        inbound_part_give_up(plan: GiveUpPlan) -> Result<GaveUp, StoreError>;
        unrouted_list(page: PageRequest) -> Result<Page<Unrouted>, StoreError>;
        last_texted_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl LinkStore for FailingStore {
        link_get(account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError>;
        link_list(account: AccountId, filter: LinkFilter, page: PageRequest)
            -> Result<Page<Link>, StoreError>;
        link_by_code(code: LinkCode) -> Result<Option<Link>, StoreError>;
        links_click(plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>>;
    }
}

forward! {
    impl KeywordStore for FailingStore {
        keyword_save(plan: SavePlan) -> Result<Keyword, CommitError<KeywordRefused>>;
        keyword_get(account: AccountId, id: KeywordId) -> Result<Option<Keyword>, StoreError>;
        keyword_list(account: AccountId, page: PageRequest) -> Result<Page<Keyword>, StoreError>;
        keyword_delete(account: AccountId, id: KeywordId) -> Result<bool, StoreError>;
    }
}

forward! {
    impl ListStore for FailingStore {
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
    impl MessageStore for FailingStore {
        message_get(account: AccountId, id: MessageId)
            -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError>;
        message_list(account: AccountId, filter: &MessageFilter, page: PageRequest)
            -> Result<Page<Message>, StoreError>;
        message_cancel(plan: CancelPlan) -> Result<Message, CommitError<CancelRefused>>;
        search_prepare(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl NumberStore for FailingStore {
        number_create(number: Number) -> Result<NumberCreated, StoreError>;
        number_list() -> Result<Vec<Number>, StoreError>;
        numbers_for(account: AccountId) -> Result<Vec<Number>, StoreError>;
        numbers_held(account: AccountId) -> Result<Vec<Number>, StoreError>;
        number_delete(id: NumberId) -> Result<bool, StoreError>;
        number_check_in(id: NumberId, at: Timestamp) -> Result<bool, StoreError>;
        numbers_check_in(routes: Vec<Option<RouteName>>, at: Timestamp)
            -> Result<usize, StoreError>;
        rents_charge(plan: RentPlan) -> Result<RentsCharged, StoreError>;
        rents_next() -> Result<Option<Timestamp>, StoreError>;
    }
}

forward! {
    impl OptOutStore for FailingStore {
        opt_outs_among(account: AccountId, numbers: &[E164]) -> Result<BTreeSet<E164>, StoreError>;
        opt_out_create(account: AccountId, opt_out: OptOut) -> Result<Added, StoreError>;
        opt_out_list(account: AccountId, search: Option<&Search>, wanted: OffsetRequest)
            -> Result<OffsetPage<OptOut>, StoreError>;
        opt_out_delete(account: AccountId, phone: E164) -> Result<bool, StoreError>;
    }
}

forward! {
    impl ReceiptStore for FailingStore {
        receipts_record(plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>>;
        reports_record(plans: Vec<ReportPlan>) -> Vec<Result<Reported, StoreError>>;
        reports_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl SendingStore for FailingStore {
        send_accept(plans: Vec<SendPlan>) -> Vec<Result<Sent, CommitError<SendRefused>>>;
        send_earlier(account: AccountId, key: &IdempotencyKey, at: Timestamp)
            -> Result<Option<EarlierSend>, StoreError>;
        send_replay(account: AccountId, earlier: EarlierSend) -> Result<Sent, StoreError>;
        idempotency_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
        test_sends_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl SenderNameStore for FailingStore {
        sender_name_create(name: SenderName) -> Result<(), CommitError<SenderNameExists>>;
        sender_name_list(account: AccountId) -> Result<Vec<SenderName>, StoreError>;
        sender_names_approved(account: AccountId) -> Result<Vec<SenderName>, StoreError>;
        sender_names_for_review(status: Option<ReviewStatus>, page: PageRequest)
            -> Result<Page<SenderName>, StoreError>;
        sender_name_review(plan: ReviewPlan) -> Result<SenderName, CommitError<ReviewRefused>>;
    }
}

forward! {
    impl StatisticsStore for FailingStore {
        statistics_within(account: AccountId, periods: &[Period])
            -> Result<Vec<Counts>, StoreError>;
        statistics_fold(limit: usize) -> Result<usize, StoreError>;
    }
}

forward! {
    impl TemplateStore for FailingStore {
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
    impl WebhookStore for FailingStore {
        endpoint_create(endpoint: Endpoint) -> Result<(), CommitError<EndpointRefused>>;
        endpoint_get(account: AccountId, id: EndpointId) -> Result<Option<Endpoint>, StoreError>;
        endpoint_list(account: AccountId) -> Result<Vec<Endpoint>, StoreError>;
        endpoint_update(account: AccountId, id: EndpointId, change: EndpointChange, at: Timestamp)
            -> Result<Option<Endpoint>, StoreError>;
        endpoint_delete(account: AccountId, id: EndpointId) -> Result<bool, StoreError>;
        deliveries_claim(plan: DeliveryClaimPlan) -> Result<Vec<ClaimedDelivery>, StoreError>;
        deliveries_record(plans: Vec<AttemptPlan>) -> Vec<Result<AttemptVerdict, StoreError>>;
        delivery_retry(plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError>;
        delivery_log(delivery: Delivery) -> Result<(), StoreError>;
        delivery_get(account: AccountId, endpoint: EndpointId, id: DeliveryId)
            -> Result<Option<Delivery>, StoreError>;
        delivery_list(account: AccountId, endpoint: EndpointId, page: PageRequest)
            -> Result<Page<Delivery>, StoreError>;
        deliveries_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
        deliveries_next() -> Result<Option<Timestamp>, StoreError>;
    }
}

forward! {
    impl Health for FailingStore {
        health_check() -> Result<(), StoreError>;
    }
}
