//! Facts that every send is settled on, which the writer knows without reading them.
//!
//! Nobody else writes to the file. So what the writer has read stays true until a statement of its
//! own changes it, and triggers note each change that could make a verdict wrong. Thus no command
//! has to say what it changes, and each sees what the ones before it wrote, in the same transaction
//! too. Readers know nothing in advance: they see other states.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use sms_core::account::AccountStatus;
use sms_core::credits::Credits;
use sms_core::ids::AccountId;
use sms_core::number::Number;
use sms_core::phone::E164;

use crate::error::SqlResult;

/// The most accounts and numbers to know. When there are more, all are forgotten.
const MOST: usize = 10_000;

/// What a send needs to know of its account.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) no: i64,
    pub(crate) status: AccountStatus,
    pub(crate) balance: Credits,
    /// The position of the last entry in its ledger.
    pub(crate) ledger_seq: i64,
    /// Whether people may have opted out. If so, they have to be looked up one by one.
    pub(crate) has_opt_outs: bool,
    /// Whether it may have conversations.
    pub(crate) has_conversations: bool,
}

#[derive(Default)]
pub(crate) struct Known {
    /// How many changes the triggers noted.
    changes: Arc<AtomicU64>,
    /// How many they had noted when the facts were true.
    seen: Cell<u64>,
    accounts: RefCell<HashMap<AccountId, Standing>>,
    numbers: RefCell<HashMap<E164, Number>>,
}

impl Known {
    /// Has the writer's connection note when it changes a fact.
    ///
    /// Balances need no trigger: `Db::book` alone changes them, and says so. New numbers need none
    /// either, nor do opt-outs and conversations that end: then a look-up finds nothing.
    pub(crate) fn watch(writer: &Connection) -> SqlResult<Self> {
        let known = Self::default();
        let changes = Arc::clone(&known.changes);
        writer.create_scalar_function(
            "fact_changed",
            0,
            FunctionFlags::SQLITE_UTF8,
            move |_| {
                changes.fetch_add(1, Ordering::Relaxed);
                Ok(Option::<i64>::None)
            },
        )?;
        writer.execute_batch(
            "CREATE TEMP TRIGGER standing_updated AFTER UPDATE OF status ON main.account
                 BEGIN SELECT fact_changed(); END;
             CREATE TEMP TRIGGER opt_out_inserted AFTER INSERT ON main.opt_out
                 BEGIN SELECT fact_changed(); END;
             CREATE TEMP TRIGGER conversation_inserted AFTER INSERT ON main.conversation
                 BEGIN SELECT fact_changed(); END;
             CREATE TEMP TRIGGER known_number_updated AFTER UPDATE ON main.number
                 BEGIN SELECT fact_changed(); END;
             CREATE TEMP TRIGGER known_number_deleted AFTER DELETE ON main.number
                 BEGIN SELECT fact_changed(); END;",
        )?;
        Ok(known)
    }

    /// Forgets everything, as after a transaction that was rolled back.
    pub(crate) fn forget(&self) {
        self.accounts.borrow_mut().clear();
        self.numbers.borrow_mut().clear();
    }

    pub(crate) fn standing(&self, account: AccountId) -> Option<Standing> {
        self.refresh();
        self.accounts.borrow().get(&account).copied()
    }

    pub(crate) fn learn_standing(&self, account: AccountId, standing: Standing) {
        self.accounts.borrow_mut().insert(account, standing);
    }

    /// The number with these digits, if it is known.
    pub(crate) fn number(&self, phone: E164) -> Option<Number> {
        self.refresh();
        self.numbers.borrow().get(&phone).cloned()
    }

    pub(crate) fn learn_number(&self, number: Number) {
        self.numbers.borrow_mut().insert(number.phone, number);
    }

    /// Forgets everything if something changed, or if it is too much.
    fn refresh(&self) {
        let changes = self.changes.load(Ordering::Relaxed);
        let size = self.accounts.borrow().len() + self.numbers.borrow().len();
        if self.seen.replace(changes) != changes || size > MOST {
            self.forget();
        }
    }
}
