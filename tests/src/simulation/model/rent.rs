//! Rent: each period of thirty days since the assignment is taken once, in order, as far as the
//! balance covers it.

use std::time::Duration;

use sms_core::credits::ledger::Cause;
use sms_core::ids::{AccountId, NumberId};
use sms_core::number::rent::{RentScope, RentsCharged};
use sms_core::number::store::NumbersWanted;
use sms_core::time::Timestamp;

use super::record::amount;
use super::{Check, Model, Moment, OwnNumber, read};

pub(super) const THIRTY_DAYS: Duration = Duration::from_hours(30 * 24);
const AN_HOUR: Duration = Duration::from_hours(1);
const SEVEN_DAYS: Duration = Duration::from_hours(7 * 24);

impl OwnNumber {
    /// When a period, counted from 0, falls due.
    fn due_at(&self, period: u32) -> Timestamp {
        self.assigned_at.plus(THIRTY_DAYS * period)
    }

    /// Whether its rent has been owed for so long that nothing is sent from it.
    pub(super) fn is_stopped(&self, at: Timestamp) -> bool {
        self.rent > 0 && at >= self.due_at(self.periods).plus(SEVEN_DAYS)
    }
}

impl Model {
    /// Rent was taken.
    pub fn saw_rents(
        &mut self,
        moment: &Moment<'_>,
        at: Timestamp,
        scope: RentScope,
        answer: RentsCharged,
    ) -> Check {
        let mut looked_at: Vec<(Option<Timestamp>, NumberId)> = self
            .numbers
            .iter()
            .filter(|(_, own)| match scope {
                RentScope::Due(_) => own.next_rent_at.is_some_and(|next| next <= at),
                RentScope::Account(id) => own.holder.account() == Some(id),
            })
            .map(|(id, own)| (own.next_rent_at, *id))
            .collect();
        match scope {
            RentScope::Due(limit) => {
                looked_at.sort_unstable();
                looked_at.truncate(limit);
            }
            RentScope::Account(_) => {}
        }
        let (mut told, mut accounts) = (RentsCharged::default(), Vec::new());
        for (_, id) in looked_at {
            let (taken, is_unpaid) = self.take_rent(at, id)?;
            told.taken += taken;
            told.unpaid += usize::from(is_unpaid);
            accounts.extend(self.numbers.get(&id).and_then(|own| own.holder.account()));
            self.check_rent(moment, id)?;
        }
        ensure!(answer == told, "taking rent answers {answer:?} and did {told:?}");
        self.tally.rents += told.taken as u64;
        accounts.dedup();
        accounts.into_iter().try_for_each(|id: AccountId| self.check_ledger(moment, id))
    }

    /// How many periods of a number must have been taken, and whether more are owed.
    fn take_rent(&mut self, at: Timestamp, id: NumberId) -> Result<(usize, bool), String> {
        let own = self.numbers.get_mut(&id).ok_or_else(|| format!("no number {id}"))?;
        let holder = own.holder.account().and_then(|id| self.accounts.get_mut(&id));
        let Some(holder) = holder.filter(|_| own.rent > 0) else { return Ok((0, false)) };
        let mut taken = 0;
        while own.due_at(own.periods) <= at {
            // No run lasts for more periods than one commit takes.
            if holder.balance < own.rent {
                own.next_rent_at = Some(at.plus(AN_HOUR));
                return Ok((taken, true));
            }
            holder
                .book_entry(Cause::Rent { number: id, due_at: own.due_at(own.periods) }, -own.rent);
            holder.rented += own.rent;
            own.periods += 1;
            own.next_rent_at = Some(own.due_at(own.periods));
            taken += 1;
        }
        Ok((taken, false))
    }

    /// Checks that the number shows the due times of the last period taken and of the next.
    fn check_rent(&self, moment: &Moment<'_>, id: NumberId) -> Check {
        let own = self.numbers.get(&id).ok_or_else(|| format!("no number {id}"))?;
        let numbers = read(moment.books.number_list(NumbersWanted::All))?;
        let kept = numbers.into_iter().find(|number| number.id == id);
        let kept = kept.ok_or_else(|| format!("{id} vanished"))?;
        let charged_at = own.periods.checked_sub(1).map(|last| own.due_at(last));
        ensure!(
            (kept.rental_charged_at, kept.next_rent_at) == (charged_at, own.next_rent_at),
            "{id} says {:?} and {:?} of its rent, where {charged_at:?} and {:?} must be",
            kept.rental_charged_at,
            kept.next_rent_at,
            own.next_rent_at
        );
        ensure!(amount(kept.rental_credits.get()) == own.rent, "the rent of {id} changed");
        Ok(())
    }
}
