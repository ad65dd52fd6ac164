//! Conversations and keywords: no check depends on them yet.

use sms_core::conversation::store::ConversationStore;
use sms_core::conversation::{Conversation, ConversationFilter};
use sms_core::ids::{AccountId, KeywordId};
use sms_core::keyword::Keyword;
use sms_core::keyword::save::{KeywordRefused, SavePlan};
use sms_core::keyword::store::KeywordStore;
use sms_core::page::{Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use super::Stage;
use crate::simulation::forward::forward;

forward! {
    impl ConversationStore for Stage {
        conversation_list(account: AccountId, filter: &ConversationFilter, page: PageRequest)
            -> Result<Page<Conversation>, StoreError>;
        unread_total(account: AccountId) -> Result<u64, StoreError>;
        conversation_read(account: AccountId, number: E164, at: Timestamp)
            -> Result<Option<u64>, StoreError>;
    }
}

forward! {
    impl KeywordStore for Stage {
        keyword_save(plan: SavePlan) -> Result<Keyword, CommitError<KeywordRefused>>;
        keyword_get(account: AccountId, id: KeywordId) -> Result<Option<Keyword>, StoreError>;
        keyword_list(account: AccountId, page: PageRequest) -> Result<Page<Keyword>, StoreError>;
        keyword_delete(account: AccountId, id: KeywordId) -> Result<bool, StoreError>;
    }
}
