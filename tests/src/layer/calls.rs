//! Every method of every store trait, once, with a layer for each noun. Methods that answer for
//! each item of a list name the list after `of`. Those that do several things say after `as` which
//! one a call does.

/// Passes all methods to another macro.
macro_rules! store_calls {
    ($write:ident) => {
        $write! {
            AccountLayer {
                ReadsAccounts {
                    account_get(id: AccountId) -> Result<Option<Account>, StoreError>;
                    accounts_among(ids: &[AccountId]) -> Result<Vec<Account>, StoreError>;
                    account_settings(id: AccountId) -> Result<Option<Settings>, StoreError>;
                    account_list(page: PageRequest) -> Result<Page<Account>, StoreError>;
                }
                AccountStore {
                    account_create(new: NewAccount, claim: Option<&Claim>)
                        -> Result<Once<Account>, StoreError>;
                    account_update(id: AccountId, change: AccountChange, at: Timestamp)
                        -> Result<Option<Account>, CommitError<Changed>>;
                }
            }
            ApiKeyLayer {
                ReadsApiKeys {
                    api_key_list(account: AccountId) -> Result<Vec<KeyRecord>, StoreError>;
                    api_key_find(hash: KeyHash) -> Result<Option<KeyRecord>, StoreError>;
                }
                ApiKeyStore {
                    api_key_create(key: KeyRecord, claim: Option<&Claim>)
                        -> Result<Once<KeyCreated>, StoreError>;
                    api_key_revoke(account: AccountId, id: ApiKeyId, at: Timestamp)
                        -> Result<Option<KeyRecord>, StoreError>;
                    api_key_used(account: AccountId, id: ApiKeyId, at: Timestamp)
                        -> Result<(), StoreError>;
                }
            }
            CampaignLayer {
                ReadsCampaigns {
                    campaign_get(account: AccountId, id: CampaignId)
                        -> Result<Option<Campaign>, StoreError>;
                    campaign_list(account: AccountId, page: PageRequest)
                        -> Result<Page<Campaign>, StoreError>;
                    campaigns_unswept(before: Timestamp, limit: usize)
                        -> Result<Vec<(AccountId, CampaignId)>, StoreError>;
                }
                CampaignStore {
                    campaign_create(draft: Campaign, claim: Option<&Claim>)
                        -> Result<Once<Campaign>, StoreError>;
                    campaign_update(
                        account: AccountId, id: CampaignId, change: CampaignChange, at: Timestamp
                    ) -> Result<Campaign, CommitError<EditRefused>>;
                    campaign_delete(account: AccountId, id: CampaignId, if_version: IfVersion)
                        -> Result<(), CommitError<EditRefused>>;
                    campaign_launch(plan: LaunchPlan, claim: Option<&Claim>)
                        -> Result<Once<Campaign>, CommitError<LaunchRefused>>;
                    campaign_cancel(plan: campaign::cancel::CancelPlan)
                        -> Result<Campaign, CommitError<campaign::cancel::CancelRefused>>;
                    campaign_sweep(plan: SweepPlan) -> Result<Swept, StoreError>;
                }
            }
            ContactLayer {
                ReadsContacts {
                    contact_get(account: AccountId, id: ContactId)
                        -> Result<Option<(Contact, Vec<ListId>)>, StoreError>;
                    contact_list(account: AccountId, filter: &ContactFilter, page: PageRequest)
                        -> Result<Page<Contact>, StoreError>;
                    custom_names(account: AccountId, wanted: CustomNamesWanted<'_>)
                        -> Result<BTreeSet<String>, StoreError>,
                        as $crate::layer::call::of_custom_names(wanted);
                    contacts_among(account: AccountId, wanted: ContactsWanted<'_>)
                        -> Result<Vec<Contact>, StoreError>;
                    address_book_is_empty(account: AccountId) -> Result<bool, StoreError>;
                }
                ContactStore {
                    contact_create(plan: CreatePlan, claim: Option<&Claim>)
                        -> Result<Once<Contact>, CommitError<BookRefused>>;
                    contact_update(plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>>;
                    contact_delete(plan: RemovePlan) -> Result<(), CommitError<BookRefused>>;
                    contacts_import(plan: ImportPlan, claim: Option<&Claim>)
                        -> Result<Once<Imported>, CommitError<BookRefused>>;
                }
            }
            ConversationLayer {
                ReadsConversations {
                    conversation_list(
                        account: AccountId, filter: &ConversationFilter, page: PageRequest
                    ) -> Result<Page<Conversation>, StoreError>;
                    unread_total(account: AccountId) -> Result<u64, StoreError>;
                }
                ConversationStore {
                    conversation_read(account: AccountId, number: E164, at: Timestamp)
                        -> Result<Option<u64>, StoreError>;
                }
            }
            CreditLayer {
                ReadsCredits {
                    ledger_list(account: AccountId, page: PageRequest)
                        -> Result<Page<Entry>, StoreError>;
                }
                CreditStore {
                    credits_adjust(plan: AdjustPlan, claim: Option<&Claim>)
                        -> Result<Once<Adjusted>, CommitError<AdjustRefused>>;
                }
            }
            DispatchLayer {
                DispatchStore {
                    dispatch_claim(plan: ClaimPlan) -> Result<Claimed, StoreError>;
                    dispatch_record(plans: Vec<OutcomePlan>)
                        -> Result<Vec<OutcomeRecorded>, StoreError>;
                    dispatch_renew(token: LeaseToken, until: Timestamp)
                        -> Result<usize, StoreError>;
                    follow_ups_due(at: Timestamp, limit: usize)
                        -> Result<Vec<FollowUp>, StoreError>;
                }
            }
            EventLayer {
                ReadsEvents {
                    event_list(account: AccountId, request: EventRequest)
                        -> Result<EventPage, StoreError>;
                    event_get(account: AccountId, id: EventId)
                        -> Result<Option<LoggedEvent>, StoreError>;
                    event_ends(accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError>;
                    events_after(accounts: Vec<(AccountId, Position)>)
                        -> Result<Vec<AccountId>, StoreError>;
                }
            }
            HealthLayer {
                Health {
                    health_check() -> Result<(), StoreError>;
                }
            }
            IdempotencyLayer {
                IdempotencyStore {
                    idempotency_find(owner: Owner, key: &IdempotencyKey, at: Timestamp)
                        -> Result<Option<Earlier>, StoreError>;
                }
            }
            InboundLayer {
                ReadsInbound {
                    unrouted_list(page: PageRequest) -> Result<Page<Unrouted>, StoreError>;
                }
                InboundStore {
                    inbound_take(plan: InboundPlan, claim: Option<&Claim>)
                        -> Result<Once<TakenIn>, StoreError>;
                    inbound_segment_take(plan: SegmentPlan) -> Result<SegmentTaken, StoreError>;
                    inbound_segment_give_up(plan: GiveUpPlan) -> Result<GaveUp, StoreError>;
                }
            }
            LinkLayer {
                ReadsLinks {
                    link_get(wanted: LinkWanted) -> Result<Option<Link>, StoreError>;
                    link_list(account: AccountId, filter: LinkFilter, page: PageRequest)
                        -> Result<Page<Link>, StoreError>;
                }
                LinkStore {
                    links_click(plans: Vec<ClickPlan>)
                        -> Vec<Result<Option<Link>, StoreError>>, of plans;
                }
            }
            KeywordLayer {
                ReadsKeywords {
                    keyword_get(account: AccountId, id: KeywordId)
                        -> Result<Option<Keyword>, StoreError>;
                    keyword_list(account: AccountId, page: PageRequest)
                        -> Result<Page<Keyword>, StoreError>;
                }
                KeywordStore {
                    keyword_save(plan: SavePlan, claim: Option<&Claim>)
                        -> Result<Once<Keyword>, CommitError<KeywordRefused>>;
                    keyword_delete(account: AccountId, id: KeywordId, if_version: IfVersion)
                        -> Result<bool, CommitError<Changed>>;
                }
            }
            ListLayer {
                ReadsLists {
                    list_get(account: AccountId, id: ListId)
                        -> Result<Option<ContactList>, StoreError>;
                    list_list(account: AccountId, page: PageRequest)
                        -> Result<Page<ContactList>, StoreError>;
                    list_portion(
                        account: AccountId, list: ListId, after: Option<ContactId>, limit: usize,
                        fields: &ContactFields
                    ) -> Result<Vec<Contact>, StoreError>;
                }
                ListStore {
                    list_create(list: ContactList, claim: Option<&Claim>)
                        -> Result<Once<ContactList>, StoreError>;
                    list_update(account: AccountId, id: ListId, change: ListChange, at: Timestamp)
                        -> Result<Option<ContactList>, CommitError<Changed>>;
                    list_delete(account: AccountId, id: ListId, if_version: IfVersion)
                        -> Result<bool, CommitError<Changed>>;
                    list_join(plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>>;
                    list_leave(account: AccountId, list: ListId, contact: ContactId)
                        -> Result<bool, StoreError>;
                }
            }
            MessageLayer {
                ReadsMessages {
                    message_get(account: AccountId, id: MessageId)
                        -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError>;
                    message_list(account: AccountId, filter: &MessageFilter, page: PageRequest)
                        -> Result<Page<Message>, StoreError>;
                }
                MessageStore {
                    message_cancel(plan: CancelPlan) -> Result<Message, CommitError<CancelRefused>>;
                }
            }
            NumberLayer {
                ReadsNumbers {
                    number_list(wanted: NumbersWanted) -> Result<Vec<Number>, StoreError>,
                        as $crate::layer::call::of_numbers(wanted);
                    numbers_among(phones: &[E164]) -> Result<BTreeSet<E164>, StoreError>;
                }
                NumberStore {
                    number_create(plan: AddPlan, claim: Option<&Claim>)
                        -> Result<Once<NumberCreated>, StoreError>;
                    number_delete(id: NumberId, at: Timestamp) -> Result<bool, StoreError>;
                    number_check_in(who: CheckedIn, at: Timestamp) -> Result<usize, StoreError>;
                    rents_charge(plan: RentPlan) -> Result<RentsCharged, StoreError>;
                }
            }
            OptOutLayer {
                ReadsOptOuts {
                    opt_outs_among(account: AccountId, numbers: &[E164])
                        -> Result<BTreeSet<E164>, StoreError>;
                    opt_out_list(account: AccountId, search: Option<&Search>, wanted: OffsetRequest)
                        -> Result<OffsetPage<OptOut>, StoreError>;
                }
                OptOutStore {
                    opt_out_create(account: AccountId, opt_out: OptOut, claim: Option<&Claim>)
                        -> Result<Once<Added>, StoreError>;
                    opt_outs_add(account: AccountId, opt_outs: Vec<OptOut>)
                        -> Result<BTreeSet<E164>, StoreError>;
                    opt_out_delete(account: AccountId, phone: E164) -> Result<bool, StoreError>;
                }
            }
            ReceiptLayer {
                ReceiptStore {
                    receipts_record(plans: Vec<ReceiptPlan>)
                        -> Vec<Result<Recorded, StoreError>>, of plans;
                    reports_record(plans: Vec<ReportPlan>)
                        -> Vec<Result<Reported, StoreError>>, of plans;
                    reports_unmatched(route: &RouteName, before: Timestamp, limit: usize)
                        -> Result<Unmatched, StoreError>;
                    segments_sent(reports: Vec<NetworkReport>) -> Result<Vec<bool>, StoreError>;
                }
            }
            SenderNameLayer {
                ReadsSenderNames {
                    sender_name_list(account: AccountId, wanted: NamesWanted)
                        -> Result<Vec<SenderName>, StoreError>,
                        as $crate::layer::call::of_names(wanted);
                    sender_names_for_review(status: Option<ReviewStatus>, page: PageRequest)
                        -> Result<Page<SenderName>, StoreError>;
                }
                SenderNameStore {
                    sender_name_create(name: SenderName, claim: Option<&Claim>)
                        -> Result<Once<SenderName>, CommitError<SenderNameExists>>;
                    sender_name_review(plan: ReviewPlan)
                        -> Result<SenderName, CommitError<ReviewRefused>>;
                }
            }
            SendingLayer {
                SendingStore {
                    send_accept(plans: Vec<SendPlan>)
                        -> Vec<Result<Sent, CommitError<SendRefused>>>, of plans;
                    send_earlier(account: AccountId, key: &IdempotencyKey, at: Timestamp)
                        -> Result<Option<EarlierSend>, StoreError>;
                    send_replay(account: AccountId, earlier: EarlierSend)
                        -> Result<Sent, StoreError>;
                }
            }
            SessionLayer {
                SessionStore {
                    session_create(session: Session, most: usize) -> Result<(), StoreError>;
                    session_find(hash: SessionHash) -> Result<Option<Session>, StoreError>;
                    session_delete(hash: SessionHash) -> Result<(), StoreError>;
                }
            }
            StatisticsLayer {
                ReadsStatistics {
                    statistics_within(account: AccountId, periods: &[Period])
                        -> Result<Vec<Counts>, StoreError>;
                }
            }
            TemplateLayer {
                ReadsTemplates {
                    template_get(account: AccountId, id: TemplateId)
                        -> Result<Option<Template>, StoreError>;
                    template_list(
                        account: AccountId, search: Option<&TemplateSearch>, page: PageRequest
                    ) -> Result<Page<Template>, StoreError>;
                }
                TemplateStore {
                    template_create(template: Template, claim: Option<&Claim>)
                        -> Result<Once<Template>, StoreError>;
                    template_update(
                        account: AccountId, id: TemplateId, change: TemplateChange, at: Timestamp
                    ) -> Result<Option<Template>, CommitError<Changed>>;
                    template_delete(account: AccountId, id: TemplateId, if_version: IfVersion)
                        -> Result<bool, CommitError<Changed>>;
                }
            }
            UpkeepLayer {
                Upkeep {
                    tidy(chore: Chore, limit: usize) -> Result<usize, StoreError>,
                        as $crate::layer::call::of_chore(&chore);
                    next(work: Due) -> Result<Option<Timestamp>, StoreError>,
                        as $crate::layer::call::of_due(work);
                }
            }
            WebhookLayer {
                ReadsWebhooks {
                    endpoint_get(account: AccountId, id: EndpointId)
                        -> Result<Option<Endpoint>, StoreError>;
                    endpoint_list(wanted: EndpointsWanted) -> Result<Vec<Endpoint>, StoreError>,
                        as $crate::layer::call::of_endpoints(wanted);
                    delivery_get(account: AccountId, endpoint: EndpointId, id: DeliveryId)
                        -> Result<Option<Delivery>, StoreError>;
                    delivery_list(account: AccountId, endpoint: EndpointId, page: PageRequest)
                        -> Result<Page<Delivery>, StoreError>;
                }
                WebhookStore {
                    endpoint_create(endpoint: Endpoint, claim: Option<&Claim>)
                        -> Result<Once<Endpoint>, CommitError<EndpointRefused>>;
                    endpoints_reseal(plans: Vec<ResealPlan>) -> Result<usize, StoreError>;
                    endpoint_update(
                        account: AccountId, id: EndpointId, change: EndpointChange, at: Timestamp
                    ) -> Result<Option<Endpoint>, CommitError<Changed>>;
                    endpoint_delete(account: AccountId, id: EndpointId, if_version: IfVersion)
                        -> Result<bool, CommitError<Changed>>;
                    deliveries_claim(plan: DeliveryClaimPlan)
                        -> Result<Vec<ClaimedDelivery>, StoreError>;
                    deliveries_record(plans: Vec<AttemptPlan>)
                        -> Vec<Result<AttemptVerdict, StoreError>>, of plans;
                    delivery_retry(plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError>;
                    delivery_log(delivery: Delivery) -> Result<(), StoreError>;
                    replay_begin(plan: ReplayPlan, claim: Option<&Claim>)
                        -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>>;
                    replay_portion(plan: PortionPlan) -> Result<usize, StoreError>;
                }
            }
        }
    };
}
pub(crate) use store_calls;
