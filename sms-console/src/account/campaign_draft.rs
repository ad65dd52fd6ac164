//! Drafting a campaign: its name, its audience, its words, and what it would cost.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::account::Mode;
use sms_core::campaign::{Campaign, CampaignChange, CampaignInput, NAME_CHARACTERS};
use sms_core::ids::{CampaignId, ListId};
use sms_core::sending::{Quote, SendRequest};
use sms_core::version::Versioned;

use super::campaign::{address, kept_as};
use super::choices::Choices;
use crate::form::{Choice, FieldTroubles, Form};
use crate::format::{counted_as, credits};
use crate::key::{key_again, key_of, new_key};
use crate::meanwhile::{Edited, Shown, Values, joined};
use crate::part::button::{Kind, link, submit};
use crate::part::counter::{counter, counter_regions};
use crate::part::dear::plain;
use crate::part::field::Field;
use crate::part::form::problems_of;
use crate::part::head::head;
use crate::part::price::{Price, big_price};
use crate::part::region::region;
use crate::part::rejection::rejections;
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::AccountVisit;

const CAMPAIGNS: &str = "/console/campaigns";
const NEW: &str = "/console/campaigns/new";
const PREVIEW: &str = "/console/campaigns/preview";
const EDIT: &str = "/console/campaigns/{id}/edit";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(NEW, account(new)),
        Place::post(NEW, account(create)),
        Place::post(PREVIEW, account(preview)),
        Place::get(EDIT, account(edit)),
        Place::post(EDIT, account(update)),
    ]
}

/// What the form of a draft holds.
#[derive(Debug, Clone)]
struct DraftForm {
    name: String,
    list: Option<ListId>,
    sender: String,
    body: String,
    append_opt_out: Choice,
    track_links: Choice,
    ignore_quiet_hours: Choice,
}

fn choice(is_so: bool) -> Choice {
    if is_so { Choice::Yes } else { Choice::No }
}

impl DraftForm {
    fn empty(list: Option<ListId>, tracks: Choice) -> Self {
        Self {
            name: String::new(),
            list,
            sender: String::new(),
            body: String::new(),
            append_opt_out: Choice::Yes,
            track_links: tracks,
            ignore_quiet_hours: Choice::No,
        }
    }

    fn of(draft: &Campaign) -> Self {
        Self {
            name: draft.name.clone(),
            list: Some(draft.list),
            sender: draft.sender.clone().unwrap_or_default(),
            body: draft.body.as_str().to_owned(),
            append_opt_out: choice(draft.append_opt_out),
            track_links: choice(draft.track_links),
            ignore_quiet_hours: choice(draft.ignore_quiet_hours),
        }
    }

    fn sender(&self) -> Option<String> {
        Some(self.sender.clone()).filter(|sender| !sender.is_empty())
    }

    fn known_list(&self) -> Result<ListId, Error> {
        self.list.ok_or_else(|| Error::invalid("list_id", "required", "choose a list"))
    }

    fn input(&self) -> Result<CampaignInput, Error> {
        let mut input =
            CampaignInput::new(self.name.clone(), self.body.clone(), self.known_list()?);
        input.sender = self.sender();
        input.append_opt_out = self.append_opt_out.is_yes();
        input.track_links = Some(self.track_links.is_yes());
        input.ignore_quiet_hours = self.ignore_quiet_hours.is_yes();
        Ok(input)
    }

    /// The change to this from a draft with that sender. A name that stays is not checked again: it
    /// may have been rejected since.
    fn change(&self, before: &Campaign) -> Result<CampaignChange, Error> {
        let mut change = CampaignChange::default()
            .name(self.name.clone())
            .body(self.body.clone())
            .list(self.known_list()?);
        let sender = self.sender();
        change.sender = (sender != before.sender).then_some(sender);
        change.append_opt_out = Some(self.append_opt_out.is_yes());
        change.track_links = Some(self.track_links.is_yes());
        change.ignore_quiet_hours = Some(self.ignore_quiet_hours.is_yes());
        Ok(change)
    }

    /// The send that it comes to; `None` before it has a list and words.
    fn request(&self) -> Option<SendRequest> {
        let list = self.list.filter(|_| !self.body.trim().is_empty())?;
        let mut request = SendRequest::new(self.body.clone()).to_list(list);
        request.sender = self.sender();
        request.append_opt_out = self.append_opt_out.is_yes();
        request.track_links = self.track_links.is_yes();
        Some(request)
    }
}

impl Edited for DraftForm {
    fn values(&self) -> Values {
        let Self { name, list, sender, body, append_opt_out, track_links, ignore_quiet_hours } =
            self;
        Values::default()
            .with("name", &**name)
            .with("list_id", list.map(|list| list.to_string()).unwrap_or_default())
            .with("sender", &**sender)
            .with("body", &**body)
            .ticked("append_opt_out", append_opt_out.is_yes())
            .ticked("track_links", track_links.is_yes())
            .ticked("ignore_quiet_hours", ignore_quiet_hours.is_yes())
    }

    fn sent(form: &Form) -> Self {
        Self {
            name: form.text("name").to_owned(),
            list: form.text("list_id").parse().ok(),
            sender: form.text("sender").to_owned(),
            body: match Step::of(form) {
                Step::Save | Step::Look => form.body("body"),
                Step::UsePlain => plain(&form.body("body")),
            },
            append_opt_out: form.checked("append_opt_out"),
            track_links: form.checked("track_links"),
            ignore_quiet_hours: form.checked("ignore_quiet_hours"),
        }
    }
}

/// What the person wants who sends the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// They save the draft.
    Save,
    /// They look at the price.
    Look,
    /// They replace characters outside the GSM alphabet by plain ones.
    UsePlain,
}

impl Step {
    fn of(form: &Form) -> Self {
        match form.text("action") {
            "preview" => Self::Look,
            "plain" => Self::UsePlain,
            _ => Self::Save,
        }
    }
}

/// Where the text in the fields comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// It is what is stored: the browser may put there what it keeps of an earlier visit.
    Stored,
    /// It was just sent.
    Sent,
}

/// Where a form goes: it makes a draft, or changes one.
#[derive(Debug, Clone, Copy)]
enum Draft<'a> {
    /// Carries the key of the form.
    New(&'a str),
    Old(CampaignId),
}

impl Draft<'_> {
    fn title(self) -> &'static str {
        match self {
            Self::New(_) => "Draft a campaign",
            Self::Old(_) => "Edit the draft",
        }
    }

    fn to(self) -> String {
        match self {
            Self::New(_) => NEW.to_owned(),
            Self::Old(id) => format!("{}/edit", address(id)),
        }
    }

    fn back(self) -> String {
        match self {
            Self::New(_) => CAMPAIGNS.to_owned(),
            Self::Old(id) => address(id),
        }
    }

    fn kept_as(self, visit: &AccountVisit) -> String {
        match self {
            Self::New(_) => kept_as(visit, None),
            Self::Old(id) => kept_as(visit, Some(id)),
        }
    }

    fn key(self) -> Option<String> {
        match self {
            Self::New(key) => Some(key.to_owned()),
            Self::Old(_) => None,
        }
    }
}

async fn new(visit: AccountVisit) -> Outcome {
    let list = visit.query("list").and_then(|list| list.parse().ok());
    let tracks = choice(visit.person.account.settings.track_links_default);
    let (shown, key) = (Shown::first(DraftForm::empty(list, tracks)), new_key());
    let given = if list.is_some() { Given::Sent } else { Given::Stored };
    Ok(view(&visit, Draft::New(&key), &shown, given).await?.into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let key = key_of(&form)?;
    let (sent, draft) = (DraftForm::sent(&form), Draft::New(form.text("key")));
    if Step::of(&form) != Step::Save {
        return looked_at(&visit, draft, &form).await;
    }
    let made = match sent.input() {
        Ok(input) => visit.handle().keyed(Some(key)).campaign_create(input).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => Ok(Reply::moved(address(made.value.id)).saying(Said::DraftSaved)),
        Err(error) => {
            let key = key_again(&form, &error);
            again(&visit, Draft::New(&key), &form, &error).await
        }
    }
}

async fn edit(visit: AccountVisit) -> Outcome {
    let campaign = visit.handle().campaign_get(visit.params.id()?).await?;
    if campaign.launch.is_some() {
        return Ok(Reply::moved(address(campaign.id)));
    }
    let shown = Shown::first(DraftForm::of(&campaign));
    Ok(view(&visit, Draft::Old(campaign.id), &shown, Given::Stored).await?.into())
}

async fn update(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let campaign = visit.handle().campaign_get(visit.params.id()?).await?;
    let draft = Draft::Old(campaign.id);
    if Step::of(&form) != Step::Save {
        return looked_at(&visit, draft, &form).await;
    }
    let now = DraftForm::of(&campaign);
    let joined = match joined(&form, &now) {
        Ok(joined) => joined,
        Err(clashing) => {
            let (at, handle) = (campaign.updated_at, Some(visit.handle()));
            let shown = Shown::clashing(clashing, &now, at, handle).await?;
            return Ok(Reply::Again(view(&visit, draft, &shown, Given::Sent).await?));
        }
    };
    let changed = match joined.change(&campaign) {
        Ok(change) => {
            let change = change.if_version(campaign.version());
            visit.handle().campaign_update(campaign.id, change).await
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(campaign) => Ok(Reply::moved(address(campaign.id)).saying(Said::DraftSaved)),
        Err(Error::NotFound(_)) => Err(Trouble::NotFound),
        Err(error) => again(&visit, draft, &form, &error).await,
    }
}

async fn again(visit: &AccountVisit, draft: Draft<'_>, form: &Form, error: &Error) -> Outcome {
    let problems = problems_of(error, &["name", "list_id", "sender", "body"]);
    let shown = Shown::again(DraftForm::sent(form), form, problems);
    Ok(Reply::Again(view(visit, draft, &shown, Given::Sent).await?))
}

async fn preview(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let sent = DraftForm::sent(&form);
    let quoted = quoted(&visit, &sent).await;
    let (price, mode) = (Price::of(quoted.as_ref(), visit.person.mode), visit.person.mode);
    Ok(Reply::Fragment(html! {
        @if Step::of(&form) == Step::UsePlain {
            (region("draft-body", &body_field(&sent, &FieldTroubles::none())))
        }
        (counter_regions(&sent.body, price))
        (region("draft-side", &side(price, mode, &sent)))
    }))
}

/// What it would cost; `None` before there is something to ask for.
async fn quoted(visit: &AccountVisit, shown: &DraftForm) -> Option<Result<Quote, Error>> {
    Some(visit.handle().quote(shown.request()?).await)
}

/// The form as it was sent; it is not saved yet.
async fn looked_at(visit: &AccountVisit, draft: Draft<'_>, form: &Form) -> Outcome {
    let fine = (html! {}, FieldTroubles::none());
    let shown = Shown::again(DraftForm::sent(form), form, fine);
    Ok(view(visit, draft, &shown, Given::Sent).await?.into())
}

async fn view(
    visit: &AccountVisit,
    draft: Draft<'_>,
    all: &Shown<DraftForm>,
    given: Given,
) -> Result<Page, Trouble> {
    let Shown { form: shown, problems, troubles, .. } = all;
    let choices = Choices::read(visit.handle(), shown.list).await?;
    let quoted = quoted(visit, shown).await;
    let (price, mode) = (Price::of(quoted.as_ref(), visit.person.mode), visit.person.mode);
    let content = html! {
        (head(draft.title()).back("Campaigns", CAMPAIGNS)
            .lead("Nothing is sent before you launch it and see the price."))
        div.two {
            form.form method="post" action=(draft.to()) aria-label="Campaign" autocomplete="off"
                data-draft=(draft.kept_as(visit)) data-draft-given[given == Given::Sent]
                data-preview=(PREVIEW) data-preview-into="counter-price" {
                input type="hidden" name="csrf" value=(visit.csrf());
                @if let Some(key) = draft.key() {
                    input type="hidden" name="key" value=(key);
                }
                (all.hidden())
                (problems)
                (fields(shown, &choices, price, troubles))
                div.actions {
                    (link("Go back", draft.back()))
                    (submit("Save the draft").kind(Kind::Main))
                    (submit("Show the price").sending("action", "preview"))
                }
            }
            div.two-side { div #draft-side { (side(price, mode, shown)) } }
        }
    };
    Ok(Page::new(draft.title(), content).with_module("writing.js").with_module("draft.js"))
}

fn fields(
    shown: &DraftForm,
    choices: &Choices,
    price: Price<'_>,
    troubles: &FieldTroubles,
) -> Markup {
    let chosen = shown.list.map(|list| list.to_string()).unwrap_or_default();
    let mut senders = choices.sender_options();
    if senders.iter().all(|(value, _)| *value != shown.sender) {
        // Rejected since: saving the draft does not change who it comes from.
        senders.push((shown.sender.clone(), format!("{} (not approved)", shown.sender)));
    }
    html! {
        (Field::text("name", "Name").required().longest(*NAME_CHARACTERS.end())
            .hint("Only you see it.").value(&shown.name).trouble(troubles.get("name")))
        (Field::select("list_id", "Audience", choices.list_options("Choose a list")).required()
            .value(chosen).trouble(troubles.get("list_id")))
        (Field::select("sender", "Send from", senders).value(&shown.sender)
            .trouble(troubles.get("sender")))
        div.stack-tight {
            div #draft-body { (body_field(shown, troubles)) }
            (counter(&shown.body, price))
        }
        (choices.merge_buttons())
        (Field::check("append_opt_out", "Add the line that says how to opt out")
            .ticked_if(shown.append_opt_out.is_yes()))
        (Field::check("track_links", "Shorten links and count who opens them")
            .ticked_if(shown.track_links.is_yes()))
        (Field::check("ignore_quiet_hours", "Send during quiet hours too")
            .hint("Otherwise a campaign launched at night waits for the morning.")
            .ticked_if(shown.ignore_quiet_hours.is_yes()))
    }
}

fn body_field(shown: &DraftForm, troubles: &FieldTroubles) -> Markup {
    let trouble = troubles.get("body");
    html! {
        (Field::text_area("body", "Message", 6).required().value(&shown.body).trouble(trouble))
    }
}

/// What is beside the form: the price, and the text as the first person reads it.
fn side(price: Price<'_>, mode: Mode, shown: &DraftForm) -> Markup {
    html! {
        section.card.stack {
            h2 { "Price" }
            @if let Some(quote) = price.quote() {
                (price_of(quote, mode, &shown.body))
            } @else {
                p.faint { "Choose a list and write a message: the price appears here." }
            }
        }
    }
}

fn price_of(quote: &Quote, mode: Mode, body: &str) -> Markup {
    html! {
        (big_price(quote.credits, mode))
        p {
            "for " (counted_as(quote.recipients as u64, "person", "people")) "."
            @if !mode.is_test() { " The balance is " (credits(quote.balance)) "." }
        }
        @if let Some(first) = quote.preview.as_deref().filter(|first| *first != body) {
            div.stack-tight {
                h3 { "As the first person reads it" }
                div.preview { (first) }
            }
        }
        (rejections(&quote.rejected))
    }
}
