//! Accepts an inbound message: finds its account, settles it, and writes its effects.

use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::ids::AccountId;
use sms_core::inbound::{
    InboundFacts, InboundPlan, InboundWrites, OptOutChange, Origin, RoutingFacts, TakenIn, Unrouted,
};
use sms_core::keyword::Keyword;
use sms_core::keyword::reply::{MatchFacts, Matched, Reply, Sender, question};
use sms_core::message::{Body, Message};
use sms_core::number::Holder;
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::text::custom_names;
use sqlx::{PgConnection, Row};

use crate::credits::lock_balances;
use crate::error::{PgError, PgResult};
use crate::new_message::insert_received;
use crate::number::released;
use crate::row::{Read, digits, time, uuid};
use crate::sending::send_within;
use crate::{address_book, conversation, event, keyword, opt_out, reply_count, statistics};

/// Accepts an inbound message for the account it belongs to, or stores it as unrouted.
pub(crate) async fn take(
    connection: &mut PgConnection,
    mut plan: InboundPlan,
) -> PgResult<TakenIn> {
    let facts = routing_facts(connection, &plan).await?;
    if let Some((account, mode)) = plan.owner(facts) {
        return take_in(connection, &mut plan, account, mode).await;
    }
    let unrouted = plan.unrouted();
    insert_unrouted(connection, &unrouted).await?;
    Ok(TakenIn::Unrouted(unrouted))
}

async fn routing_facts(
    connection: &mut PgConnection,
    plan: &InboundPlan,
) -> PgResult<RoutingFacts> {
    let number = sqlx::query("SELECT account_id FROM number WHERE phone = $1")
        .bind(digits(plan.text.to))
        .fetch_optional(&mut *connection)
        .await?;
    let holder = match number {
        None => None,
        Some(row) => Some(row.maybe_id("account_id")?.map_or(Holder::Shared, Holder::Dedicated)),
    };
    let released = released(connection, plan.text.to).await?;
    let last =
        sqlx::query("SELECT account_id, at FROM last_contacted WHERE number = $1 AND person = $2")
            .bind(digits(plan.text.to))
            .bind(digits(plan.text.from.number()))
            .fetch_optional(&mut *connection)
            .await?;
    let last_contacted = last.map(|row| Ok::<_, PgError>((row.id("account_id")?, row.at("at")?)));
    let answered = match plan.origin {
        Origin::Network => None,
        Origin::Answer { to, .. } => {
            let row = sqlx::query("SELECT account_id, mode FROM message WHERE id = $1")
                .bind(uuid(to))
                .fetch_optional(connection)
                .await?;
            row.map(|row| Ok::<_, PgError>((row.id("account_id")?, row.mode("mode")?)))
                .transpose()?
        }
    };
    Ok(RoutingFacts { holder, released, last_contacted: last_contacted.transpose()?, answered })
}

async fn take_in(
    connection: &mut PgConnection,
    plan: &mut InboundPlan,
    account: AccountId,
    mode: Mode,
) -> PgResult<TakenIn> {
    let from = plan.text.from.number();
    let listening = listening(connection, plan, account).await?;
    // With the account locked, no opt-out comes between a send's facts and its commit.
    let balances = lock_balances(connection, [account]).await?;
    let balance = balances.get(&account).map_or(Credits::ZERO, |(balance, _)| *balance);
    let opted_out = sqlx::query("SELECT 1 FROM opt_out WHERE account_id = $1 AND phone = $2")
        .bind(uuid(account))
        .bind(digits(from))
        .fetch_optional(&mut *connection)
        .await?
        .is_some();
    let matched = match listening {
        Some(keyword) => Some(Box::new(match_facts(connection, plan, keyword, balance).await?)),
        None => None,
    };
    let contact = match &matched {
        Some(_) => None,
        None => address_book::read_contacts(connection, account, &[], &[from]).await?.pop(),
    };
    let facts = InboundFacts { account, mode, opted_out, contact, matched };
    let writes = plan.settle(facts);
    write(connection, account, writes).await
}

async fn write(
    connection: &mut PgConnection,
    account: AccountId,
    writes: InboundWrites,
) -> PgResult<TakenIn> {
    let InboundWrites { message, timeline, tally, conversation, opt_out, matched, raised } = writes;
    insert_received(connection, &message, &timeline).await?;
    statistics::count(connection, &tally).await?;
    change_opt_out(connection, account, opt_out).await?;
    conversation::receive(connection, account, conversation).await?;
    let answer = match matched {
        Some(matched) => write_match(connection, account, conversation, *matched).await?,
        None => None,
    };
    event::raise(connection, vec![raised]).await?;
    Ok(TakenIn::of(message, answer))
}

/// The keyword that the message matches. The account's address book stays locked, so that the
/// keyword cannot change.
async fn listening(
    connection: &mut PgConnection,
    plan: &InboundPlan,
    account: AccountId,
) -> PgResult<Option<Keyword>> {
    let Some(word) = plan.word() else { return Ok(None) };
    // Few messages match, and the others need not wait for the lock.
    if keyword::listening(connection, account, &word).await?.is_none() {
        return Ok(None);
    }
    address_book::lock(connection, account).await?;
    keyword::listening(connection, account, &word).await
}

async fn match_facts(
    connection: &mut PgConnection,
    plan: &InboundPlan,
    keyword: Keyword,
    balance: Credits,
) -> PgResult<MatchFacts> {
    let (account, from) = (keyword.account, plan.text.from.number());
    let book = address_book::read_facts(connection, account, &question(&keyword, from)).await?;
    let names = custom_names(keyword.reply.as_ref().map_or("", Body::as_str));
    let used =
        sqlx::query_scalar("SELECT name FROM custom_name WHERE account_id = $1 AND name = ANY($2)")
            .bind(uuid(account))
            .bind(names)
            .fetch_all(&mut *connection)
            .await?;
    let rows = sqlx::query("SELECT phone, route FROM number WHERE phone = ANY($1)")
        .bind([digits(from), digits(plan.text.to)])
        .fetch_all(&mut *connection)
        .await?;
    let (mut sender, mut route) = (Sender::Person, None);
    for row in rows {
        let phone = row.number("phone")?;
        if phone == from {
            sender = Sender::OurNumber;
        }
        if phone == plan.text.to {
            route = row.try_get::<Option<String>, _>("route")?.map(RouteName::new);
        }
    }
    let replied = conversation::replied(connection, account, from).await?;
    let (account_replies, keyword_replies) =
        reply_count::read(connection, account, keyword.id).await?;
    Ok(MatchFacts {
        keyword,
        book,
        custom_names: used.into_iter().collect(),
        route,
        sender,
        replied,
        balance,
        account_replies,
        keyword_replies,
    })
}

/// Writes the effects of a match. Returns the automatic reply, if one is sent.
async fn write_match(
    connection: &mut PgConnection,
    account: AccountId,
    from: E164,
    matched: Matched,
) -> PgResult<Option<Message>> {
    let Matched { keyword, book, reply, paused } = matched;
    keyword::write(connection, &keyword).await?;
    address_book::write(connection, account, book).await?;
    reply_count::write(connection, account, paused.as_slice()).await?;
    let Some(Reply { send, replied, counts }) = reply else { return Ok(None) };
    let sent = send_within(connection, send).await?;
    if sent.is_some() {
        conversation::set_replied(connection, account, from, replied).await?;
        reply_count::write(connection, account, &counts).await?;
    }
    Ok(sent)
}

async fn change_opt_out(
    connection: &mut PgConnection,
    account: AccountId,
    change: OptOutChange,
) -> PgResult<()> {
    match change {
        OptOutChange::Keep => Ok(()),
        OptOutChange::Add(opt_out) => opt_out::insert(connection, account, &opt_out).await,
        OptOutChange::Remove(phone) => {
            let delete = sqlx::query("DELETE FROM opt_out WHERE account_id = $1 AND phone = $2")
                .bind(uuid(account))
                .bind(digits(phone));
            delete.execute(connection).await?;
            Ok(())
        }
    }
}

async fn insert_unrouted(connection: &mut PgConnection, text: &Unrouted) -> PgResult<()> {
    let insert = sqlx::query(
        "INSERT INTO unrouted (id, from_number, to_number, body, encoding, segments, received_at,
             from_name)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(uuid(text.id))
    .bind(digits(text.from.number()))
    .bind(digits(text.to))
    .bind(text.body.as_str())
    .bind(text.encoding.as_str())
    .bind(i32::try_from(text.segments.get()).unwrap_or(i32::MAX))
    .bind(time(text.received_at))
    .bind(text.from.name());
    insert.execute(connection).await?;
    Ok(())
}
