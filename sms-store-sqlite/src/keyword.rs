//! Keywords.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, KeywordId};
use sms_core::keyword::reply_limit::{RecentReplies, ReplyCount};
use sms_core::keyword::save::{KeywordRefused, SaveFacts, SavePlan};
use sms_core::keyword::store::{KeywordStore, ReadsKeywords};
use sms_core::keyword::{Keyword, Listening, Word};
use sms_core::message::Body;
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::version::{Changed, IfVersion};

use crate::SqliteStore;
use crate::address_book::of_account;
use crate::db::Db;
use crate::error::SqlResult;
use crate::page::{before, limit_of};
use crate::row::{Cols, id, maybe_id, maybe_time, time, whole};

/// Stands for all keywords of an account, where their replies are counted.
const ALL_KEYWORDS: KeywordId = KeywordId::from_u128(0);

/// The columns that [`keyword`] reads.
macro_rules! select_keywords {
    () => {
        "SELECT id, account, word, reply, list_id, listening, match_count, last_matched_at, \
         created_at, updated_at FROM keyword "
    };
}

#[async_trait]
impl ReadsKeywords for SqliteStore {
    async fn keyword_get(
        &self,
        account: AccountId,
        of: KeywordId,
    ) -> Result<Option<Keyword>, StoreError> {
        self.look("reading a keyword", move |db| of_account(db, account, |no| get(db, no, of)))
            .await
    }

    async fn keyword_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Keyword>, StoreError> {
        let rows = self.read("listing keywords", move |db| {
            of_account(db, account, |no| {
                db.all(
                    concat!(
                        select_keywords!(),
                        "WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
                    ),
                    params![no, before(page), limit_of(page)],
                    |c| keyword(db, c),
                )
            })
        });
        Ok(Page::of(rows.await?, page.limit, |keyword: &Keyword| keyword.id))
    }
}

#[async_trait]
impl KeywordStore for SqliteStore {
    async fn keyword_save(
        &self,
        plan: SavePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Keyword>, CommitError<KeywordRefused>> {
        self.once("saving a keyword", claim, move |db| {
            let no = db.known_account(plan.account)?;
            let mut list = plan.list();
            if let Some(of) = list
                && !db.has_list(no, of)?
            {
                list = None;
            }
            let holder = match plan.word() {
                Some(word) => db.keyword_with(no, word)?.map(|keyword| keyword.id),
                None => None,
            };
            let facts = SaveFacts { current: get(db, no, plan.id)?, holder, list };
            match plan.clone().settle(facts) {
                Ok(keyword) => {
                    db.put_keyword(&keyword)?;
                    Ok(Ok(keyword))
                }
                Err(refused) => Ok(Err(refused)),
            }
        })
        .await
    }

    async fn keyword_delete(
        &self,
        account: AccountId,
        of: KeywordId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        self.decide("deleting a keyword", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Ok(false)) };
            if let Err(changed) = db.check_removal(&if_version, |db| get(db, no, of))? {
                return Ok(Err(CommitError::Refused(changed)));
            }
            let counts = "DELETE FROM reply_count WHERE account = ?1 AND keyword = ?2";
            db.run(counts, params![no, id(of)])?;
            let delete = "DELETE FROM keyword WHERE account = ?1 AND id = ?2";
            Ok(Ok(db.run(delete, params![no, id(of)])? == 1))
        })
        .await
    }
}

fn get(db: &Db, account: i64, of: KeywordId) -> SqlResult<Option<Keyword>> {
    let query = concat!(select_keywords!(), "WHERE account = ?1 AND id = ?2");
    db.one(query, params![account, id(of)], |c| keyword(db, c))
}

impl Db {
    /// The keyword with this word, whether it listens or not.
    pub(crate) fn keyword_with(&self, account: i64, word: &Word) -> SqlResult<Option<Keyword>> {
        let query = concat!(select_keywords!(), "WHERE account = ?1 AND word = ?2");
        self.one(query, params![account, word.as_str()], |c| keyword(self, c))
    }

    /// The automatic replies of a keyword, or of the account.
    pub(crate) fn recent_replies(
        &self,
        account: i64,
        keyword: Option<KeywordId>,
    ) -> SqlResult<RecentReplies> {
        let replies = self.one(
            "SELECT replies FROM reply_count WHERE account = ?1 AND keyword = ?2",
            params![account, id(keyword.unwrap_or(ALL_KEYWORDS))],
            |c| c.map(|text: String| RecentReplies::of_text(&text).ok()),
        )?;
        Ok(replies.unwrap_or_default())
    }

    pub(crate) fn count_replies(&self, account: i64, counts: &[ReplyCount]) -> SqlResult<()> {
        for ReplyCount { keyword, replies } in counts {
            self.run(
                "INSERT INTO reply_count (account, keyword, replies) VALUES (?1, ?2, ?3)
                 ON CONFLICT (account, keyword) DO UPDATE SET replies = ?3",
                params![account, id(keyword.unwrap_or(ALL_KEYWORDS)), replies.to_text()],
            )?;
        }
        Ok(())
    }

    /// Writes a keyword, new or not.
    pub(crate) fn put_keyword(&self, keyword: &Keyword) -> SqlResult<()> {
        let Keyword {
            id: of,
            account,
            word,
            reply,
            add_to_list_id,
            listening,
            match_count,
            last_matched_at,
            created_at,
            updated_at,
        } = keyword;
        self.run(
            "INSERT INTO keyword (account, id, word, reply, list_id, listening, match_count,
                 last_matched_at, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (account, id) DO UPDATE SET word = ?3, reply = ?4, list_id = ?5,
                 listening = ?6, match_count = ?7, last_matched_at = ?8, updated_at = ?10",
            params![
                self.known_account(*account)?,
                id(*of),
                word.as_str(),
                reply.as_ref().map(Body::as_str),
                maybe_id(*add_to_list_id),
                *listening == Listening::On,
                whole(*match_count),
                maybe_time(*last_matched_at),
                time(*created_at),
                time(*updated_at)
            ],
        )?;
        Ok(())
    }
}

fn keyword(db: &Db, c: &mut Cols<'_>) -> SqlResult<Keyword> {
    Ok(Keyword {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        word: c.name()?,
        reply: c.maybe(|text: String| Some(Body::new(text)))?,
        add_to_list_id: c.maybe_id()?,
        listening: if c.yes()? { Listening::On } else { Listening::Off },
        match_count: c.whole()?,
        last_matched_at: c.maybe_at()?,
        created_at: c.at()?,
        updated_at: c.at()?,
    })
}
