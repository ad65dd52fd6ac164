//! The keywords of one account, by id and by word.

use std::collections::BTreeMap;

use sms_core::ids::{KeywordId, ListId};
use sms_core::keyword::reply_limit::{RecentReplies, ReplyCount};
use sms_core::keyword::{Keyword, Listening, Word};

/// The keywords of one account.
#[derive(Default)]
pub(crate) struct Keywords {
    pub(crate) by_id: BTreeMap<KeywordId, Keyword>,
    pub(crate) by_word: BTreeMap<Word, KeywordId>,
    /// The automatic replies of each keyword, and under `None` of the account.
    replies: BTreeMap<Option<KeywordId>, RecentReplies>,
}

impl Keywords {
    /// The keyword that matches a word.
    pub(crate) fn listening(&self, word: &Word) -> Option<&Keyword> {
        let keyword = self.by_id.get(self.by_word.get(word)?)?;
        (keyword.listening == Listening::On).then_some(keyword)
    }

    pub(crate) fn put(&mut self, keyword: Keyword) {
        if let Some(before) = self.by_id.get(&keyword.id) {
            self.by_word.remove(&before.word);
        }
        self.by_word.insert(keyword.word.clone(), keyword.id);
        self.by_id.insert(keyword.id, keyword);
    }

    /// Removes a keyword. Returns whether there was one.
    pub(crate) fn remove(&mut self, id: KeywordId) -> bool {
        let removed = self.by_id.remove(&id);
        if let Some(keyword) = &removed {
            self.by_word.remove(&keyword.word);
            self.replies.remove(&Some(id));
        }
        removed.is_some()
    }

    /// The automatic replies of a keyword, or of the account.
    pub(crate) fn replies(&self, of: Option<KeywordId>) -> RecentReplies {
        self.replies.get(&of).cloned().unwrap_or_default()
    }

    pub(crate) fn count(&mut self, counts: impl IntoIterator<Item = ReplyCount>) {
        for ReplyCount { keyword, replies } in counts {
            self.replies.insert(keyword, replies);
        }
    }

    pub(crate) fn clear_list(&mut self, list: ListId) {
        for keyword in self.by_id.values_mut().filter(|one| one.add_to_list_id == Some(list)) {
            keyword.add_to_list_id = None;
        }
    }
}
