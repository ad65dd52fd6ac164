//! What an inbound message that starts with a keyword triggers: the sender becomes a contact, joins
//! the keyword's list, and gets a reply.
//!
//! Another machine may answer the reply, and that answer may match again. To prevent loops, an
//! account sends at most [`MOST_REPLIES`] automatic replies to one number in any hour, and none to
//! the operator's own numbers. [`reply_limit`](super::reply_limit) bounds the replies to all
//! numbers.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Keyword;
use super::reply_limit::{Ask, RecentReplies, ReplyCount, ReplyLimits, Verdict};
use crate::account::settings::Settings;
use crate::contact::book::{BookChange, BookFacts, BookPlan, BookQuestion, CreatePlan};
use crate::contact::saved::{Contact, Details};
use crate::credits::Credits;
use crate::event::replies_paused::RepliesPaused;
use crate::ids::Ids;
use crate::link::LinkBase;
use crate::list::join::JoinPlan;
use crate::mode::Mode;
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::sending::facts::{Codes, PlanFacts, Shortening};
use crate::sending::plan::{SendPlan, plan};
use crate::sending::recipients::Recipients;
use crate::sending::request::SendRequest;
use crate::time::Timestamp;

/// The maximum number of automatic replies from an account to one number within [`REPLY_WINDOW`].
pub const MOST_REPLIES: usize = 10;
/// The period in which automatic replies are counted: one hour.
pub const REPLY_WINDOW: Duration = Duration::from_hours(1);

/// Whether the sender of a message may get an automatic reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A number that is not the operator's.
    Person,
    /// One of the operator's own numbers, which gets no reply.
    OurNumber,
}

/// The facts on which a match depends, read with the account and its address book locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchFacts {
    /// The account's keyword that the message starts with; its `listening` is
    /// [`On`](super::Listening::On).
    pub keyword: Keyword,
    /// The answer to [`question`].
    pub book: BookFacts,
    /// The custom names in the reply that contacts of the account use.
    pub custom_names: BTreeSet<String>,
    /// The route of the number that received the message; `None` if the number names no route.
    pub route: Option<RouteName>,
    /// Who sent the message.
    pub sender: Sender,
    /// When the account last replied automatically to this number.
    pub replied: Vec<Timestamp>,
    /// The account's balance before the reply is charged for.
    pub balance: Credits,
    /// The automatic replies of the account.
    pub account_replies: RecentReplies,
    /// The automatic replies of this keyword.
    pub keyword_replies: RecentReplies,
}

/// What a match needs to know about the address book.
pub fn question(keyword: &Keyword, from: E164) -> BookQuestion {
    let list = keyword.add_to_list_id;
    BookQuestion { phones: vec![from], list, ..BookQuestion::default() }
}

/// What a store writes for a match, together with the message that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the store must write this verdict"]
pub struct Matched {
    /// The keyword after the match.
    pub keyword: Keyword,
    /// The change of the address book.
    pub book: BookChange,
    /// The automatic reply; `None` if none is sent.
    pub reply: Option<Reply>,
    /// To store if replies pause from now on.
    pub paused: Option<ReplyCount>,
}

/// An automatic reply, which is a send like any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The send, settled like any other in the same commit, after everything else about the message
    /// is written. If it is refused, the reply is not sent and no error is reported.
    pub send: SendPlan,
    /// To store for the number once the send is accepted; becomes [`MatchFacts::replied`] of the
    /// next match.
    pub replied: Vec<Timestamp>,
    /// To store once the send is accepted; empty for a test message, which does not count.
    pub counts: Vec<ReplyCount>,
}

/// The inbound message that matched.
pub(crate) struct Occasion<'a> {
    pub from: E164,
    pub to: E164,
    pub route: &'a RouteName,
    pub mode: Mode,
    pub opted_out: bool,
    pub validity: Duration,
    pub limits: &'a ReplyLimits,
    pub at: Timestamp,
}

/// What a match triggers.
pub(crate) struct Triggered {
    /// What a store writes.
    pub matched: Matched,
    /// The sender as a contact.
    pub contact: Option<Contact>,
    /// The event for the account, if replies pause from now on.
    pub paused: Option<RepliesPaused>,
}

/// What a match triggers. Only UK mobile numbers become contacts and
/// get replies, because only they can be texted.
pub(crate) fn settle(occasion: &Occasion<'_>, facts: &MatchFacts, ids: &mut Ids) -> Triggered {
    let keyword = facts.keyword.clone().matched(occasion.at);
    let known = facts.book.contacts.iter().find(|known| known.phone == occasion.from).cloned();
    if !occasion.from.is_uk_mobile() {
        let matched = Matched { keyword, book: BookChange::default(), reply: None, paused: None };
        return Triggered { matched, contact: known, paused: None };
    }
    let book = welcome(occasion, facts, ids);
    let contact = known.or_else(|| book.created.first().cloned());
    let reply = contact.clone().and_then(|contact| answer(occasion, facts, contact, ids));
    let (reply, paused, told) = match reply.map(|reply| within_limits(occasion, facts, reply)) {
        None => (None, None, None),
        Some(Ok(reply)) => (Some(reply), None, None),
        Some(Err(pause)) => {
            let (paused, told) = pause.map(|begun| *begun).unzip();
            (None, paused, told)
        }
    };
    Triggered { matched: Matched { keyword, book, reply, paused }, contact, paused: told }
}

/// The reply with the counts that it changes; else the pause that begins with it, if none was
/// under way.
fn within_limits(
    occasion: &Occasion<'_>,
    facts: &MatchFacts,
    reply: Reply,
) -> Result<Reply, Option<Box<(ReplyCount, RepliesPaused)>>> {
    // Test messages are free, and have a limit of their own.
    if occasion.mode.is_test() {
        return Ok(reply);
    }
    let ask = Ask {
        limits: occasion.limits,
        keyword: (facts.keyword.id, facts.keyword.word.as_str()),
        account_replies: &facts.account_replies,
        keyword_replies: &facts.keyword_replies,
        balance: facts.balance,
        cost: reply.send.charge,
        at: occasion.at,
    };
    match ask.verdict() {
        Verdict::Send(counts) => Ok(Reply { counts: counts.into(), ..reply }),
        Verdict::Pause(count, told) => Err(Some(Box::new((count, told)))),
        Verdict::Silent => Err(None),
    }
}

/// Makes the sender a contact, on the keyword's list if it has one.
fn welcome(occasion: &Occasion<'_>, facts: &MatchFacts, ids: &mut Ids) -> BookChange {
    let (account, phone, at) = (facts.keyword.account, occasion.from, occasion.at);
    if let Some(list) = facts.keyword.add_to_list_id {
        let own = ids.clone();
        // The plan draws at most one id from its copy of the run.
        let _: crate::ids::ContactId = ids.next();
        let (contacts, phones) = (Vec::new(), vec![phone]);
        let join = JoinPlan { account, list, contacts, phones, ids: own, at };
        if let Ok((change, _)) = join.settle(&facts.book) {
            return change;
        }
    }
    let create = CreatePlan { account, id: ids.next(), phone, details: Details::default(), at };
    // Refused if the sender is already a contact.
    create.settle(&facts.book).map(|(change, _)| change).unwrap_or_default()
}

/// The reply as a send, if the keyword has a reply and it may be sent.
fn answer(
    occasion: &Occasion<'_>,
    facts: &MatchFacts,
    contact: Contact,
    ids: &mut Ids,
) -> Option<Reply> {
    let words = facts.keyword.reply.as_ref()?.as_str();
    if occasion.opted_out || facts.sender == Sender::OurNumber {
        return None;
    }
    let replied = after_another(&facts.replied, occasion.at)?;
    let request = SendRequest::new(words);
    let mut recipients = Recipients::default();
    // Whether the sender has opted out is known from the moment of the message.
    recipients.add(Contact { opted_out: false, ..contact });
    let test_route = RouteName::test();
    let route = match occasion.mode {
        Mode::Test => &test_route,
        Mode::Live => facts.route.as_ref().unwrap_or(occasion.route),
    };
    let plan_facts = PlanFacts {
        account: facts.keyword.account,
        // The settings hold the opt-out lines, which replies do not have.
        settings: &Settings::default(),
        mode: occasion.mode,
        body: words,
        from: occasion.to,
        sender: None,
        route,
        custom_names: &facts.custom_names,
        // Links in a reply are not shortened.
        shortening: Shortening { base: &LinkBase::default(), codes: Codes::Placeholder },
        validity: occasion.validity,
        at: occasion.at,
    };
    let send = plan(&request, recipients, plan_facts, ids);
    // No message: with its fields filled, the reply is too long or blank.
    (!send.messages.is_empty()).then_some(Reply { send, replied, counts: Vec::new() })
}

/// The replies of the last hour and one more at `at`; `None` if the limit is reached.
fn after_another(replied: &[Timestamp], at: Timestamp) -> Option<Vec<Timestamp>> {
    let recent = replied.iter().filter(|earlier| at.since(**earlier) < REPLY_WINDOW);
    let mut recent: Vec<Timestamp> = recent.copied().collect();
    if recent.len() >= MOST_REPLIES {
        return None;
    }
    recent.push(at);
    Some(recent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::num::NonZeroU32;

    use super::*;
    use crate::contact::custom::CustomValue;
    use crate::ids::ListId;
    use crate::keyword::reply_limit::{BalanceShare, ReplyRate};
    use crate::keyword::save::tests::keyword;
    use crate::message::Body;
    use crate::samples::{account_id, contact, credits, ids, millis, now, our_number, person};

    const LIMITS: ReplyLimits = ReplyLimits {
        account: ReplyRate { per_minute: ONE, per_hour: ONE },
        keyword: ReplyRate { per_minute: ONE, per_hour: ONE },
        balance: BalanceShare::WHOLE,
    };
    const ONE: NonZeroU32 = NonZeroU32::new(1).unwrap();

    fn facts() -> MatchFacts {
        MatchFacts {
            keyword: keyword(),
            book: BookFacts::default(),
            custom_names: BTreeSet::new(),
            route: None,
            sender: Sender::Person,
            replied: Vec::new(),
            balance: credits(100),
            account_replies: RecentReplies::default(),
            keyword_replies: RecentReplies::default(),
        }
    }

    fn known() -> BookFacts {
        BookFacts { contacts: vec![contact()], ..BookFacts::default() }
    }

    fn occasion(route: &RouteName) -> Occasion<'_> {
        Occasion {
            from: person(),
            to: our_number(),
            route,
            mode: Mode::Live,
            opted_out: false,
            validity: Duration::from_hours(24),
            limits: &LIMITS,
            at: now(),
        }
    }

    fn settle_with(occasion: &Occasion<'_>, facts: &MatchFacts) -> (Matched, Option<Contact>) {
        let Triggered { matched, contact, paused } = settle(occasion, facts, &mut ids());
        assert_eq!(paused.is_some(), matched.paused.is_some());
        (matched, contact)
    }

    fn settled(facts: &MatchFacts) -> (Matched, Option<Contact>) {
        settle_with(&occasion(&RouteName::new("simulator")), facts)
    }

    fn reply_of(facts: &MatchFacts) -> Option<Reply> {
        settled(facts).0.reply
    }

    #[test]
    fn a_match_is_counted_creates_a_contact_and_is_answered_from_the_number_texted() {
        let (matched, contact) = settled(&facts());
        assert_eq!(matched.keyword, keyword().matched(now()));
        let contact = contact.unwrap();
        assert_eq!((contact.phone, contact.account), (person(), account_id()));
        assert_eq!(matched.book.created, std::slice::from_ref(&contact));
        assert_eq!(matched.book.joined, None);
        let Reply { send, replied, counts } = matched.reply.unwrap();
        let counted: Vec<_> = counts.iter().map(|count| count.keyword).collect();
        assert_eq!(counted, [None, Some(keyword().id)]);
        assert_eq!(replied, [now()]);
        let text = &send.messages[0];
        assert_eq!((text.from, text.to, text.body.as_str()), (our_number(), person(), "Yum"));
        assert_eq!((text.contact_id, text.route.as_str()), (Some(contact.id), "simulator"));
        assert_eq!((send.charge.get(), send.messages.len(), send.idempotency), (1, 1, None));
    }

    #[test]
    fn a_sender_who_is_a_contact_is_unchanged_and_joins_the_list_once() {
        let (matched, contact_now) = settled(&MatchFacts { book: known(), ..facts() });
        assert_eq!(matched.book, BookChange::default());
        assert_eq!(contact_now, Some(contact()));
        let list = ListId::from_u128(7);
        let with_list = Keyword { add_to_list_id: Some(list), ..keyword() };
        for (contacts, members, joins) in [
            (vec![], vec![], true),
            (vec![contact()], vec![], true),
            (vec![contact()], vec![contact().id], false),
        ] {
            let members = Some(members.into_iter().collect());
            let book = BookFacts { contacts, members, ..BookFacts::default() };
            let facts = MatchFacts { keyword: with_list.clone(), book, ..facts() };
            let (matched, contact) = settled(&facts);
            let (on, who) = matched.book.joined.clone().unwrap();
            assert_eq!((on, !who.is_empty()), (list, joins));
            assert!(who.iter().all(|id| Some(*id) == contact.as_ref().map(|one| one.id)));
        }
        // The sender becomes a contact even if the list is gone.
        let (matched, _) = settled(&MatchFacts { keyword: with_list, ..facts() });
        assert_eq!((matched.book.created.len(), matched.book.joined), (1, None));
    }

    #[test]
    fn opted_out_senders_our_numbers_and_keywords_without_a_reply_get_no_answer() {
        let none = Keyword { reply: None, ..keyword() };
        assert_eq!(reply_of(&MatchFacts { keyword: none, ..facts() }), None);
        assert_eq!(reply_of(&MatchFacts { sender: Sender::OurNumber, ..facts() }), None);
        let route = RouteName::new("simulator");
        let opted_out = Occasion { opted_out: true, ..occasion(&route) };
        let (matched, contact) = settle_with(&opted_out, &facts());
        assert_eq!((matched.reply, matched.book.created.len()), (None, 1));
        assert!(contact.is_some());
    }

    #[test]
    fn a_number_that_cannot_be_texted_becomes_no_contact_and_gets_no_answer() {
        let from = "+442079460123".parse().unwrap();
        let route = RouteName::new("simulator");
        let (matched, contact) = settle_with(&Occasion { from, ..occasion(&route) }, &facts());
        assert_eq!((matched.keyword.match_count, contact), (1, None));
        assert_eq!((matched.book, matched.reply), (BookChange::default(), None));
    }

    #[test]
    fn a_reply_is_filled_from_the_contact_and_not_sent_if_too_long_or_blank() {
        let mut ann = contact();
        ann.details.first_name = Some("Ann".to_owned());
        ann.details.custom = [("points".to_owned(), CustomValue::Number(5.into()))].into();
        let sent = |words: &str| {
            let reply = Some(Body::new(words));
            let book = BookFacts { contacts: vec![ann.clone()], ..BookFacts::default() };
            let custom_names = ["points".to_owned()].into();
            let keyword = Keyword { reply, ..keyword() };
            let reply = reply_of(&MatchFacts { keyword, book, custom_names, ..facts() })?;
            Some(reply.send.messages[0].body.as_str().to_owned())
        };
        assert_eq!(sent("Hi {first_name}, {points} {x}").as_deref(), Some("Hi Ann, 5 {x}"));
        assert_eq!(sent("{last_name}"), None);
        assert!(sent(&"д".repeat(700)).is_some());
        assert_eq!(sent(&"д".repeat(701)), None);
    }

    #[test]
    fn a_reply_takes_the_route_of_its_number_or_else_of_the_inbound_message() {
        let route = Some(RouteName::new("second"));
        let of = |facts: MatchFacts| {
            reply_of(&facts).unwrap().send.messages[0].route.as_str().to_owned()
        };
        assert_eq!(of(MatchFacts { route, ..facts() }), "second");
        assert_eq!(of(facts()), "simulator");
    }

    #[test]
    fn a_test_message_is_answered_by_a_test_message() {
        let route = RouteName::new("test");
        let test = Occasion { mode: Mode::Test, ..occasion(&route) };
        // It costs nothing, and the bounds on replies do not count it.
        let Reply { send, counts, .. } =
            settle_with(&test, &MatchFacts { balance: credits(0), ..facts() }).0.reply.unwrap();
        assert_eq!(counts, []);
        assert_eq!((send.mode, send.charge.get()), (Mode::Test, 0));
        assert_eq!(send.messages[0].route, RouteName::test());
    }

    #[test]
    fn beyond_its_bound_a_match_counts_and_is_not_answered_and_the_pause_is_told_once() {
        let (first, _) = settled(&facts());
        let [account_replies, keyword_replies] =
            <[ReplyCount; 2]>::try_from(first.reply.unwrap().counts)
                .unwrap()
                .map(|one| one.replies);
        let facts = MatchFacts { account_replies, keyword_replies, ..facts() };
        let route = RouteName::new("simulator");
        let Triggered { matched, contact, paused } = settle(&occasion(&route), &facts, &mut ids());
        assert_eq!((matched.keyword.match_count, matched.book.created.len()), (1, 1));
        assert!(contact.is_some() && matched.reply.is_none());
        let account_replies = matched.paused.unwrap().replies;
        assert_eq!(paused.unwrap().limit, 1);
        let (again, _) = settled(&MatchFacts { account_replies, ..facts });
        assert_eq!((again.reply, again.paused), (None, None));
    }

    #[test]
    fn one_number_gets_at_most_ten_replies_an_hour() {
        let hour = 3_600_000;
        let nine: Vec<Timestamp> = (1..10).map(|n| millis(-n)).collect();
        assert_eq!(after_another(&nine, now()).map(|all| all.len()), Some(10));
        let with = |at| after_another(&[&nine[..], &[millis(at)]].concat(), now()).is_some();
        assert_eq!([with(-hour), with(1 - hour), with(0)], [true, false, false]);
    }

    proptest! {
        #[test]
        fn no_hour_has_more_than_ten_replies(gaps in prop::collection::vec(0i64..900_000, 1..80)) {
            let (mut replied, mut sent, mut at) = (Vec::new(), Vec::new(), 0);
            for gap in gaps {
                at += gap;
                if let Some(after) = after_another(&replied, millis(at)) {
                    prop_assert!(after.len() <= MOST_REPLIES);
                    replied = after;
                    sent.push(at);
                }
            }
            for window in sent.windows(MOST_REPLIES + 1) {
                prop_assert!(window[MOST_REPLIES] - window[0] >= 3_600_000);
            }
        }
    }
}
