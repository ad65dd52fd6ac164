//! Sending and cancelling.

use std::time::Duration;

use sms_core::Error;
use sms_core::account::Mode;
use sms_core::ids::{AccountId, BatchId, MessageId};
use sms_core::sending::settle::Replay;
use sms_core::sending::{IdempotencyKey, Quote, SendRequest, Sent};
use sms_core::time::Timestamp;

use super::caller::Caller;
use super::campaign::Spread;
use crate::simulation::wish::{Meaning, Wish};

/// The errors with which a send may be refused.
const REFUSALS: [&str; 9] = [
    "account_pending",
    "account_suspended",
    "idempotency_conflict",
    "insufficient_credit",
    "no_number",
    "rate_limited",
    "sender_not_approved",
    "unavailable",
    "validation_failed",
];

/// This many test sends to everybody exceed the hourly limit.
const REHEARSALS: usize = 24;

impl Caller {
    /// Sends, perhaps after a quote, which must then be correct.
    pub(super) async fn send(
        &self,
        account: AccountId,
        meaning: Meaning,
        key: Option<IdempotencyKey>,
        quoted: bool,
    ) {
        let task = self.world.with(|state| {
            state.model.meanings.insert(state.task, meaning.clone());
            state.task
        });
        let asked = key.clone();
        let known = self.remembered(account, asked.as_ref(), &meaning);
        let request = self.world.with(|state| meaning.wish.request(key, &mut state.dice));
        let handle = self.sms.account(account, meaning.mode);
        let before = self.opt_out_changes(account);
        let mut quote = None;
        if quoted {
            quote = self.quote(account, &meaning, request.clone()).await;
        }
        let begin = || self.world.with(|state| state.model.begins_to_plan(task));
        begin();
        let mut answer = handle.send(request.clone()).await;
        // Whoever hears no answer asks again, and is charged once.
        for _ in 0..3 {
            if asked.is_some() && matches!(&answer, Err(error) if error.code() == "unavailable") {
                begin();
                answer = handle.send(request.clone()).await;
            }
        }
        self.check_retried(account, asked.as_ref(), &meaning, &answer);
        self.world.with(|state| state.model.meanings.remove(&task));
        if known.is_some() && known == self.remembered(account, asked.as_ref(), &meaning) {
            let repeated = answer.as_ref().is_ok_and(|sent| sent.replay == Replay::Repeated);
            self.must(repeated, || format!("a repeated request answers {answer:?}"));
        }
        if let Err(error) = &answer {
            self.check_invalid(error, meaning.wish.schedule_at());
        }
        let sent = self.expect("send", answer, &REFUSALS);
        if let (Some(quote), Some(sent)) = (quote, sent)
            && sent.replay == Replay::First
            && before == self.opt_out_changes(account)
        {
            self.check_quote(&quote, &sent, meaning.mode);
        }
    }

    /// Sends test messages beyond the hourly limit, and then a test campaign.
    pub(super) async fn rehearse(&self, account: AccountId) {
        for _ in 0..REHEARSALS {
            let meaning = Meaning { wish: Wish::for_all(), mode: Mode::Test };
            self.send(account, meaning, None, false).await;
        }
        self.launch(account, Spread::rehearsal()).await;
    }

    /// Checks that all repeats led to one batch, the one of the key.
    fn check_retried(
        &self,
        account: AccountId,
        key: Option<&IdempotencyKey>,
        meaning: &Meaning,
        answer: &Result<Sent, Error>,
    ) {
        let Ok(sent) = answer else { return };
        // An older one may have been forgotten, and another taken its place.
        let is_new = self.world.now().since(sent.batch.timestamp()) < Duration::from_hours(24);
        let kept = self.remembered(account, key, meaning).filter(|_| is_new);
        if kept.is_some_and(|batch| batch != sent.batch) {
            self.world.check(Err(format!("{kept:?} was sent, and {} again", sent.batch)));
        }
    }

    /// The batch of the same earlier request, while its key is stored.
    fn remembered(
        &self,
        account: AccountId,
        key: Option<&IdempotencyKey>,
        meaning: &Meaning,
    ) -> Option<BatchId> {
        let now = self.world.now();
        self.world.with(|state| state.model.remembered(account, key?, meaning, now))
    }

    async fn quote(
        &self,
        account: AccountId,
        meaning: &Meaning,
        request: SendRequest,
    ) -> Option<Quote> {
        let answer = self.sms.account(account, meaning.mode).quote(request).await;
        if let Err(error) = &answer {
            self.check_invalid(error, meaning.wish.schedule_at());
        }
        self.expect("quote", answer, &["no_number", "sender_not_approved", "validation_failed"])
    }

    /// Checks that the quote equals the cost of a live send, and that a test send costs nothing.
    fn check_quote(&self, quote: &Quote, sent: &Sent, mode: Mode) {
        let parts: u64 = sent.messages.iter().map(|text| u64::from(text.segments.get())).sum();
        let taken = if mode.is_test() { 0 } else { parts };
        self.must(
            quote.credits.get() == parts
                && sent.credits.get() == taken
                && quote.recipients == sent.messages.len()
                && quote.rejected == sent.rejected,
            || format!("{quote:?} was quoted and {} credits were taken", sent.credits),
        );
    }

    /// Checks that a request is invalid only if its scheduled time has passed.
    fn check_invalid(&self, error: &Error, schedule_at: Option<Timestamp>) {
        if let Error::Invalid(fields) = error {
            let minute_ago = self.world.now().minus(Duration::from_mins(1));
            let passed = schedule_at.is_some_and(|at| at < minute_ago);
            self.must(passed, || format!("a good request was refused: {fields:?}"));
        }
    }

    fn opt_out_changes(&self, account: AccountId) -> Option<u64> {
        self.world
            .with(|state| state.model.accounts.get(&account).map(|account| account.opt_out_changes))
    }

    pub(super) async fn cancel(&self, account: AccountId, id: MessageId) {
        let answer = self.sms.account(account, Mode::Live).message_cancel(id).await;
        let codes = ["message_not_cancellable", "not_found"];
        if let Some(message) = self.expect("cancel", answer, &codes) {
            self.must(message.account == account && message.id == id, || {
                format!("cancelling {id} of {account} answers {message:?}")
            });
        }
    }
}
