use super::*;
use crate::account::settings::{LocalTime, Settings, SettingsChange};
use crate::account::{Account, AccountChange, AccountStatus, Share};
use crate::campaign::{Campaign, CampaignChange, CampaignInput, LinkTotals};
use crate::contact::custom::{CustomPatch, CustomValue};
use crate::contact::{Contact, ContactPatch};
use crate::credits::Credits;
use crate::event::EventType;
use crate::ids::{Id, ListId};
use crate::keyword::{Keyword, Listening};
use crate::list::{ContactList, ListChange, ListInput};
use crate::message::Body;
use crate::random::SeededRandom;
use crate::samples::{account, account_id, contact, endpoint, millis, seconds};
use crate::template::{TemplateChange, TemplateInput};
use crate::webhook::Secret;
use crate::webhook::endpoint::{DisabledReason, Endpoint, EndpointChange, Power};
use crate::webhook::rotation::SecretChange;

struct Thing(&'static str);

impl Versioned for Thing {
    const KIND: &'static str = "thing";

    fn version(&self) -> Version {
        Version::of(Self::KIND, 1, |fields| fields.add("name", [self.0]))
    }
}

#[test]
fn a_version_is_written_as_32_digits_and_read_back() {
    let version = Thing("a").version();
    let text = version.to_string();
    assert_eq!((text.len(), text.parse()), (32, Ok(version)));
    for wrong in ["", "1", &text[1..], &text.to_uppercase(), &format!("+{}", &text[1..])] {
        assert_eq!(wrong.parse::<Version>(), Err(NotAVersion), "{wrong}");
    }
}

#[test]
fn the_version_of_equal_values_stays_the_same() {
    // Clients keep versions. A change of this value refuses the changes that they make on what they
    // read before it.
    assert_eq!(Thing("a").version().to_string(), "e79f3688084fd3ed2abf7b238041d716");
    assert_ne!(Thing("a").version(), Thing("b").version());
}

#[test]
fn a_change_is_made_on_the_versions_it_names_only() {
    let (thing, other) = (Thing("a"), Thing("b").version());
    for (may, if_version) in [
        (true, IfVersion::Any),
        (true, None.into()),
        (true, thing.version().into()),
        (true, Some(thing.version()).into()),
        (true, IfVersion::OneOf(vec![other, thing.version()])),
        (false, other.into()),
        (false, IfVersion::OneOf(Vec::new())),
    ] {
        let expected = if may { Ok(()) } else { Err(Changed("thing")) };
        assert_eq!(if_version.check(&thing), expected, "{if_version:?}");
    }
}

/// Checks that each of these differs from all the others.
fn all_differ(versions: &[Version]) {
    for (at, one) in versions.iter().enumerate() {
        assert!(!versions[at + 1..].contains(one), "{at} has the version of another");
    }
}

#[test]
fn every_value_that_a_change_sets_is_part_of_the_version_and_nothing_else_is() {
    let change = AccountChange::default;
    let settings = |settings| change().settings(settings);
    let accounts = [
        change(),
        change().name("Brasserie"),
        change().status(AccountStatus::Suspended),
        change().share(Share::new(3).unwrap()),
        settings(SettingsChange { quiet_hours_start: LocalTime::new(8, 0), ..Default::default() }),
        settings(SettingsChange { quiet_hours_end: LocalTime::new(8, 0), ..Default::default() }),
        settings(SettingsChange { track_links_default: Some(true), ..Default::default() }),
        settings(SettingsChange::default().opt_out_line("x")),
        settings(SettingsChange::default().opt_out_line_sender("x")),
    ];
    let after = |change: AccountChange| change.apply(account(), seconds(5)).unwrap();
    all_differ(&accounts.map(|change| after(change).version()));
    let busy = Account { balance: Credits::ZERO, updated_at: seconds(9), ..account() };
    assert_eq!(busy.version(), account().version());

    let patch = ContactPatch::default;
    let custom = [("table".to_owned(), Some(CustomValue::Boolean(true)))];
    let contacts = [
        patch(),
        patch().phone("07700 900199"),
        patch().first_name(Some("x")),
        patch().last_name(Some("x")),
        patch().email(Some("x@example.com")),
        patch().notes(Some("x")),
        patch().custom(CustomPatch::Merge(custom.into())),
    ];
    let after = |patch: ContactPatch| patch.checked().unwrap().apply(&contact(), seconds(5));
    all_differ(&contacts.map(|patch| after(patch).unwrap().version()));
    let told = Contact { opted_out: true, updated_at: seconds(9), ..contact() };
    assert_eq!(told.version(), contact().version());

    let list = ListInput::new("VIP").into_list(ListId::from_u128(1), account_id(), seconds(0));
    let change = ListChange::default;
    let lists = [change(), change().name("x"), change().description(Some(""))];
    let after = |change: ListChange| change.apply(list.clone(), seconds(5)).unwrap();
    all_differ(&lists.map(|change| after(change).version()));
    let longer = ContactList { contact_count: 9, ..list.clone() };
    assert_eq!(longer.version(), list.version());

    let template = TemplateInput::new("a", "b");
    let template = template.into_template(Id::from_u128(1), account_id(), seconds(0));
    let change = TemplateChange::default;
    let templates = [change(), change().name("x"), change().body("x")];
    let after = |change: TemplateChange| change.apply(template.clone(), seconds(5)).unwrap();
    all_differ(&templates.map(|change| after(change).version()));
}

#[test]
fn every_value_that_a_draft_can_change_is_part_of_its_version_and_what_its_links_say_is_not() {
    let (list, other) = (ListId::from_u128(1), ListId::from_u128(2));
    let input = CampaignInput::new("Autumn", "A table awaits", list);
    let draft = input.into_draft(Id::from_u128(1), account_id(), &Settings::default(), seconds(0));
    let same = CampaignChange::default;
    let changes = [
        same(),
        CampaignChange { name: Some("x".to_owned()), ..same() },
        CampaignChange { body: Some(Body::new("x")), ..same() },
        CampaignChange { list: Some(other), ..same() },
        CampaignChange { sender: Some(Some("Bistro".to_owned())), ..same() },
        CampaignChange { append_opt_out: Some(!draft.append_opt_out), ..same() },
        CampaignChange { track_links: Some(!draft.track_links), ..same() },
        CampaignChange { ignore_quiet_hours: Some(!draft.ignore_quiet_hours), ..same() },
    ];
    let after = |change: CampaignChange| change.settle(Some(draft.clone()), seconds(5)).unwrap();
    all_differ(&changes.map(|change| after(change).version()));
    let links = LinkTotals { links: 1, clicks: 1, unique_clicked: 1 };
    let busy = Campaign { links, updated_at: seconds(9), ..draft.clone() };
    assert_eq!(busy.version(), draft.version());
}

#[test]
fn every_value_that_a_change_of_a_keyword_sets_is_part_of_its_version_and_a_match_is_not() {
    let keyword = Keyword {
        id: Id::from_u128(1),
        account: account_id(),
        word: "PIZZA".parse().unwrap(),
        reply: None,
        add_to_list_id: None,
        listening: Listening::On,
        match_count: 0,
        last_matched_at: None,
        created_at: seconds(0),
        updated_at: seconds(0),
    };
    let keywords = [
        keyword.clone(),
        Keyword { word: "PASTA".parse().unwrap(), ..keyword.clone() },
        Keyword { reply: Some(Body::new("x")), ..keyword.clone() },
        Keyword { add_to_list_id: Some(ListId::from_u128(1)), ..keyword.clone() },
        Keyword { listening: Listening::Off, ..keyword.clone() },
    ];
    all_differ(&keywords.map(|keyword| keyword.version()));
    assert_eq!(keyword.clone().matched(seconds(9)).version(), keyword.version());
}

#[test]
fn a_new_secret_is_a_new_version_of_an_endpoint_and_a_failure_is_none() {
    let new = || Secret::generate(&SeededRandom::new(9)).into();
    let change = EndpointChange::default;
    let rotated = |secret| EndpointChange { secret: Some(secret), ..change() };
    let changes = [
        change(),
        change().url("https://example.com/other"),
        change().events([EventType::WebhookTest]),
        change().description(Some("x")),
        change().power(Power::Off(DisabledReason::ByOwner)),
        rotated(SecretChange::Replace(new())),
        rotated(SecretChange::ReplaceAtOnce(new())),
    ];
    let after = |change: EndpointChange| change.apply(endpoint(), millis(5)).unwrap();
    all_differ(&changes.map(|change| after(change).version()));
    let failing = Endpoint { consecutive_failures: 9, updated_at: seconds(9), ..endpoint() };
    assert_eq!(failing.version(), endpoint().version());
}
