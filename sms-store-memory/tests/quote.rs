//! A quote equals the charge. For any request, the quote and the send agree, rejected recipients
//! included. A send that the balance does not cover takes nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures_executor::block_on;
use proptest::prelude::*;
use sms_core::account::Mode;
use sms_core::contact::ContactInput;
use sms_core::contact::custom::CustomValue;
use sms_core::ids::{ContactId, ListId, TemplateId};
use sms_core::list::ListInput;
use sms_core::prelude::*;
use sms_core::service::AccountHandle;
use sms_core::template::TemplateInput;
use sms_core::text::{measure, split};
use sms_store_memory::MemoryStore;

const CONTACTS: [(&str, &str); 3] = [
    ("07700 900101", "Ann"),
    (
        "07700 900102",
        "a name of which a text of several parts is made, however short it was before",
    ),
    ("07700 900103", "Ёжик"),
];

/// An account with some credits, and the resources its requests may name.
struct Stage {
    account: AccountHandle,
    contacts: Vec<ContactId>,
    list: ListId,
    template: TemplateId,
}

/// Three contacts on a list, the last of them opted out, and a template.
async fn stage(credits: u32, mode: Mode) -> Stage {
    let sms = Sms::builder(Arc::new(MemoryStore::new())).build();
    let operator = sms.operator();
    let id = operator.account_create(NewAccountInput::active("Bistro", credits)).await.unwrap().id;
    operator.number_create(NumberInput::shared("07700 900000")).await.unwrap();
    let account = sms.account(id, mode);
    let list = ListInput::new("Guests");
    let list = account.list_create(list).await.unwrap().id;
    let rows = CONTACTS.map(|(number, name)| {
        let mut row = ContactInput::new(number);
        row.first_name = Some(name.to_owned());
        row.custom.insert("points".to_owned(), Some(CustomValue::Number(12.into())));
        row
    });
    let imported = account.contacts_import(rows.into(), Some(list)).await.unwrap();
    let contacts = imported.rows.iter().map(|row| row.contact.unwrap()).collect();
    account.opt_out_create(CONTACTS[2].0, None).await.unwrap();
    let body = "{first_name} has {points}€ https://example.com/a";
    let template = TemplateInput::new("Points", body);
    let template = account.template_create(template).await.unwrap().id;
    Stage { account, contacts, list, template }
}

/// A request, apart from its ids.
#[derive(Debug, Clone)]
struct Wish {
    body: String,
    numbers: Vec<String>,
    contacts: Vec<usize>,
    whole_list: bool,
    append_opt_out: bool,
    track_links: bool,
}

impl Wish {
    /// The request itself. With an empty body it uses the template.
    fn request(&self, stage: &Stage) -> SendRequest {
        let mut request = SendRequest::new(self.body.clone());
        request.to.clone_from(&self.numbers);
        request.contact_ids = self.contacts.iter().map(|index| stage.contacts[*index]).collect();
        request.list_id = self.whole_list.then_some(stage.list);
        request.template_id = self.body.is_empty().then_some(stage.template);
        request.append_opt_out = self.append_opt_out;
        request.track_links = self.track_links;
        request
    }
}

fn any_body() -> impl Strategy<Value = String> {
    let unit = prop::sample::select(vec![
        "a",
        "€",
        "д",
        "👋",
        " ",
        "{first_name}",
        "{points}",
        "{phone}",
        "{unknown}",
        "{first_name|you}",
        "{unknown|that}",
        "https://example.com/tables?for=2 ",
    ]);
    let piece = (unit, prop_oneof![4 => 1usize..4, 1 => 60usize..75, 1 => 150usize..165]);
    prop::collection::vec(piece, 0..4).prop_map(|pieces| {
        let text: String = pieces.into_iter().map(|(unit, times)| unit.repeat(times)).collect();
        text.chars().take(1_600).collect()
    })
}

fn any_wish() -> impl Strategy<Value = Wish> {
    let number = prop_oneof![
        4 => (100u64..108).prop_map(|last| format!("07700 900{last}")),
        1 => prop::sample::select(vec!["020 7946 0000", "+33 6 12 34 56 78", "nobody"])
            .prop_map(str::to_owned),
    ];
    let numbers = prop::collection::vec(number, 1..6);
    let contacts = prop::collection::vec(0usize..3, 0..3);
    (any_body(), numbers, contacts, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(body, numbers, contacts, whole_list, append_opt_out, track_links)| Wish {
            body,
            numbers,
            contacts,
            whole_list,
            append_opt_out,
            track_links,
        },
    )
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![3 => Just(Mode::Live), 1 => Just(Mode::Test)]
}

async fn balance(stage: &Stage) -> u64 {
    stage.account.get().await.unwrap().balance.get()
}

async fn messages(stage: &Stage) -> usize {
    let all = MessageFilter::default();
    stage.account.message_list(&all, PageRequest::default()).await.unwrap().items.len()
}

/// Checks the law on an account with this many credits.
async fn quoted_as_charged(wish: &Wish, credits: u32, mode: Mode) {
    let stage = stage(credits, mode).await;
    let request = wish.request(&stage);
    let quote = stage.account.quote(request.clone()).await.unwrap();
    assert_eq!(quote.balance.get(), u64::from(credits));
    assert_eq!((balance(&stage).await, messages(&stage).await), (credits.into(), 0));
    let sent = match stage.account.send(request).await {
        Ok(sent) => sent,
        Err(Error::InsufficientCredit { needed, .. }) => {
            assert_eq!((mode, needed), (Mode::Live, quote.credits));
            assert!(needed.get() > u64::from(credits));
            assert_eq!((balance(&stage).await, messages(&stage).await), (credits.into(), 0));
            return;
        }
        Err(other) => panic!("{other}"),
    };
    let parts: usize = sent.messages.iter().map(|text| split(text.body.as_str()).len()).sum();
    assert_eq!(quote.credits.get(), parts as u64, "a test is quoted as a live send would be");
    let price = if mode.is_test() { 0 } else { quote.credits.get() };
    assert_eq!(sent.credits.get(), price);
    assert_eq!(sent.balance.get(), u64::from(credits) - price);
    assert_eq!(balance(&stage).await, u64::from(credits) - price);
    assert_eq!((&sent.rejected, &sent.gaps), (&quote.rejected, &quote.gaps));
    assert_eq!((sent.messages.len(), messages(&stage).await), (quote.recipients, quote.recipients));
    let shown = quote.preview.as_deref().map(measure);
    let first = sent.messages.first().map(|text| measure(text.body.as_str()));
    assert_eq!(shown, first);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_send_takes_what_its_quote_says_or_nothing_at_all(
        wish in any_wish(),
        credits in prop_oneof![Just(10_000u32), 0u32..30],
        mode in any_mode(),
    ) {
        block_on(quoted_as_charged(&wish, credits, mode));
    }
}
