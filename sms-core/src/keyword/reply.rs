//! What an inbound message that starts with a keyword triggers: the sender becomes a contact, joins
//! the keyword's list, and gets a reply.
//!
//! Another machine may answer the reply, and that answer may match again. To prevent loops, an
//! account sends at most [`MOST_REPLIES`] automatic replies to one number in any hour, and none to
//! the operator's own numbers.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Keyword;
use crate::account::{Mode, Settings};
use crate::contact::book::{BookChange, BookFacts, BookPlan, BookQuestion, CreatePlan};
use crate::contact::{Contact, Details};
use crate::ids::Ids;
use crate::link::LinkBase;
use crate::list::join::JoinPlan;
use crate::phone::E164;
use crate::route::RouteName;
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
}

/// An automatic reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The send, settled like any other in the same commit, after everything else about the message
    /// is written. If it is refused, the reply is not sent and no error is reported.
    pub send: SendPlan,
    /// To store for the number once the send is accepted; becomes [`MatchFacts::replied`] of the
    /// next match.
    pub replied: Vec<Timestamp>,
}

/// The inbound message that matched.
pub(crate) struct Occasion<'a> {
    pub from: E164,
    pub to: E164,
    pub route: &'a RouteName,
    pub mode: Mode,
    pub opted_out: bool,
    pub validity: Duration,
    pub at: Timestamp,
}

/// What a match triggers, and the sender as a contact. Only UK mobile numbers become contacts and
/// get replies, because only they can be texted.
pub(crate) fn settle(
    occasion: &Occasion<'_>,
    facts: &MatchFacts,
    ids: &mut Ids,
) -> (Matched, Option<Contact>) {
    let keyword = facts.keyword.clone().matched(occasion.at);
    let known = facts.book.contacts.iter().find(|known| known.phone == occasion.from).cloned();
    if !occasion.from.is_uk_mobile() {
        return (Matched { keyword, book: BookChange::default(), reply: None }, known);
    }
    let book = welcome(occasion, facts, ids);
    let contact = known.or_else(|| book.created.first().cloned());
    let reply = contact.clone().and_then(|contact| answer(occasion, facts, contact, ids));
    (Matched { keyword, book, reply }, contact)
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
    (!send.messages.is_empty()).then_some(Reply { send, replied })
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

    use super::*;
    use crate::contact::custom::CustomValue;
    use crate::ids::ListId;
    use crate::keyword::save::tests::keyword;
    use crate::message::Body;
    use crate::samples::{account_id, contact, ids, millis, now, our_number, person};

    fn facts() -> MatchFacts {
        MatchFacts {
            keyword: keyword(),
            book: BookFacts::default(),
            custom_names: BTreeSet::new(),
            route: None,
            sender: Sender::Person,
            replied: Vec::new(),
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
            at: now(),
        }
    }

    fn settled(facts: &MatchFacts) -> (Matched, Option<Contact>) {
        settle(&occasion(&RouteName::new("simulator")), facts, &mut ids())
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
        let Reply { send, replied } = matched.reply.unwrap();
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
        let (matched, contact) = settle(&opted_out, &facts(), &mut ids());
        assert_eq!((matched.reply, matched.book.created.len()), (None, 1));
        assert!(contact.is_some());
    }

    #[test]
    fn a_number_that_cannot_be_texted_becomes_no_contact_and_gets_no_answer() {
        let from = "+442079460123".parse().unwrap();
        let route = RouteName::new("simulator");
        let (matched, contact) =
            settle(&Occasion { from, ..occasion(&route) }, &facts(), &mut ids());
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
        let (matched, _) = settle(&test, &facts(), &mut ids());
        let send = matched.reply.unwrap().send;
        assert_eq!((send.mode, send.charge.get()), (Mode::Test, 0));
        assert_eq!(send.messages[0].route, RouteName::test());
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
