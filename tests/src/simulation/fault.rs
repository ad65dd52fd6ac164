//! A store that is sometimes unreachable, before or after a call has taken effect, so that the
//! caller cannot know which.
//!
//! It wraps the stage: the model sees what was committed, and the service sees the error.

use std::fmt;
use std::sync::Arc;

use sms_core::store::Store;

use super::trace::Detail;
use super::world::World;
use crate::layer::{Layer, Pass, passes_on};

/// A store that fails when the dice of its world say so.
pub struct Shaky {
    world: Arc<World>,
    inner: Arc<dyn Store>,
}

impl fmt::Debug for Shaky {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shaky").field(&self.inner).finish()
    }
}

impl Shaky {
    /// Wraps `inner` with the failures of `world`.
    pub fn new(world: Arc<World>, inner: Arc<dyn Store>) -> Self {
        Self { world, inner }
    }

    fn draw(&self, word: &'static str, call: &'static str) -> Pass {
        if !self.world.store_fails() {
            return Pass::Through;
        }
        self.world.note(word, Detail::Name(call));
        Pass::Fails
    }
}

impl Layer for Shaky {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    async fn before(&self, call: &'static str) -> Pass {
        self.draw("is refused", call)
    }

    fn answered(&self, call: &'static str) -> Pass {
        self.draw("hears nothing of", call)
    }
}

passes_on! {
    Shaky:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer EventLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer
    ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}
