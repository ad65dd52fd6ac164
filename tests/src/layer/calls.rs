//! Every method of every store trait, once. Methods that answer for each item of a list name the
//! list after `of`.

/// Passes all methods to another macro.
macro_rules! store_calls {
    ($write:ident) => {
        $write! {
            AccountStore as AccountLayer {
                account_create(new: NewAccount, claim: Option<&Claim>)
                    -> Result<Once<Account>, StoreError>;
                account_get(id: AccountId) -> Result<Option<Account>, StoreError>;
                account_settings(id: AccountId) -> Result<Option<Settings>, StoreError>;
                account_list(page: PageRequest) -> Result<Page<Account>, StoreError>;
                account_update(id: AccountId, change: AccountChange, at: Timestamp)
                    -> Result<Option<Account>, StoreError>;
            }
            ApiKeyStore as ApiKeyLayer {
                api_key_create(key: KeyRecord, claim: Option<&Claim>)
                    -> Result<Once<KeyCreated>, StoreError>;
                api_key_list(account: AccountId) -> Result<Vec<KeyRecord>, StoreError>;
                api_key_find(hash: KeyHash) -> Result<Option<KeyRecord>, StoreError>;
                api_key_revoke(account: AccountId, id: ApiKeyId, at: Timestamp)
                    -> Result<Option<KeyRecord>, StoreError>;
                api_key_used(account: AccountId, id: ApiKeyId, at: Timestamp)
                    -> Result<(), StoreError>;
            }
            CampaignStore as CampaignLayer {
                campaign_create(draft: Campaign, claim: Option<&Claim>)
                    -> Result<Once<Campaign>, StoreError>;
                campaign_get(account: AccountId, id: CampaignId)
                    -> Result<Option<Campaign>, StoreError>;
                campaign_list(account: AccountId, page: PageRequest)
                    -> Result<Page<Campaign>, StoreError>;
                campaign_update(
                    account: AccountId, id: CampaignId, change: CampaignChange, at: Timestamp
                ) -> Result<Campaign, CommitError<EditRefused>>;
                campaign_delete(account: AccountId, id: CampaignId)
                    -> Result<(), CommitError<EditRefused>>;
                campaign_launch(plan: LaunchPlan, claim: Option<&Claim>)
                    -> Result<Once<Campaign>, CommitError<LaunchRefused>>;
                campaign_cancel(plan: campaign::cancel::CancelPlan)
                    -> Result<Campaign, CommitError<campaign::cancel::CancelRefused>>;
                campaign_sweep(plan: SweepPlan) -> Result<Swept, StoreError>;
                campaigns_unswept(before: Timestamp, limit: usize)
                    -> Result<Vec<(AccountId, CampaignId)>, StoreError>;
                campaign_counts_tidy(limit: usize) -> Result<usize, StoreError>;
            }
            ContactStore as ContactLayer {
                contact_create(plan: CreatePlan, claim: Option<&Claim>)
                    -> Result<Once<Contact>, CommitError<BookRefused>>;
                contact_get(account: AccountId, id: ContactId)
                    -> Result<Option<(Contact, Vec<ListId>)>, StoreError>;
                contact_list(account: AccountId, filter: &ContactFilter, page: PageRequest)
                    -> Result<Page<Contact>, StoreError>;
                contact_update(plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>>;
                contact_delete(plan: RemovePlan) -> Result<(), CommitError<BookRefused>>;
                contacts_import(plan: ImportPlan, claim: Option<&Claim>)
                    -> Result<Once<Imported>, CommitError<BookRefused>>;
                custom_names(account: AccountId) -> Result<Vec<String>, StoreError>;
                custom_names_among(account: AccountId, names: &[String])
                    -> Result<BTreeSet<String>, StoreError>;
                contacts_by_id(account: AccountId, ids: &[ContactId])
                    -> Result<Vec<Contact>, StoreError>;
                contacts_by_phone(account: AccountId, phones: &[E164])
                    -> Result<Vec<Contact>, StoreError>;
                address_book_is_empty(account: AccountId) -> Result<bool, StoreError>;
            }
            ConversationStore as ConversationLayer {
                conversation_list(
                    account: AccountId, filter: &ConversationFilter, page: PageRequest
                ) -> Result<Page<Conversation>, StoreError>;
                unread_total(account: AccountId) -> Result<u64, StoreError>;
                conversation_read(account: AccountId, number: E164, at: Timestamp)
                    -> Result<Option<u64>, StoreError>;
            }
            CreditStore as CreditLayer {
                credits_adjust(plan: AdjustPlan, claim: Option<&Claim>)
                    -> Result<Once<Adjusted>, CommitError<AdjustRefused>>;
                ledger_list(account: AccountId, page: PageRequest)
                    -> Result<Page<Entry>, StoreError>;
            }
            DispatchStore as DispatchLayer {
                dispatch_claim(plan: ClaimPlan) -> Result<Claimed, StoreError>;
                dispatch_record(plans: Vec<OutcomePlan>)
                    -> Result<Vec<OutcomeRecorded>, StoreError>;
                dispatch_renew(token: LeaseToken, until: Timestamp) -> Result<usize, StoreError>;
                dispatch_next() -> Result<Option<Timestamp>, StoreError>;
                follow_ups_due(at: Timestamp, limit: usize) -> Result<Vec<FollowUp>, StoreError>;
                follow_ups_next() -> Result<Option<Timestamp>, StoreError>;
            }
            EventStore as EventLayer {
                event_list(account: AccountId, request: EventRequest)
                    -> Result<EventPage, StoreError>;
                event_get(account: AccountId, id: EventId)
                    -> Result<Option<LoggedEvent>, StoreError>;
                event_ends(accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError>;
                events_after(accounts: Vec<(AccountId, Position)>)
                    -> Result<Vec<AccountId>, StoreError>;
                events_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
            Health as HealthLayer {
                health_check() -> Result<(), StoreError>;
            }
            IdempotencyStore as IdempotencyLayer {
                idempotency_find(owner: Owner, key: &IdempotencyKey, at: Timestamp)
                    -> Result<Option<Earlier>, StoreError>;
                idempotency_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
            InboundStore as InboundLayer {
                inbound_take(plan: InboundPlan, claim: Option<&Claim>)
                    -> Result<Once<TakenIn>, StoreError>;
                inbound_segment_take(plan: SegmentPlan) -> Result<SegmentTaken, StoreError>;
                inbound_segment_give_up(plan: GiveUpPlan) -> Result<GaveUp, StoreError>;
                last_contacted_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
                unrouted_list(page: PageRequest) -> Result<Page<Unrouted>, StoreError>;
            }
            LinkStore as LinkLayer {
                link_get(account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError>;
                link_list(account: AccountId, filter: LinkFilter, page: PageRequest)
                    -> Result<Page<Link>, StoreError>;
                link_by_code(code: LinkCode) -> Result<Option<Link>, StoreError>;
                links_click(plans: Vec<ClickPlan>)
                    -> Vec<Result<Option<Link>, StoreError>>, of plans;
            }
            KeywordStore as KeywordLayer {
                keyword_save(plan: SavePlan, claim: Option<&Claim>)
                    -> Result<Once<Keyword>, CommitError<KeywordRefused>>;
                keyword_get(account: AccountId, id: KeywordId)
                    -> Result<Option<Keyword>, StoreError>;
                keyword_list(account: AccountId, page: PageRequest)
                    -> Result<Page<Keyword>, StoreError>;
                keyword_delete(account: AccountId, id: KeywordId) -> Result<bool, StoreError>;
            }
            ListStore as ListLayer {
                list_create(list: ContactList, claim: Option<&Claim>)
                    -> Result<Once<ContactList>, StoreError>;
                list_get(account: AccountId, id: ListId)
                    -> Result<Option<ContactList>, StoreError>;
                list_list(account: AccountId, page: PageRequest)
                    -> Result<Page<ContactList>, StoreError>;
                list_update(account: AccountId, id: ListId, change: ListChange, at: Timestamp)
                    -> Result<Option<ContactList>, StoreError>;
                list_delete(account: AccountId, id: ListId) -> Result<bool, StoreError>;
                list_join(plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>>;
                list_leave(account: AccountId, list: ListId, contact: ContactId)
                    -> Result<bool, StoreError>;
                list_portion(
                    account: AccountId, list: ListId, after: Option<ContactId>, limit: usize,
                    fields: &ContactFields
                ) -> Result<Vec<Contact>, StoreError>;
            }
            MessageStore as MessageLayer {
                message_get(account: AccountId, id: MessageId)
                    -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError>;
                message_list(account: AccountId, filter: &MessageFilter, page: PageRequest)
                    -> Result<Page<Message>, StoreError>;
                message_cancel(plan: CancelPlan) -> Result<Message, CommitError<CancelRefused>>;
                search_prepare(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
            NumberStore as NumberLayer {
                number_create(plan: AddPlan, claim: Option<&Claim>)
                    -> Result<Once<NumberCreated>, StoreError>;
                number_list() -> Result<Vec<Number>, StoreError>;
                number_by_phone(phone: E164) -> Result<Option<Number>, StoreError>;
                numbers_for(account: AccountId) -> Result<Vec<Number>, StoreError>;
                numbers_held(account: AccountId) -> Result<Vec<Number>, StoreError>;
                number_delete(id: NumberId, at: Timestamp) -> Result<bool, StoreError>;
                number_check_in(id: NumberId, at: Timestamp) -> Result<bool, StoreError>;
                numbers_check_in(routes: Vec<Option<RouteName>>, at: Timestamp)
                    -> Result<usize, StoreError>;
                rents_charge(plan: RentPlan) -> Result<RentsCharged, StoreError>;
                rents_next() -> Result<Option<Timestamp>, StoreError>;
            }
            OptOutStore as OptOutLayer {
                opt_outs_among(account: AccountId, numbers: &[E164])
                    -> Result<BTreeSet<E164>, StoreError>;
                opt_out_create(account: AccountId, opt_out: OptOut, claim: Option<&Claim>)
                    -> Result<Once<Added>, StoreError>;
                opt_out_list(account: AccountId, search: Option<&Search>, wanted: OffsetRequest)
                    -> Result<OffsetPage<OptOut>, StoreError>;
                opt_out_delete(account: AccountId, phone: E164) -> Result<bool, StoreError>;
            }
            ReceiptStore as ReceiptLayer {
                receipts_record(plans: Vec<ReceiptPlan>)
                    -> Vec<Result<Recorded, StoreError>>, of plans;
                reports_record(plans: Vec<ReportPlan>)
                    -> Vec<Result<Reported, StoreError>>, of plans;
                reports_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
            SenderNameStore as SenderNameLayer {
                sender_name_create(name: SenderName, claim: Option<&Claim>)
                    -> Result<Once<SenderName>, CommitError<SenderNameExists>>;
                sender_name_list(account: AccountId) -> Result<Vec<SenderName>, StoreError>;
                sender_names_approved(account: AccountId) -> Result<Vec<SenderName>, StoreError>;
                sender_names_for_review(status: Option<ReviewStatus>, page: PageRequest)
                    -> Result<Page<SenderName>, StoreError>;
                sender_name_review(plan: ReviewPlan)
                    -> Result<SenderName, CommitError<ReviewRefused>>;
            }
            SendingStore as SendingLayer {
                send_accept(plans: Vec<SendPlan>)
                    -> Vec<Result<Sent, CommitError<SendRefused>>>, of plans;
                send_earlier(account: AccountId, key: &IdempotencyKey, at: Timestamp)
                    -> Result<Option<EarlierSend>, StoreError>;
                send_replay(account: AccountId, earlier: EarlierSend) -> Result<Sent, StoreError>;
                test_sends_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
            SessionStore as SessionLayer {
                session_create(session: Session, most: usize) -> Result<(), StoreError>;
                session_find(hash: SessionHash) -> Result<Option<Session>, StoreError>;
                session_delete(hash: SessionHash) -> Result<(), StoreError>;
                sessions_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
            StatisticsStore as StatisticsLayer {
                statistics_within(account: AccountId, periods: &[Period])
                    -> Result<Vec<Counts>, StoreError>;
                statistics_fold(limit: usize) -> Result<usize, StoreError>;
            }
            TemplateStore as TemplateLayer {
                template_create(template: Template, claim: Option<&Claim>)
                    -> Result<Once<Template>, StoreError>;
                template_get(account: AccountId, id: TemplateId)
                    -> Result<Option<Template>, StoreError>;
                template_list(
                    account: AccountId, search: Option<&TemplateSearch>, page: PageRequest
                ) -> Result<Page<Template>, StoreError>;
                template_update(
                    account: AccountId, id: TemplateId, change: TemplateChange, at: Timestamp
                ) -> Result<Option<Template>, StoreError>;
                template_delete(account: AccountId, id: TemplateId) -> Result<bool, StoreError>;
            }
            WebhookStore as WebhookLayer {
                endpoint_create(endpoint: Endpoint, claim: Option<&Claim>)
                    -> Result<Once<Endpoint>, CommitError<EndpointRefused>>;
                endpoint_get(account: AccountId, id: EndpointId)
                    -> Result<Option<Endpoint>, StoreError>;
                endpoint_list(account: AccountId) -> Result<Vec<Endpoint>, StoreError>;
                endpoints_after(after: Option<SecretPlace>, limit: usize)
                    -> Result<Vec<Endpoint>, StoreError>;
                endpoints_reseal(plans: Vec<ResealPlan>) -> Result<usize, StoreError>;
                endpoint_update(
                    account: AccountId, id: EndpointId, change: EndpointChange, at: Timestamp
                ) -> Result<Option<Endpoint>, StoreError>;
                endpoint_delete(account: AccountId, id: EndpointId) -> Result<bool, StoreError>;
                deliveries_claim(plan: DeliveryClaimPlan)
                    -> Result<Vec<ClaimedDelivery>, StoreError>;
                deliveries_record(plans: Vec<AttemptPlan>)
                    -> Vec<Result<AttemptVerdict, StoreError>>, of plans;
                delivery_retry(plan: RetryPlan) -> Result<Option<RetryVerdict>, StoreError>;
                delivery_log(delivery: Delivery) -> Result<(), StoreError>;
                replay_begin(plan: ReplayPlan, claim: Option<&Claim>)
                    -> Result<Once<ReplayBegun>, CommitError<ReplayRefused>>;
                replays_due(at: Timestamp, limit: usize) -> Result<Vec<Endpoint>, StoreError>;
                replay_portion(plan: PortionPlan) -> Result<usize, StoreError>;
                replays_next() -> Result<Option<Timestamp>, StoreError>;
                delivery_get(account: AccountId, endpoint: EndpointId, id: DeliveryId)
                    -> Result<Option<Delivery>, StoreError>;
                delivery_list(account: AccountId, endpoint: EndpointId, page: PageRequest)
                    -> Result<Page<Delivery>, StoreError>;
                deliveries_tidy(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
                deliveries_next() -> Result<Option<Timestamp>, StoreError>;
            }
        }
    };
}
pub(crate) use store_calls;
