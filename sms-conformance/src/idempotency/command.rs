//! Every command that takes a claim.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::account::api_key::{ApiKey, KeyRecord};
use sms_core::account::{Account, AccountStatus, Mode};
use sms_core::campaign::CampaignInput;
use sms_core::contact::ContactFilter;
use sms_core::event::EventType;
use sms_core::idempotency::Claim;
use sms_core::ids::AccountId;
use sms_core::inbound::Origin;
use sms_core::list::ListInput;
use sms_core::message::filter::MessageFilter;
use sms_core::number::Holder;
use sms_core::number::release::AddPlan;
use sms_core::number::store::NumbersWanted;
use sms_core::opt_out::{OptOut, OptOutSource};
use sms_core::page::{Limit, OffsetRequest, PageRequest};
use sms_core::phone::E164;
use sms_core::sender_name::SenderName;
use sms_core::sender_name::store::NamesWanted;
use sms_core::store::Store;
use sms_core::template::TemplateInput;
use sms_core::webhook::store::EndpointsWanted;

use super::said::{Run, Said};
use crate::Rig;
use crate::rig::{named, person};

/// Whose key a command takes.
pub(crate) enum Whose {
    Account,
    Operator,
}

/// A command with its plan.
pub(crate) type Planned = Box<dyn FnOnce(Arc<dyn Store>, Option<Claim>) -> Run + Send>;

/// A kind of command.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) owner: Whose,
    /// Plans it as a service would for one request.
    pub(crate) plan: fn(&Rig, &Account) -> Planned,
    /// Counts its effects on the account so far.
    pub(crate) effects: fn(Arc<dyn Store>, Account) -> BoxFuture<'static, usize>,
}

/// Every kind of command. The first takes any owner's key.
pub(crate) fn commands() -> Vec<Command> {
    vec![
        credits_adjust(),
        account_create(),
        api_key_create(),
        campaign_create(),
        campaign_launch(),
        contact_create(),
        contacts_import(),
        endpoint_create(),
        inbound_take(),
        keyword_save(),
        list_create(),
        number_create(),
        opt_out_create(),
        sender_name_create(),
        template_create(),
    ]
}

/// A planned command that calls a method of the store.
macro_rules! planned {
    (|$store:ident, $claim:ident| $call:expr) => {
        Box::new(move |$store: Arc<dyn Store>, $claim: Option<Claim>| {
            async move {
                let $claim = $claim.as_ref();
                Said::of($call.await)
            }
            .boxed()
        })
    };
}

fn first_page() -> PageRequest {
    PageRequest { limit: Limit::new(100).expect("a limit"), after: None }
}

/// Counts what a method of the store lists.
macro_rules! counted {
    (|$store:ident, $account:ident| $call:expr) => {
        |$store, $account| async move { $call.await.expect("read").items.len() }.boxed()
    };
}

fn credits_adjust() -> Command {
    Command {
        name: "credits_adjust",
        owner: Whose::Operator,
        plan: |rig, account| {
            let plan = rig.adjust_plan(account.id, 5);
            planned!(|store, claim| store.credits_adjust(plan, claim))
        },
        effects: counted!(|store, account| store.ledger_list(account.id, first_page())),
    }
}

fn account_create() -> Command {
    Command {
        name: "account_create",
        owner: Whose::Operator,
        plan: |rig, _| {
            let new = rig.new_account(AccountStatus::Active, 5);
            planned!(|store, claim| store.account_create(new, claim))
        },
        effects: counted!(|store, _account| store.account_list(first_page())),
    }
}

fn api_key_create() -> Command {
    Command {
        name: "api_key_create",
        owner: Whose::Operator,
        plan: |rig, account| {
            let key = ApiKey::generate(Mode::Live, rig.random());
            let record = KeyRecord {
                id: rig.id(),
                account: account.id,
                mode: Mode::Live,
                name: None,
                hash: key.hash(),
                last_four: key.last_four().to_owned(),
                created_at: rig.now(),
                last_used_at: None,
                revoked_at: None,
            };
            planned!(|store, claim| store.api_key_create(record, claim))
        },
        effects: |store, account| {
            async move { store.api_key_list(account.id).await.expect("read").len() }.boxed()
        },
    }
}

fn campaign_create() -> Command {
    Command {
        name: "campaign_create",
        owner: Whose::Account,
        plan: |rig, account| {
            let input = CampaignInput::new("Spring", "The spring menu is here", rig.id());
            let draft = input.into_draft(rig.id(), account.id, &account.settings, rig.now());
            planned!(|store, claim| store.campaign_create(draft, claim))
        },
        effects: counted!(|store, account| store.campaign_list(account.id, first_page())),
    }
}

fn campaign_launch() -> Command {
    Command {
        name: "campaign_launch",
        owner: Whose::Account,
        plan: |rig, account| {
            let (id, at) = (account.id, rig.now());
            let list = ListInput::new("Regulars").into_list(rig.id(), id, at);
            let join = rig.join_plan(&list, &[], &[903]);
            let input = CampaignInput::new("Spring", "The spring menu is here", list.id);
            let draft = input.into_draft(rig.id(), id, &account.settings, at);
            // A test costs nothing, so the balance shows whether a send was accepted.
            let plan = rig.launch_plan(account, &draft, Mode::Test, None);
            Box::new(move |store: Arc<dyn Store>, claim: Option<Claim>| {
                async move {
                    drop(store.list_create(list, None).await.expect("made"));
                    store.list_join(join).await.expect("joined");
                    drop(store.campaign_create(draft, None).await.expect("made"));
                    Said::of(store.campaign_launch(plan, claim.as_ref()).await)
                }
                .boxed()
            })
        },
        effects: |store, account| {
            async move {
                let all = store.campaign_list(account.id, first_page()).await.expect("read");
                all.items.iter().filter(|campaign| campaign.launch.is_some()).count()
            }
            .boxed()
        },
    }
}

fn contact_create() -> Command {
    Command {
        name: "contact_create",
        owner: Whose::Account,
        plan: |rig, account| {
            let plan = rig.create_plan(account, &named(900, "Ann"));
            planned!(|store, claim| store.contact_create(plan, claim))
        },
        effects: |store, account| contacts(store, account.id),
    }
}

fn contacts_import() -> Command {
    Command {
        name: "contacts_import",
        owner: Whose::Account,
        plan: |rig, account| {
            // A second import of the same row would be accepted, and change nothing.
            let plan = rig.import_plan(account, vec![named(901, "Bea")], None);
            planned!(|store, claim| store.contacts_import(plan, claim))
        },
        effects: |store, account| contacts(store, account.id),
    }
}

fn contacts(store: Arc<dyn Store>, account: AccountId) -> BoxFuture<'static, usize> {
    async move {
        let all = ContactFilter::default();
        store.contact_list(account, &all, first_page()).await.expect("read").items.len()
    }
    .boxed()
}

fn endpoint_create() -> Command {
    Command {
        name: "endpoint_create",
        owner: Whose::Account,
        plan: |rig, account| {
            let endpoint = rig.new_endpoint(account, &[EventType::MessageSent]);
            planned!(|store, claim| store.endpoint_create(endpoint, claim))
        },
        effects: |store, account| {
            async move {
                store.endpoint_list(EndpointsWanted::Of(account.id)).await.expect("read").len()
            }
            .boxed()
        },
    }
}

/// A phone number that no other account of the rig has.
fn phone_of(rig: &Rig, account: &Account) -> E164 {
    let place = rig.accounts().iter().position(|id| *id == account.id).expect("it is the rig's");
    person(u16::try_from(place).expect("the rig has few accounts") + 100)
}

fn inbound_take() -> Command {
    Command {
        name: "inbound_take",
        owner: Whose::Operator,
        plan: |rig, account| {
            let ours = phone_of(rig, account);
            let plan = AddPlan::new(rig.new_number(ours, Holder::Dedicated(account.id)));
            let text = rig.inbound_plan(900, ours, "Thank you", Origin::Network);
            Box::new(move |store: Arc<dyn Store>, claim: Option<Claim>| {
                async move {
                    // The number may be there already.
                    drop(store.number_create(plan, None).await.expect("answered"));
                    Said::of(store.inbound_take(text, claim.as_ref()).await)
                }
                .boxed()
            })
        },
        effects: |store, account| {
            async move {
                let all = MessageFilter::default();
                store.message_list(account.id, &all, first_page()).await.expect("read").items.len()
            }
            .boxed()
        },
    }
}

fn number_create() -> Command {
    Command {
        name: "number_create",
        owner: Whose::Operator,
        plan: |rig, account| {
            let number = rig.new_number(phone_of(rig, account), Holder::Dedicated(account.id));
            planned!(|store, claim| store.number_create(AddPlan::new(number), claim))
        },
        effects: |store, account| {
            async move {
                store.number_list(NumbersWanted::HeldBy(account.id)).await.expect("read").len()
            }
            .boxed()
        },
    }
}

fn keyword_save() -> Command {
    Command {
        name: "keyword_save",
        owner: Whose::Account,
        plan: |rig, account| {
            let plan = rig.keyword_plan(account, "Pizza", Some("Soon"), None);
            planned!(|store, claim| store.keyword_save(plan, claim))
        },
        effects: counted!(|store, account| store.keyword_list(account.id, first_page())),
    }
}

fn list_create() -> Command {
    Command {
        name: "list_create",
        owner: Whose::Account,
        plan: |rig, account| {
            let list = ListInput::new("Regulars").into_list(rig.id(), account.id, rig.now());
            planned!(|store, claim| store.list_create(list, claim))
        },
        effects: counted!(|store, account| store.list_list(account.id, first_page())),
    }
}

fn opt_out_create() -> Command {
    Command {
        name: "opt_out_create",
        owner: Whose::Account,
        plan: |rig, account| {
            let (account, source) = (account.id, OptOutSource::Api);
            let (phone, created_at) = (person(900), rig.now());
            let opt_out = OptOut { phone, source, note: None, created_at };
            planned!(|store, claim| store.opt_out_create(account, opt_out, claim))
        },
        effects: |store, account| {
            async move {
                let wanted = OffsetRequest { limit: first_page().limit, offset: 0 };
                store.opt_out_list(account.id, None, wanted).await.expect("read").items.len()
            }
            .boxed()
        },
    }
}

fn sender_name_create() -> Command {
    Command {
        name: "sender_name_create",
        owner: Whose::Account,
        plan: |rig, account| {
            let value = "Bistro".parse().expect("a sender name");
            let name = SenderName::requested(rig.id(), account.id, value, None, rig.now());
            planned!(|store, claim| store.sender_name_create(name, claim))
        },
        effects: |store, account| {
            async move {
                store.sender_name_list(account.id, NamesWanted::All).await.expect("read").len()
            }
            .boxed()
        },
    }
}

fn template_create() -> Command {
    Command {
        name: "template_create",
        owner: Whose::Account,
        plan: |rig, account| {
            let input = TemplateInput::new("Table", "Your table is ready");
            let template = input.into_template(rig.id(), account.id, rig.now());
            planned!(|store, claim| store.template_create(template, claim))
        },
        effects: counted!(|store, account| store.template_list(account.id, None, first_page())),
    }
}
