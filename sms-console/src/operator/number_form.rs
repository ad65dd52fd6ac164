//! The form of a new number.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::account::Account;
use sms_core::credits::Credits;
use sms_core::number::release::Quarantine;
use sms_core::route::RouteName;
use sms_core::service::operator::NumberInput;

use crate::form::{FieldTroubles, Form};
use crate::part::field::Field;

/// What the form of a new number holds.
#[derive(Debug, Clone)]
pub(super) struct NumberForm {
    phone: String,
    account: String,
    rental: String,
    route: String,
    quarantine: Quarantine,
    /// Whether the number was refused because another holder has just released it.
    asks_for_quarantine: Asks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Yes,
    No,
}

impl Default for NumberForm {
    fn default() -> Self {
        Self {
            phone: String::new(),
            account: String::new(),
            rental: "0".to_owned(),
            route: String::new(),
            quarantine: Quarantine::Respect,
            asks_for_quarantine: Asks::No,
        }
    }
}

impl NumberForm {
    /// The fields that say themselves what is wrong with them.
    pub(super) const SHOWN: [&str; 4] = ["phone_number", "account_id", "rental_credits", "route"];

    /// What the operator sent with the form.
    pub(super) fn sent(form: &Form) -> Self {
        let text = |name| form.text(name).to_owned();
        let is_forced = form.checked("force").is_yes();
        Self {
            phone: text("phone_number"),
            account: text("account_id"),
            rental: text("rental_credits"),
            route: text("route"),
            quarantine: if is_forced { Quarantine::Override } else { Quarantine::Respect },
            asks_for_quarantine: if is_forced { Asks::Yes } else { Asks::No },
        }
    }

    /// Asks whether the number is to be added all the same, if that is why it was refused.
    pub(super) fn note_refusal(&mut self, error: &Error) {
        if matches!(error, Error::NumberQuarantined { .. }) {
            self.asks_for_quarantine = Asks::Yes;
        }
    }

    /// The new number, or which fields cannot be read.
    pub(super) fn input(&self) -> Result<NumberInput, FieldTroubles> {
        let none = FieldTroubles::none;
        let rental = if self.rental.is_empty() { "0" } else { &self.rental };
        let rental = rental.parse().ok().and_then(|amount| Credits::new(amount).ok());
        let rental = rental
            .ok_or_else(|| none().with("rental_credits", "Give a whole number, 0 or more."))?;
        let input = if self.account.is_empty() {
            NumberInput::shared(&*self.phone)
        } else {
            let account = self.account.parse();
            let account =
                account.map_err(|_| none().with("account_id", "Choose one of the accounts."))?;
            let input = NumberInput::dedicated(&*self.phone, account);
            input.rental_credits(rental).monthly_credits(rental)
        };
        let route = Some(&*self.route).filter(|route| !route.is_empty()).map(RouteName::new);
        Ok(input.route(route).quarantine(self.quarantine))
    }

    /// The fields of the form, with what is wrong with them.
    pub(super) fn fields(&self, accounts: &[Account], troubles: &FieldTroubles) -> Markup {
        let phone = Field::tel("phone_number", "Number").required().value(&*self.phone);
        let shared = (String::new(), "Shared by all".to_owned());
        let accounts = accounts.iter().map(|one| (one.id.to_string(), one.name.clone()));
        let accounts = std::iter::once(shared).chain(accounts);
        let account = Field::select("account_id", "Account", accounts).value(&*self.account);
        let rental = "Rent in credits every 30 days";
        let rental = Field::input("rental_credits", rental, "number").step("1");
        let rental = rental.hint("The first is taken at once. A shared number has none.");
        let route = Field::text("route", "Route").optional().value(&*self.route);
        let force = Field::check("force", "Add it even if another holder released it recently");
        html! {
            (phone.trouble(troubles.get("phone_number")))
            (account.trouble(troubles.get("account_id")))
            (rental.value(&*self.rental).trouble(troubles.get("rental_credits")))
            (route.trouble(troubles.get("route")))
            @if self.asks_for_quarantine == Asks::Yes {
                (force.ticked_if(self.quarantine == Quarantine::Override))
            }
        }
    }
}
