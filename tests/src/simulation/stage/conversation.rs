//! Conversations on the stage.

use super::Stage;
use crate::layer::prelude::*;
use crate::layer::{ConversationLayer, Layer};

impl ConversationLayer for Stage {
    async fn conversation_read(
        &self,
        account: AccountId,
        number: E164,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        self.before("conversation_read").await;
        let answer = self.inner.conversation_read(account, number, at).await?;
        self.after(|model, moment| {
            model.saw_conversation_read(moment, account, number, at, answer)
        })
        .await;
        Ok(answer)
    }
}
