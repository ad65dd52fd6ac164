//! How many automatic replies accounts and their keywords sent lately. The commit of a match reads
//! and writes them with the account locked, so servers that match at once count one after another.

use std::collections::BTreeMap;

use sms_core::ids::{AccountId, KeywordId};
use sms_core::keyword::reply_limit::{RecentReplies, ReplyCount};
use sqlx::{PgConnection, Row};

use crate::error::{PgError, PgResult};
use crate::row::{Read, uuid};

/// Stands for all keywords of an account.
const ALL: KeywordId = KeywordId::from_u128(0);

/// The replies of an account, and of one of its keywords.
pub(crate) async fn read(
    connection: &mut PgConnection,
    account: AccountId,
    keyword: KeywordId,
) -> PgResult<(RecentReplies, RecentReplies)> {
    let rows = sqlx::query(
        "SELECT keyword_id, replies FROM reply_count
         WHERE account_id = $1 AND keyword_id = ANY($2)",
    )
    .bind(uuid(account))
    .bind([uuid(ALL), uuid(keyword)])
    .fetch_all(connection)
    .await?;
    let mut found = BTreeMap::new();
    for row in rows {
        let replies = row.in_table("reply_count", || {
            let text: String = row.try_get("replies")?;
            RecentReplies::of_text(&text).map_err(|_| PgError::invalid("replies"))
        })?;
        found.insert(row.id("keyword_id")?, replies);
    }
    let mut of = |id: KeywordId| found.remove(&id).unwrap_or_default();
    Ok((of(ALL), of(keyword)))
}

/// Stores the replies of an account and of its keywords.
pub(crate) async fn write(
    connection: &mut PgConnection,
    account: AccountId,
    counts: &[ReplyCount],
) -> PgResult<()> {
    if counts.is_empty() {
        return Ok(());
    }
    let keywords = counts.iter().map(|one| uuid(one.keyword.unwrap_or(ALL)));
    let replies = counts.iter().map(|one| one.replies.to_text());
    sqlx::query(
        "INSERT INTO reply_count (account_id, keyword_id, replies)
         SELECT $1, * FROM UNNEST($2::uuid[], $3::text[])
         ON CONFLICT (account_id, keyword_id) DO UPDATE SET replies = excluded.replies",
    )
    .bind(uuid(account))
    .bind(keywords.collect::<Vec<_>>())
    .bind(replies.collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Forgets the replies of a keyword that is deleted.
pub(crate) async fn forget(
    connection: &mut PgConnection,
    account: AccountId,
    keyword: KeywordId,
) -> PgResult<()> {
    let forget = sqlx::query("DELETE FROM reply_count WHERE account_id = $1 AND keyword_id = $2");
    forget.bind(uuid(account)).bind(uuid(keyword)).execute(connection).await?;
    Ok(())
}
