//! The step before a campaign goes: to how many people, for how much, and when.
//!
//! The form carries the price that it showed. If the price is another one when the form comes back,
//! nothing is launched, and the new price is asked for.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::account::Mode;
use sms_core::campaign::Campaign;
use sms_core::campaign::launch::{LaunchOptions, QuietHoursApplied};
use sms_core::sending::{FieldGaps, Quote, SendRequest};

use super::campaign::{address, refused};
use super::campaign_words::departure_in_words;
use crate::form::{FieldTroubles, Form, sentence};
use crate::format::{counted_as, credits, from_field};
use crate::key::{key_of, new_key};
use crate::part::button::{Kind, link, submit};
use crate::part::field::Field;
use crate::part::gaps::{NOT_AGREED, agreement, is_agreed};
use crate::part::head::head;
use crate::part::notice::{Notice, in_words, notice};
use crate::part::price::big_price;
use crate::part::rejection::rejections;
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::AccountVisit;

const PATTERN: &str = "/console/campaigns/{id}/launch";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(PATTERN, account(ask)),
        Place::post(PATTERN, account(launch)),
        Place::post("/console/campaigns/{id}/launch/when", account(when)),
    ]
}

/// What the form of a launch holds.
#[derive(Debug, Clone)]
struct LaunchForm {
    key: String,
    /// What was typed into “Send at”.
    at: String,
    /// The price that was shown; `None` if it was not known.
    price: Option<u64>,
}

impl LaunchForm {
    fn sent(form: &Form) -> Self {
        let at = form.text("schedule_at").to_owned();
        let price = form.optional("price").and_then(|price| price.parse().ok());
        Self { key: form.text("key").to_owned(), at, price }
    }

    /// How to launch, or what is wrong with the time.
    fn options(&self) -> Result<LaunchOptions, FieldTroubles> {
        if self.at.is_empty() {
            return Ok(LaunchOptions::default());
        }
        let Some(at) = from_field(&self.at) else {
            return Err(FieldTroubles::none().with("schedule_at", "This is not a date and time."));
        };
        Ok(LaunchOptions::default().schedule_at(at))
    }
}

/// What a launch would cost now.
type Price = Result<Quote, Error>;

async fn price_of(visit: &AccountVisit, campaign: &Campaign) -> Price {
    let mut request = SendRequest::new(campaign.body.as_str()).to_list(campaign.list);
    request.sender.clone_from(&campaign.sender);
    request.append_opt_out = campaign.append_opt_out;
    request.track_links = campaign.track_links;
    visit.handle().quote(request).await
}

/// Whether there is no price because the list is too long for a quote. Such a campaign is launched
/// without one.
fn is_too_long(error: &Error) -> bool {
    let Error::Invalid(errors) = error else { return false };
    matches!(&errors[..], [error] if error.field == "list_id" && error.code == "too_many")
}

/// The merge fields that cannot be filled in, or why the quote failed. If the list is too long for
/// a quote, only the fields that no contact has are known.
async fn gaps_of(
    visit: &AccountVisit,
    campaign: &Campaign,
    price: &Price,
) -> Result<FieldGaps, Trouble> {
    match price {
        Ok(quote) => Ok(quote.gaps.clone()),
        Err(error) if is_too_long(error) => {
            let unknown = visit.handle().unknown_fields(campaign.body.as_str()).await?;
            Ok(FieldGaps { unknown, ..FieldGaps::default() })
        }
        // The page says why, and nothing is launched meanwhile.
        Err(_) => Ok(FieldGaps::default()),
    }
}

/// The price that the person confirms.
fn confirmed(price: &Price) -> Option<u64> {
    price.as_ref().ok().map(|quote| quote.credits.get())
}

async fn ask(visit: AccountVisit) -> Outcome {
    let campaign = visit.handle().campaign_get(visit.params.id()?).await?;
    if campaign.launch.is_some() {
        return Ok(Reply::moved(address(campaign.id)));
    }
    let price = price_of(&visit, &campaign).await;
    let gaps = gaps_of(&visit, &campaign, &price).await?;
    let shown = LaunchForm { key: new_key(), at: String::new(), price: confirmed(&price) };
    let question = Question { campaign: &campaign, price: &price, gaps: &gaps, shown: &shown };
    Ok(question.page(&visit, &html! {}, &FieldTroubles::none()).into())
}

async fn launch(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let key = key_of(&form)?;
    let sent = LaunchForm::sent(&form);
    let campaign = visit.handle().campaign_get(visit.params.id()?).await?;
    let options = match sent.options() {
        Ok(options) => options,
        Err(troubles) => return again(&visit, &campaign, sent, html! {}, &troubles).await,
    };
    // A campaign that was launched has its price: the key says whether this form launched it.
    if campaign.launch.is_none() {
        let price = price_of(&visit, &campaign).await;
        let gaps = gaps_of(&visit, &campaign, &price).await?;
        let words = if let Some(error) = price.as_ref().err().filter(|error| !is_too_long(error)) {
            Some(sentence(&format!("nothing was sent: {}", in_words(error))))
        } else if !visit.person.mode.is_test() && confirmed(&price) != sent.price {
            Some(price_changed(sent.price, confirmed(&price)))
        } else if is_agreed(&form, &gaps) {
            None
        } else {
            Some(NOT_AGREED.to_owned())
        };
        if let Some(words) = words {
            let problems = notice(Notice::Bad, &html! { p { (words) } });
            return again(&visit, &campaign, sent, problems, &FieldTroubles::none()).await;
        }
    }
    match visit.handle().keyed(Some(key)).campaign_launch(campaign.id, options).await {
        Ok(made) => {
            let said = match made.value.quiet_hours {
                QuietHoursApplied::Yes => Said::CampaignWaits,
                QuietHoursApplied::No => Said::CampaignLaunched,
            };
            Ok(Reply::moved(address(campaign.id)).saying(said))
        }
        Err(Error::NotFound(_)) => Err(Trouble::NotFound),
        Err(error) => {
            let campaign = visit.handle().campaign_get(campaign.id).await?;
            if campaign.launch.is_some() {
                // Whatever else may be wrong with this form, the campaign went without it.
                return refused(&visit, &campaign, &Error::CampaignAlreadyLaunched).await;
            }
            let troubles = FieldTroubles::of(&error);
            let problems = notice(Notice::Bad, &html! { p { (sentence(&in_words(&error))) } });
            again(&visit, &campaign, sent, problems, &troubles).await
        }
    }
}

fn price_changed(shown: Option<u64>, now: Option<u64>) -> String {
    let words = |price: Option<u64>| price.map_or_else(|| "not known".to_owned(), credits);
    format!(
        "The price has changed: it was {}, and now it is {}. Nothing was sent.",
        words(shown),
        words(now)
    )
}

/// The question once more, with the price of now and what was typed.
async fn again(
    visit: &AccountVisit,
    campaign: &Campaign,
    sent: LaunchForm,
    problems: Markup,
    troubles: &FieldTroubles,
) -> Outcome {
    let price = price_of(visit, campaign).await;
    let gaps = gaps_of(visit, campaign, &price).await?;
    let shown = LaunchForm { price: confirmed(&price), ..sent };
    let question = Question { campaign, price: &price, gaps: &gaps, shown: &shown };
    Ok(Reply::Again(question.page(visit, &problems, troubles)))
}

/// When it would go, for the time that the person is choosing.
async fn when(visit: AccountVisit) -> Outcome {
    let campaign = visit.handle().campaign_get(visit.params.id()?).await?;
    let sent = LaunchForm::sent(&visit.form().await?);
    Ok(Reply::Fragment(departure(&visit, &campaign, &sent)))
}

fn departure(visit: &AccountVisit, campaign: &Campaign, form: &LaunchForm) -> Markup {
    let (settings, now) = (&visit.person.account.settings, visit.now());
    match form.options().map(|options| (options.check(now), options)) {
        Ok((None, options)) => {
            html! { (departure_in_words(campaign, &options, settings, now)) }
        }
        Ok((Some(trouble), _)) => html! { (sentence(&trouble.message)) },
        Err(_) => html! {},
    }
}

/// What the page asks: whether to launch for this price.
#[derive(Debug, Clone, Copy)]
struct Question<'a> {
    campaign: &'a Campaign,
    price: &'a Price,
    gaps: &'a FieldGaps,
    shown: &'a LaunchForm,
}

impl Question<'_> {
    fn page(&self, visit: &AccountVisit, problems: &Markup, troubles: &FieldTroubles) -> Page {
        let Self { campaign, price, gaps, shown } = *self;
        let path = address(campaign.id);
        let title = format!("Launch “{}”?", campaign.name);
        let is_test = visit.person.mode.is_test();
        let action = match shown.price.filter(|_| !is_test) {
            Some(price) => format!("Launch for {}", credits(price)),
            None => "Launch".to_owned(),
        };
        let at = Field::moment("schedule_at", "Send at")
            .optional()
            .value(&shown.at)
            .hint("London time. Leave it empty to send now.")
            .trouble(troubles.get("schedule_at"));
        let content = html! {
            (head(&title).back(&campaign.name, &path))
            (problems)
            div.columns {
                section.card.stack {
                    h2 { "Price" }
                    (self.price(visit.person.mode))
                    @if let Ok(quote) = price { (rejections(&quote.rejected)) }
                }
                section.card {
                    h2 { "Launch" }
                    form.form method="post" action={ (path) "/launch" } aria-label="Launch"
                        data-preview={ (path) "/launch/when" } data-preview-into="departure" {
                        input type="hidden" name="csrf" value=(visit.csrf());
                        input type="hidden" name="key" value=(shown.key);
                        input type="hidden" name="price" value=[shown.price];
                        (at)
                        p #departure role="status" { (departure(visit, campaign, shown)) }
                        (agreement(gaps))
                        div.actions {
                            (link("Go back", &path))
                            (submit(action).kind(Kind::Main))
                        }
                    }
                }
            }
        };
        Page::new(title, content)
    }

    fn price(&self, mode: Mode) -> Markup {
        match self.price {
            Err(error) => html! {
                p.big-price { "The price is not known" }
                p { (sentence(&in_words(error))) }
            },
            Ok(quote) => html! {
                p { "It goes to " (counted_as(quote.recipients as u64, "person", "people")) "." }
                (big_price(quote.credits, mode))
                @if !mode.is_test() { (balance(quote)) }
                @if let Some(first) = &quote.preview {
                    div.stack-tight {
                        h3 { "As the first person reads it" }
                        div.preview { (first) }
                    }
                }
            },
        }
    }
}

fn balance(quote: &Quote) -> Markup {
    if quote.credits > quote.balance {
        return notice(
            Notice::Bad,
            &html! { p { "The balance is " (credits(quote.balance)) ": this will be refused." } },
        );
    }
    html! { p { "The balance is " (credits(quote.balance)) "." } }
}

#[cfg(test)]
mod tests {
    use sms_core::FieldError;

    use super::*;

    #[test]
    fn only_a_list_that_is_too_long_is_launched_without_a_price() {
        let invalid = |fields: &[(&str, &'static str)]| {
            let errors = fields.iter().map(|(field, code)| FieldError::new(*field, *code, ""));
            Error::Invalid(errors.collect())
        };
        assert!(is_too_long(&invalid(&[("list_id", "too_many")])));
        for other in [
            invalid(&[("to", "too_many")]),
            invalid(&[("list_id", "no_recipients")]),
            invalid(&[("list_id", "too_many"), ("body", "too_long")]),
            invalid(&[]),
            Error::UnknownReference { resource: "list", id: "lst_1".to_owned() },
            Error::TooManyPlans,
            Error::TooManyPlansInAll,
            Error::Busy,
        ] {
            assert!(!is_too_long(&other), "{other:?}");
        }
    }
}
