//! Tracked links in what is planned.

use proptest::prelude::*;

use super::*;
use crate::link::LinkCode;
use crate::text::{CODE_LENGTH, CODE_PLACEHOLDER, MAX_SINGLE_PARTS, find_urls};

const PREFIX: &str = "https://sms.example/l/";

fn tracked(request: SendRequest) -> SendRequest {
    request.track_links()
}

/// The plan that a quote of the request shows.
fn quoted(request: &SendRequest) -> SendPlan {
    World { codes: None, ..World::new(Mode::Live) }.plan(request)
}

#[test]
fn each_url_is_replaced_by_a_short_one_of_its_own_for_each_recipient() {
    let body = "A https://example.com/a, b http://example.com/b. A: https://example.com/a";
    let request = tracked(SendRequest::new(body).to("07700 900123, 07700 900124"));
    let plan = live(&request);
    assert_eq!(plan.links.len(), 4, "one for each URL and recipient");
    for (message, links) in plan.messages.iter().zip(plan.links.chunks(2)) {
        let [a, b] = links else { panic!("two each") };
        let (a_code, b_code) = (a.code, b.code);
        let expected = format!("A {PREFIX}{a_code}, b {PREFIX}{b_code}. A: {PREFIX}{a_code}");
        assert_eq!(message.body.as_str(), expected);
        let expected = Link {
            id: a.id,
            account: account().id,
            code: a.code,
            url: "https://example.com/a".to_owned(),
            message: message.id,
            campaign: None,
            contact_number: message.to,
            clicks: 0,
            first_clicked_at: None,
            last_clicked_at: None,
        };
        assert_eq!(*a, expected);
        assert_eq!(b.url, "http://example.com/b");
        assert_eq!(a.created_at(), now());
    }
    let codes: BTreeSet<LinkCode> = plan.links.iter().map(|link| link.code).collect();
    assert_eq!(codes.len(), 4);
}

#[test]
fn links_are_left_alone_unless_tracked_and_on_a_test_send() {
    let request = to_person("https://example.com/a");
    for plan in [live(&request), test(&request), test(&tracked(request.clone()))] {
        assert_eq!(bodies(&plan), ["https://example.com/a"]);
        assert_eq!(plan.links, []);
    }
    assert_ne!(bodies(&live(&tracked(request))), ["https://example.com/a"]);
}

#[test]
fn urls_are_found_after_merging_and_not_in_the_opt_out_line() {
    let mut world = World::new(Mode::Live);
    world.account.settings.opt_out_line = "Stop: https://example.com/stop".to_owned();
    let body = "https://example.com/{phone} {first_name}";
    let request = tracked(SendRequest::new(body).to("07700 900123, 07700 900124"));
    let plan = world.plan(&request.append_opt_out());
    let urls: Vec<&str> = plan.links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls, ["https://example.com/+447700900123", "https://example.com/+447700900124"]);
    for (body, link) in bodies(&plan).into_iter().zip(&plan.links) {
        assert_eq!(body, format!("{PREFIX}{} \nStop: https://example.com/stop", link.code));
    }
}

#[test]
fn a_quote_shows_placeholders_and_makes_no_links() {
    let plan = quoted(&tracked(to_person("https://example.com/a")));
    assert_eq!(bodies(&plan), [format!("{PREFIX}{CODE_PLACEHOLDER}")]);
    assert_eq!(plan.links, []);
}

#[test]
fn a_message_is_too_long_only_if_it_is_with_short_links() {
    let url = format!("https://example.com/{}", "a".repeat(300));
    let short = PREFIX.len() + CODE_LENGTH;
    for (request, refused) in [
        (to_person(format!("{}{url}", "a ".repeat(640))), false),
        (to_person(format!("{}{url}", "д ".repeat((700 - short) / 2))), false),
        (to_person(format!("{}{url}", "д ".repeat((700 - short) / 2 + 1))), true),
        // A link that is shorter than its short URL makes the message longer.
        (to_person(format!("{}http://a.b", "a ".repeat(784))), false),
        (to_person(format!("{}http://a.b", "a ".repeat(785))), true),
    ] {
        let expected = refused.then_some(RejectionReason::TooLong);
        let length = request.body.chars().count();
        let request = tracked(request);
        assert_eq!(reason(&live(&request)), expected, "{length}");
        assert_eq!(reason(&quoted(&request)), expected, "{length}");
    }
    let long = SendRequest::new("{phone} ".repeat(100) + &url).to("07700 900123");
    assert_eq!(reason(&live(&long)), Some(RejectionReason::TooLong), "not shortened");
    assert_eq!(reason(&live(&tracked(long))), None);
    assert_eq!(MAX_SINGLE_PARTS * 160, 1_600);
}

#[test]
fn a_text_may_have_16_000_characters_before_its_links_are_shortened() {
    use crate::contact::{Contact, CustomValue, Details};
    use crate::samples::contact;

    let mut world = World::new(Mode::Live);
    world.custom_names.insert("page".to_owned());
    let page = format!("https://example.com/{}", "a".repeat(479));
    let details = Details {
        custom: [("page".to_owned(), CustomValue::Text(page))].into(),
        ..Details::default()
    };
    let planned = |body: String| {
        let request = tracked(SendRequest::new(body));
        let mut recipients = Recipients::of(&request);
        recipients.add(Contact { details: details.clone(), ..contact() });
        world.plan_to(&request, recipients)
    };
    // Each page takes 500 characters with the space.
    let plan = planned("{page} ".repeat(32));
    assert_eq!((reason(&plan), plan.links.len()), (None, 1));
    assert_eq!(reason(&planned("{page} ".repeat(32) + "x")), Some(RejectionReason::TooLong));
}

#[test]
fn a_quote_takes_account_of_the_memory_that_the_send_would_take() {
    let request = tracked(to_person("https://example.com/a https://example.com/b"));
    let bytes = |world: World| {
        let mut planner = world.planner(&request, &request.body);
        planner.add(vec![Candidate::Number(person())]);
        assert_eq!(planner.next_portion(), Progress::Done);
        planner.bytes()
    };
    let sent = bytes(World::new(Mode::Live));
    assert_eq!(sent, bytes(World { codes: None, ..World::new(Mode::Live) }));
    let (messages, links) = (live(&request).messages, live(&request).links);
    let body = messages[0].body.as_str().len();
    let of_link = |link: &Link| size_of::<Link>() + link.url.len();
    let expected = size_of::<Message>() + body + links.iter().map(of_link).sum::<usize>();
    assert_eq!((sent, links.len()), (expected, 2));
}

#[test]
fn a_rejected_message_leaves_no_links() {
    let mut world = World::new(Mode::Live);
    world.opted_out.insert(person());
    let request = tracked(to_person("https://example.com/a"));
    assert_eq!(world.plan(&request).links, []);
    let long = tracked(to_person(format!("https://example.com/a {}", "д".repeat(700))));
    assert_eq!(live(&long).links, []);
}

proptest! {
    #[test]
    fn a_tracked_send_takes_what_was_quoted(
        request in any_request(),
        paths in prop::collection::vec("[a-zA-Z0-9/_.,()]{0,120}", 1..4),
        seed in any::<u64>(),
    ) {
        let urls: Vec<String> =
            paths.iter().map(|path| format!(" https://example.com/{path} ")).collect();
        let body: String = (request.body.clone() + &urls.concat()).chars().take(1_600).collect();
        let request = tracked(SendRequest { body, ..request });
        let mut world = World::new(Mode::Live);
        world.codes = Some(Arc::new(SeededRandom::new(seed)));
        let (sent, quoted) = (world.plan(&request), quoted(&request));
        prop_assert_eq!(sent.price, quoted.price);
        prop_assert_eq!(&sent.rejected, &quoted.rejected);
        let parts = |plan: &SendPlan| -> Vec<_> {
            plan.messages.iter().map(|text| (text.to, text.encoding, text.segments)).collect()
        };
        prop_assert_eq!(parts(&sent), parts(&quoted));
        for message in &sent.messages {
            let measure = crate::text::measure(message.body.as_str());
            prop_assert_eq!(measure.encoding, message.encoding);
            prop_assert_eq!(measure.segments, message.segments);
        }
        let codes: BTreeSet<LinkCode> = sent.links.iter().map(|link| link.code).collect();
        prop_assert_eq!(codes.len(), sent.links.len());
        for link in &sent.links {
            let text = sent.messages.iter().find(|text| text.id == link.message).unwrap();
            prop_assert_eq!(text.to, link.contact_number);
            let short = format!("{PREFIX}{}", link.code);
            let body = text.body.as_str();
            prop_assert!(find_urls(body).into_iter().any(|place| body[place] == short));
        }
        let mut ids: Vec<u128> = sent.links.iter().map(|link| link.id.as_u128()).collect();
        ids.extend(sent.messages.iter().map(|text| text.id.as_u128()));
        let distinct: BTreeSet<u128> = ids.iter().copied().collect();
        prop_assert_eq!(distinct.len(), ids.len());
    }
}
