//! Adding people to a list by their numbers.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::list::ContactList;
use sms_core::list::join::JoinInput;
use sms_core::service::list::ListJoined;

use crate::format::counted_as;
use crate::part::button::{Kind, link, submit};
use crate::part::field::Field;
use crate::part::form::{FormShell, form};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::AccountVisit;

const PATTERN: &str = "/console/lists/{id}/people";
/// How many of the numbers that were not added are named.
const MOST_NAMED: usize = 50;

pub(crate) fn places() -> Vec<Place> {
    vec![Place::get(PATTERN, account(ask)), Place::post(PATTERN, account(add))]
}

async fn ask(visit: AccountVisit) -> Outcome {
    let list = visit.handle().list_get(visit.params.id()?).await?;
    Ok(page(&list, visit.csrf(), "", html! {}).into())
}

async fn add(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let form = visit.form().await?;
    let sent = form.body("phones");
    let phones: Vec<String> = numbers_in(&sent).collect();
    let list = visit.handle().list_get(id).await?;
    if phones.is_empty() {
        let problems = notice(Notice::Bad, &html! { p { "Write at least one number." } });
        return Ok(Reply::Again(page(&list, visit.csrf(), &sent, problems)));
    }
    match visit.handle().list_add(id, JoinInput::default().phones(phones)).await {
        Ok(joined) if joined.invalid.is_empty() => {
            Ok(Reply::moved(format!("/console/lists/{id}")).saying(Said::PeopleAdded))
        }
        Ok(joined) => {
            let left = joined.invalid.join("\n");
            Ok(Reply::Again(page(&list, visit.csrf(), &left, left_out(&joined))))
        }
        Err(error @ Error::NotFound(_)) => Err(error.into()),
        Err(error) => Err(Trouble::Core(error)),
    }
}

/// The numbers in a text: one on each line, or with commas or semicolons between.
fn numbers_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let numbers = text.split([',', ';', '\n']).map(str::trim);
    numbers.filter(|number| !number.is_empty()).map(str::to_owned)
}

fn left_out(joined: &ListJoined) -> Markup {
    let added = joined.added as u64;
    let were = if added == 1 { "was" } else { "were" };
    notice(
        Notice::Bad,
        &html! {
            p { (counted_as(added, "person", "people")) " " (were) " added." }
            p { "These are not UK mobile numbers:" }
            ul {
                @for number in joined.invalid.iter().take(MOST_NAMED) { li { (number) } }
            }
        },
    )
}

fn page(list: &ContactList, csrf: &str, numbers: &str, problems: Markup) -> Page {
    let path = format!("/console/lists/{}", list.id);
    let field = Field::text_area("phones", "Numbers", 6)
        .required()
        .value(numbers)
        .hint("One per line, or separated by commas. New numbers become contacts.");
    let buttons = [link("Back to the list", &path), submit("Add them").kind(Kind::Main)];
    let shell = FormShell {
        label: "Add people",
        to: &format!("{path}/people"),
        csrf,
        problems,
        fields: html! { (field) },
        buttons: &buttons,
    };
    let content = html! {
        (head("Add people").back(&list.name, &path))
        (form(&shell))
    };
    Page::new("Add people", content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_on_lines_or_between_commas() {
        let numbers: Vec<String> = numbers_in("07700 900411\n07700 900412, x;\n ,").collect();
        assert_eq!(numbers, ["07700 900411", "07700 900412", "x"]);
    }
}
