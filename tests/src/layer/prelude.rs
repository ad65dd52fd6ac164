//! All types that the methods of the store traits use, for macros that generate all methods.

pub(crate) use std::collections::BTreeSet;

pub(crate) use sms_core::account::api_key::{KeyHash, KeyRecord};
pub(crate) use sms_core::account::store::{
    AccountStore, ApiKeyStore, KeyCreated, NewAccount, ReadsAccounts, ReadsApiKeys,
};
pub(crate) use sms_core::account::{Account, AccountChange, Settings};
pub(crate) use sms_core::campaign::cancel::{SweepPlan, Swept};
pub(crate) use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
pub(crate) use sms_core::campaign::store::{CampaignStore, ReadsCampaigns};
pub(crate) use sms_core::campaign::{self, Campaign, CampaignChange, EditRefused};
pub(crate) use sms_core::change::cancel::{CancelPlan, CancelRefused};
pub(crate) use sms_core::change::store::{MessageStore, ReadsMessages};
pub(crate) use sms_core::contact::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
pub(crate) use sms_core::contact::import::{ImportPlan, Imported};
pub(crate) use sms_core::contact::store::{
    ContactStore, ContactsWanted, CustomNamesWanted, ReadsContacts,
};
pub(crate) use sms_core::contact::{Contact, ContactFields, ContactFilter};
pub(crate) use sms_core::conversation::store::{ConversationStore, ReadsConversations};
pub(crate) use sms_core::conversation::{Conversation, ConversationFilter};
pub(crate) use sms_core::credits::adjust::{AdjustPlan, AdjustRefused, Adjusted};
pub(crate) use sms_core::credits::ledger::Entry;
pub(crate) use sms_core::credits::store::{CreditStore, ReadsCredits};
pub(crate) use sms_core::dispatch::store::DispatchStore;
pub(crate) use sms_core::dispatch::{
    ClaimPlan, Claimed, FollowUp, LeaseToken, OutcomePlan, OutcomeRecorded,
};
pub(crate) use sms_core::event::log::{EventPage, EventRequest, LoggedEvent};
pub(crate) use sms_core::event::position::Position;
pub(crate) use sms_core::event::store::ReadsEvents;
pub(crate) use sms_core::idempotency::store::IdempotencyStore;
pub(crate) use sms_core::idempotency::{Claim, Earlier, Once, Owner};
pub(crate) use sms_core::ids::{
    AccountId, ApiKeyId, CampaignId, ContactId, DeliveryId, EndpointId, EventId, KeywordId, ListId,
    MessageId, NumberId, TemplateId,
};
pub(crate) use sms_core::inbound::segment::{GaveUp, GiveUpPlan, SegmentPlan, SegmentTaken};
pub(crate) use sms_core::inbound::store::{InboundStore, ReadsInbound};
pub(crate) use sms_core::inbound::{InboundPlan, TakenIn, Unrouted};
pub(crate) use sms_core::keyword::Keyword;
pub(crate) use sms_core::keyword::save::{KeywordRefused, SavePlan};
pub(crate) use sms_core::keyword::store::{KeywordStore, ReadsKeywords};
pub(crate) use sms_core::link::click::ClickPlan;
pub(crate) use sms_core::link::store::{LinkStore, LinkWanted, ReadsLinks};
pub(crate) use sms_core::link::{Link, LinkFilter};
pub(crate) use sms_core::list::join::{JoinPlan, Joined};
pub(crate) use sms_core::list::store::{ListStore, ReadsLists};
pub(crate) use sms_core::list::{ContactList, ListChange};
pub(crate) use sms_core::message::filter::Search;
pub(crate) use sms_core::message::{Message, MessageFilter, TimelineEntry};
pub(crate) use sms_core::number::Number;
pub(crate) use sms_core::number::release::AddPlan;
pub(crate) use sms_core::number::rent::{RentPlan, RentsCharged};
pub(crate) use sms_core::number::store::{
    CheckedIn, NumberCreated, NumberStore, NumbersWanted, ReadsNumbers,
};
pub(crate) use sms_core::opt_out::store::{OptOutStore, ReadsOptOuts};
pub(crate) use sms_core::opt_out::{Added, OptOut};
pub(crate) use sms_core::page::{OffsetPage, OffsetRequest, Page, PageRequest};
pub(crate) use sms_core::phone::E164;
pub(crate) use sms_core::receipt::report::{NetworkReport, ReportPlan, Reported};
pub(crate) use sms_core::receipt::store::ReceiptStore;
pub(crate) use sms_core::receipt::unmatched::Unmatched;
pub(crate) use sms_core::receipt::{ReceiptPlan, Recorded};
pub(crate) use sms_core::route::RouteName;
pub(crate) use sms_core::sender_name::review::{ReviewPlan, ReviewRefused};
pub(crate) use sms_core::sender_name::store::{NamesWanted, ReadsSenderNames, SenderNameStore};
pub(crate) use sms_core::sender_name::{ReviewStatus, SenderName, SenderNameExists};
pub(crate) use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
pub(crate) use sms_core::sending::plan::SendPlan;
pub(crate) use sms_core::sending::settle::{SendRefused, Sent};
pub(crate) use sms_core::sending::store::SendingStore;
pub(crate) use sms_core::session::store::SessionStore;
pub(crate) use sms_core::session::{Session, SessionHash};
pub(crate) use sms_core::statistics::store::ReadsStatistics;
pub(crate) use sms_core::statistics::{Counts, Period};
pub(crate) use sms_core::store::{CommitError, Health, Store, StoreError};
pub(crate) use sms_core::template::store::{ReadsTemplates, TemplateStore};
pub(crate) use sms_core::template::{Template, TemplateChange, TemplateSearch};
pub(crate) use sms_core::time::Timestamp;
pub(crate) use sms_core::upkeep::store::Upkeep;
pub(crate) use sms_core::upkeep::{Chore, Due};
pub(crate) use sms_core::version::{Changed, IfVersion};
pub(crate) use sms_core::webhook::attempt::{
    AttemptPlan, AttemptVerdict, ClaimedDelivery, DeliveryClaimPlan, RetryPlan, RetryVerdict,
};
pub(crate) use sms_core::webhook::delivery::Delivery;
pub(crate) use sms_core::webhook::endpoint::{Endpoint, EndpointChange, EndpointRefused};
pub(crate) use sms_core::webhook::replay::ReplayBegun;
pub(crate) use sms_core::webhook::replay::plan::{PortionPlan, ReplayPlan, ReplayRefused};
pub(crate) use sms_core::webhook::reseal::ResealPlan;
pub(crate) use sms_core::webhook::store::{EndpointsWanted, ReadsWebhooks, WebhookStore};
