//! Trying a draft: its text goes to a number of one's own before it goes to everybody.

use maud::html;
use sms_core::Error;
use sms_core::sending::SendRequest;

use super::campaign::{address, campaign_page};
use super::trying::Trying;
use crate::form::{FieldTroubles, sentence};
use crate::key::{key_again, key_of, new_key};
use crate::part::notice::{Notice, in_words, notice};
use crate::place::{Place, account};
use crate::reply::{Outcome, Reply};
use crate::said::Said;
use crate::visit::AccountVisit;

pub(crate) fn places() -> Vec<Place> {
    vec![Place::post("/console/campaigns/{id}/try", account(send))]
}

/// What is said about a campaign that is no draft any more.
const LAUNCHED: &str = "The campaign has been launched. Only a draft can be tried.";

async fn send(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let campaign = visit.handle().campaign_get(visit.params.id()?).await?;
    if campaign.launch.is_some() {
        let problem = notice(Notice::Bad, &html! { p { (LAUNCHED) } });
        return Ok(Reply::Again(
            campaign_page(&visit, &campaign, problem, &Trying::fresh()).await?,
        ));
    }
    let mut request = SendRequest::new(campaign.body.as_str()).to(form.text("to"));
    request.sender.clone_from(&campaign.sender);
    request.append_opt_out = campaign.append_opt_out;
    request.track_links = campaign.track_links;
    let request = request.idempotency_key(key_of(&form)?);
    let trying = match visit.handle().send(request).await {
        Ok(sent) if sent.messages.is_empty() => {
            let words = "This number cannot be texted. Nothing was sent.".to_owned();
            // Under the same key the service would say so again, even after an opt-in.
            Trying::again(&form, new_key(), words)
        }
        Ok(_) => return Ok(Reply::moved(address(campaign.id)).saying(Said::TriedDraft)),
        Err(error @ Error::NotFound(_)) => return Err(error.into()),
        Err(error) => {
            let troubles = FieldTroubles::of(&error);
            let words = troubles.get("to").map(str::to_owned);
            let words = words.unwrap_or_else(|| sentence(&in_words(&error)));
            Trying::again(&form, key_again(&form, &error), words)
        }
    };
    Ok(Reply::Again(campaign_page(&visit, &campaign, html! {}, &trying).await?))
}
