//! The operator's new numbers, once for an idempotency key.

use super::keyed::Keyed;
use super::operator::{NumberInput, Operator, no_number, valid};
use crate::error::Error;
use crate::idempotency::{Made, Once};
use crate::number::release::{AddPlan, Quarantine};
use crate::number::store::{KeptNumber, NumberCreated, NumbersWanted};
use crate::number::{Holder, Number};
use crate::phone::{E164, parse_any};
use crate::route_name::RouteName;

impl Keyed<Operator> {
    /// [`Operator::number_create`], once for the key. A repetition returns the number as it was
    /// added, with its rent as it is now.
    pub async fn number_create(&self, input: NumberInput) -> Result<Made<Number>, Error> {
        let operator = &self.handle;
        valid(operator.number_check(&input))?;
        let phone =
            parse_any(&input.phone_number).map_err(|_| Error::Invalid(vec![no_number()]))?;
        let claim = self.claim("number_create", |fields| {
            let NumberInput {
                phone_number: _,
                account,
                route,
                rental_credits,
                monthly_credits,
                quarantine,
            } = &input;
            fields.add("phone", [phone.to_string()]);
            fields.add("account", account.map(|id| id.to_string()));
            fields.add("route", route.as_ref().map(RouteName::as_str));
            fields.add("rental_credits", [rental_credits.get().to_string()]);
            fields.add("monthly_credits", [monthly_credits.get().to_string()]);
            fields.add("force", (*quarantine == Quarantine::Override).then_some(""));
        });
        let claim = claim.as_ref();
        if let Some(kept) = self.earlier::<Number>(claim).await? {
            return Ok(Made::again(operator.with_rent(numbered(input, phone, kept)).await?));
        }
        let at = operator.sms.now();
        // The next check-in of its route may be a minute away.
        let is_connected = operator.is_connected(input.route.as_ref());
        let checked_in_at = is_connected.then_some(at);
        let kept = KeptNumber { id: operator.sms.ids(at).next(), at, checked_in_at };
        let quarantine = input.quarantine;
        let number = numbered(input.clone(), phone, kept);
        let plan = AddPlan { number: number.clone(), quarantine };
        match operator.sms.store().number_create(plan, claim).await? {
            Once::Done(NumberCreated::Created) => {
                Ok(Made::first(operator.first_rent(number).await?))
            }
            Once::Done(NumberCreated::NumberExists) => Err(Error::NumberExists),
            Once::Done(NumberCreated::Quarantined(until)) => {
                Err(Error::NumberQuarantined { until })
            }
            Once::Done(NumberCreated::NoSuchAccount) => {
                let id = input.account.map(|id| id.to_string()).unwrap_or_default();
                Err(Error::UnknownReference { resource: "account", id })
            }
            Once::Earlier(earlier) => {
                let claim = claim.ok_or(Error::IdempotencyConflict)?;
                let kept = claim.answer::<Number>(&earlier)?;
                Ok(Made::again(operator.with_rent(numbered(input, phone, kept)).await?))
            }
        }
    }
}

impl Operator {
    /// Takes the first rent of a number that was just assigned. Returns the number afterwards.
    async fn first_rent(&self, number: Number) -> Result<Number, Error> {
        if let (Some(account), Some(_)) = (number.holder.account(), number.next_rent_at) {
            self.sms.charge_account(account).await;
        }
        self.with_rent(number).await
    }

    /// The number with its rent as it is now, if its account still has it.
    async fn with_rent(&self, number: Number) -> Result<Number, Error> {
        let (Some(account), Some(_)) = (number.holder.account(), number.next_rent_at) else {
            return Ok(number);
        };
        let held = NumbersWanted::HeldBy(account);
        let held = self.sms.store().number_list(held).await?;
        Ok(match held.into_iter().find(|held| held.id == number.id) {
            Some(Number { rental_charged_at, next_rent_at, .. }) => {
                Number { rental_charged_at, next_rent_at, ..number }
            }
            None => number,
        })
    }
}

/// The number that a request adds.
fn numbered(input: NumberInput, phone: E164, kept: KeptNumber) -> Number {
    let NumberInput {
        phone_number: _,
        account,
        route,
        rental_credits,
        monthly_credits,
        quarantine: _,
    } = input;
    let KeptNumber { id, at, checked_in_at } = kept;
    let mut number = Number {
        id,
        phone,
        holder: account.map_or(Holder::Shared, Holder::Dedicated),
        route,
        rental_credits,
        monthly_credits,
        rental_charged_at: None,
        next_rent_at: None,
        assigned_at: at,
        checked_in_at,
    };
    number.next_rent_at = number.rent_due_at();
    number
}
