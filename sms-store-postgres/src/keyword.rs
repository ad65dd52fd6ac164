//! Keywords. They name lists, so all their changes lock the account's address book.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, KeywordId, KeywordKind, ListId};
use sms_core::keyword::save::{KeywordRefused, SaveFacts, SavePlan};
use sms_core::keyword::store::{KeywordStore, ReadsKeywords};
use sms_core::keyword::{Keyword, Listening, Word};
use sms_core::message::Body;
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::version::{Changed, IfVersion};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::begin::give_up;
use crate::error::{Context, PgError, PgResult};
use crate::row::{Read, time, uuid};
use crate::{PgStore, reply_count};

/// The columns of a keyword.
macro_rules! keyword_columns {
    () => {
        "id, account_id, word, reply, add_to_list_id, enabled, match_count, last_matched_at, \
         created_at, updated_at"
    };
}

fn keyword(row: &PgRow) -> PgResult<Keyword> {
    row.in_table("keyword", || {
        let count: i64 = row.try_get("match_count")?;
        let is_on: bool = row.try_get("enabled")?;
        Ok(Keyword {
            id: row.id("id")?,
            account: row.id("account_id")?,
            word: row.name("word")?,
            reply: row.try_get::<Option<String>, _>("reply")?.map(Body::new),
            add_to_list_id: row.maybe_id("add_to_list_id")?,
            listening: if is_on { Listening::On } else { Listening::Off },
            match_count: u64::try_from(count).map_err(|_| PgError::invalid("match_count"))?,
            last_matched_at: row.maybe_at("last_matched_at")?,
            created_at: row.at("created_at")?,
            updated_at: row.at("updated_at")?,
        })
    })
}

/// The enabled keyword with this word. A caller that then counts a match holds the address book's
/// lock.
pub(crate) async fn listening(
    connection: &mut PgConnection,
    account: AccountId,
    word: &Word,
) -> PgResult<Option<Keyword>> {
    let row = sqlx::query(concat!(
        "SELECT ",
        keyword_columns!(),
        " FROM keyword WHERE account_id = $1 AND word = $2 AND enabled"
    ))
    .bind(uuid(account))
    .bind(word.as_str())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(keyword).transpose()
}

/// Inserts or updates a keyword.
pub(crate) async fn write(connection: &mut PgConnection, keyword: &Keyword) -> PgResult<()> {
    let Keyword {
        id,
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
    let write = sqlx::query(
        "INSERT INTO keyword (account_id, id, word, reply, add_to_list_id, enabled, match_count,
             last_matched_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (account_id, id) DO UPDATE
         SET word = excluded.word, reply = excluded.reply,
             add_to_list_id = excluded.add_to_list_id, enabled = excluded.enabled,
             match_count = excluded.match_count, last_matched_at = excluded.last_matched_at,
             updated_at = excluded.updated_at",
    )
    .bind(uuid(*account))
    .bind(uuid(*id))
    .bind(word.as_str())
    .bind(reply.as_ref().map(Body::as_str))
    .bind(add_to_list_id.map(uuid))
    .bind(*listening == Listening::On)
    .bind(i64::try_from(*match_count).unwrap_or(i64::MAX))
    .bind(last_matched_at.map(time))
    .bind(time(*created_at))
    .bind(time(*updated_at));
    write.execute(connection).await?;
    Ok(())
}

/// Clears a removed list from the keywords that name it. The address book is locked.
pub(crate) async fn clear_list(
    connection: &mut PgConnection,
    account: AccountId,
    list: ListId,
) -> PgResult<()> {
    let clear = sqlx::query(
        "UPDATE keyword SET add_to_list_id = NULL WHERE account_id = $1 AND add_to_list_id = $2",
    );
    clear.bind(uuid(account)).bind(uuid(list)).execute(connection).await?;
    Ok(())
}

const GET: &str =
    concat!("SELECT ", keyword_columns!(), " FROM keyword WHERE account_id = $1 AND id = $2");

async fn read_facts(connection: &mut PgConnection, plan: &SavePlan) -> PgResult<SaveFacts> {
    let account = uuid(plan.account);
    let query = sqlx::query(GET).bind(account).bind(uuid(plan.id));
    let current = query.fetch_optional(&mut *connection).await?;
    let holder = sqlx::query("SELECT id FROM keyword WHERE account_id = $1 AND word = $2")
        .bind(account)
        .bind(plan.word().map(Word::as_str))
        .fetch_optional(&mut *connection)
        .await?;
    let list = sqlx::query("SELECT id FROM contact_list WHERE account_id = $1 AND id = $2")
        .bind(account)
        .bind(plan.list().map(uuid))
        .fetch_optional(connection)
        .await?;
    Ok(SaveFacts {
        current: current.as_ref().map(keyword).transpose()?,
        holder: holder.map(|row| row.id("id")).transpose()?,
        list: list.map(|row| row.id("id")).transpose()?,
    })
}

#[async_trait]
impl ReadsKeywords for PgStore {
    async fn keyword_get(
        &self,
        account: AccountId,
        id: KeywordId,
    ) -> Result<Option<Keyword>, StoreError> {
        let doing = "reading a keyword";
        let query = sqlx::query(GET).bind(uuid(account)).bind(uuid(id));
        let row = query.fetch_optional(&self.pool).await.context(doing)?;
        row.as_ref().map(keyword).transpose().context(doing)
    }

    async fn keyword_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Keyword>, StoreError> {
        let doing = "listing keywords";
        let rows = sqlx::query(concat!(
            "SELECT ",
            keyword_columns!(),
            " FROM keyword WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ))
        .bind(uuid(account))
        .bind(page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<KeywordKind>())))
        .bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let rows: PgResult<Vec<Keyword>> = rows.iter().map(keyword).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |keyword: &Keyword| keyword.id))
    }
}

#[async_trait]
impl KeywordStore for PgStore {
    async fn keyword_save(
        &self,
        plan: SavePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Keyword>, CommitError<KeywordRefused>> {
        let doing = "saving a keyword";
        let mut tx = self.begin_book(plan.account).await.context(doing)?;
        let facts = read_facts(&mut tx, &plan).await.context(doing)?;
        let keyword = match plan.settle(facts) {
            Ok(keyword) => keyword,
            Err(refused) => {
                drop(tx);
                return self.refused(claim, CommitError::Refused(refused)).await;
            }
        };
        write(&mut tx, &keyword).await.context(doing)?;
        Ok(self.conclude(tx, claim, keyword).await.context(doing)?)
    }

    async fn keyword_delete(
        &self,
        account: AccountId,
        id: KeywordId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let doing = "deleting a keyword";
        // Locks as a match does, which would otherwise write the keyword again.
        let mut tx = self.begin_book(account).await.context(doing)?;
        if !if_version.is_any() {
            let query = sqlx::query(GET).bind(uuid(account)).bind(uuid(id));
            let row = query.fetch_optional(&mut *tx).await.context(doing)?;
            let Some(row) = row else { return Ok(give_up(tx, false).await) };
            if let Err(changed) = if_version.check(&keyword(&row).context(doing)?) {
                return Err(give_up(tx, CommitError::Refused(changed)).await);
            }
        }
        let deleted = sqlx::query("DELETE FROM keyword WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .execute(&mut *tx)
            .await
            .context(doing)?;
        reply_count::forget(&mut tx, account, id).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(deleted.rows_affected() == 1)
    }
}
