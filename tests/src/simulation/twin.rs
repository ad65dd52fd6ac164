//! Two stores that get the same calls and must answer the same.
//!
//! A twin replaces one store. Each call goes to the first and then to the second store, with the
//! same plan, ids and time, and the twin compares both answers before it returns one. So both
//! stores go through the same history, faults included, one call after the other.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::runtime::Handle;

use super::chance::Chance;
use super::own_positions::{Calls, OwnPositions};
use crate::layer::calls::store_calls;
use crate::layer::prelude::*;
use crate::layer::{Answer, Layered, first};

/// Calls whose answers need not agree: most count internal work of a store, and the last may be a
/// few seconds old.
const FREE: [&str; 7] = [
    "tidy(CampaignCounts)",
    "tidy(Deliveries)",
    // Each store groups the events of a call into rows of its own.
    "tidy(Events)",
    // Memory forgets old ones with each test as well.
    "tidy(TestSends)",
    "tidy(Search)",
    "tidy(Statistics)",
    "address_book_is_empty",
];

/// The store that the first one is compared with.
#[derive(Debug, Clone)]
pub struct Other {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Where its calls run. No call may be made from within.
    pub runtime: Handle,
    /// The option that puts it beside in the command of a run.
    pub option: &'static str,
}

/// The first difference between the answers.
#[derive(Debug, Clone, Default)]
pub struct Difference(Arc<Mutex<Option<String>>>);

impl Difference {
    /// Takes it out.
    pub fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note<A: Answer + fmt::Debug + 'static>(&self, call: &str, first: &A, other: &A) {
        if !first.is_same(other)
            && !are_same_in_any_order(call, first, other)
            && !FREE.contains(&call)
        {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            seen.get_or_insert_with(|| {
                format!("{call} answers {first:#?}\nand of the other store {other:#?}")
            });
        }
    }
}

/// Whether both are the same items, which a store may return in any order.
fn are_same_in_any_order(call: &str, first: &dyn Any, other: &dyn Any) -> bool {
    match call {
        "contacts_among" => are_same_by(first, other, |contact: &Contact| contact.id),
        "sender_name_list(Approved)" => are_same_by(first, other, |name: &SenderName| name.id),
        _ => false,
    }
}

fn are_same_by<T: Clone + PartialEq + 'static, K: Ord>(
    first: &dyn Any,
    other: &dyn Any,
    key: impl Fn(&T) -> K,
) -> bool {
    let items = |answer: &dyn Any| {
        let found = answer.downcast_ref::<Result<Vec<T>, StoreError>>()?;
        let mut found = found.as_ref().ok()?.clone();
        found.sort_by_key(&key);
        Some(found)
    };
    items(first).is_some_and(|found| items(other) == Some(found))
}

/// Two stores in the place of one.
#[derive(Debug)]
pub struct Twin {
    first: Arc<dyn Store>,
    other: Other,
    difference: Difference,
    chance: Chance,
    calls: Arc<Calls>,
}

impl Twin {
    /// Puts `other` beside `first`, whose answers count.
    pub fn new(
        first: Arc<dyn Store>,
        other: Other,
        difference: Difference,
        chance: Chance,
    ) -> Self {
        let Other { store, runtime, option } = other;
        let calls = Arc::new(Calls::default());
        let store = Arc::new(Layered(OwnPositions::new(first.clone(), store, calls.clone())));
        Self { first, other: Other { store, runtime, option }, difference, chance, calls }
    }
}

macro_rules! twin {
    ($($layer:ident {
        $($noun:ident {
            $($name:ident($($arg:ident: $type:ty),*)
                -> $answer:ty $(, of $list:ident)? $(, as $call:expr)?;)*
        })+
    })*) => {
        $($(
            #[async_trait]
            impl $noun for Twin {
                $(
                    async fn $name(&self, $($arg: $type),*) -> $answer {
                        let call = first!($($call,)? stringify!($name));
                        let before = self.chance.mark();
                        let first = self.first.$name($(Clone::clone(&$arg)),*).await;
                        let drawn = self.chance.mark();
                        self.chance.turn_to(&before);
                        let Other { store, runtime, option: _ } = &self.other;
                        let other = runtime.block_on(store.$name($($arg),*));
                        self.chance.turn_to(&drawn);
                        self.difference.note(call, &first, &other);
                        let ended = self.calls.end(&*self.first).await;
                        self.difference.note("the end of a call", &ended, &Ok(()));
                        first
                    }
                )*
            }
        )+)*
    };
}
store_calls!(twin);

#[cfg(test)]
mod tests {
    use sms_core::ids::SenderNameId;

    use super::*;

    #[test]
    fn approved_names_are_compared_in_any_order_and_those_of_a_list_in_theirs() {
        let name = |id: u128| {
            let (account, at) = (AccountId::from_u128(1), Timestamp::from_millis(0));
            let value = "Bistro".parse().unwrap();
            SenderName::requested(SenderNameId::from_u128(id), account, value, None, at)
        };
        let answer =
            |names: &[SenderName]| -> Result<Vec<SenderName>, StoreError> { Ok(names.to_vec()) };
        let both = [name(1), name(2)];
        let turned = [name(2), name(1)];
        for (call, other, is_same) in [
            ("sender_name_list(Approved)", &turned[..], true),
            ("sender_name_list(Approved)", &turned[..1], false),
            ("sender_name_list", &turned[..], false),
        ] {
            let difference = Difference::default();
            difference.note(call, &answer(&both), &answer(other));
            assert_eq!(difference.take().is_none(), is_same, "{call} of {}", other.len());
        }
    }
}
