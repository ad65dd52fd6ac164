//! Every command that takes a claim.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::account::Account;
use sms_core::idempotency::Claim;
use sms_core::page::PageRequest;
use sms_core::store::Store;

use super::{Run, Said};
use crate::Rig;

/// Whose key a command takes.
pub(crate) enum Whose {
    #[allow(dead_code, reason = "commands of accounts follow")]
    Account,
    Operator,
}

/// A command with its plan.
pub(crate) type Planned = Box<dyn FnOnce(Arc<dyn Store>, Option<Claim>) -> Run + Send>;

/// A kind of command.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) owner: Whose,
    /// Plans it as a service would for one request.
    pub(crate) plan: fn(&Rig, &Account) -> Planned,
    /// Counts its effects on the account so far.
    pub(crate) effects: fn(Arc<dyn Store>, Account) -> BoxFuture<'static, usize>,
}

/// Every kind of command. The first takes any owner's key.
pub(crate) fn commands() -> Vec<Command> {
    vec![credits_adjust()]
}

/// A planned command that calls a method of the store.
macro_rules! planned {
    (|$store:ident, $claim:ident| $call:expr) => {
        Box::new(move |$store: Arc<dyn Store>, $claim: Option<Claim>| {
            async move {
                let $claim = $claim.as_ref();
                Said::of($call.await)
            }
            .boxed()
        })
    };
}

fn first_page() -> PageRequest {
    PageRequest { after: None, ..PageRequest::default() }
}

fn credits_adjust() -> Command {
    Command {
        name: "credits_adjust",
        owner: Whose::Operator,
        plan: |rig, account| {
            let plan = rig.adjust_plan(account.id, 5);
            planned!(|store, claim| store.credits_adjust(plan, claim))
        },
        effects: |store, account| {
            async move {
                store.ledger_list(account.id, first_page()).await.expect("read").items.len()
            }
            .boxed()
        },
    }
}
