//! Keys, numbers and reads: what each account may see.

use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::account::store::KeyCreated;
use sms_core::ids::{AccountId, ApiKeyId, MessageId, NumberId};
use sms_core::message::Message;
use sms_core::number::Holder;
use sms_core::number::release::{AddPlan, Quarantine};
use sms_core::number::store::NumberCreated;
use sms_core::time::Timestamp;

use super::record::amount;
use super::rent::THIRTY_DAYS;
use super::{Check, Model, OwnNumber};

impl Model {
    /// A key was made.
    pub fn saw_key(&mut self, key: &KeyRecord, answer: KeyCreated) -> Check {
        let known = self.accounts.contains_key(&key.account);
        ensure!((answer == KeyCreated::Created) == known, "a new key answers {answer:?}");
        if known {
            self.keys.insert(key.hash, (key.account, key.id, false));
        }
        Ok(())
    }

    /// A key was looked up.
    pub fn saw_key_found(&self, hash: KeyHash, answer: Option<&KeyRecord>) -> Check {
        let own = self.keys.get(&hash).copied();
        let told = answer.map(|key| (key.account, key.id, key.revoked_at.is_some()));
        ensure!(told == own, "a key was found as {told:?} and is {own:?}");
        Ok(())
    }

    /// A key was revoked.
    pub fn saw_key_revoked(
        &mut self,
        account: AccountId,
        id: ApiKeyId,
        answer: Option<&KeyRecord>,
    ) -> Check {
        let own = self.keys.values_mut().find(|key| (key.0, key.1) == (account, id));
        ensure!(own.is_some() == answer.is_some(), "revoking {id} answers {answer:?}");
        if let Some(key) = own {
            key.2 = true;
        }
        let revoked = answer.is_none_or(|key| key.revoked_at.is_some());
        ensure!(revoked, "{id} was revoked and is not");
        Ok(())
    }

    /// A number was added, or was there already.
    pub fn saw_number(&mut self, plan: &AddPlan, answer: NumberCreated) -> Check {
        let number = &plan.number;
        let known = self.numbers.values().any(|own| own.phone == number.phone);
        let quarantined = self.releases.get(&number.phone).and_then(|(holder, at)| {
            let until = at.plus(THIRTY_DAYS);
            let is_kept = *holder != number.holder && number.assigned_at < until;
            (is_kept && plan.quarantine == Quarantine::Respect).then_some(until)
        });
        let must = match (known, quarantined) {
            (true, _) => NumberCreated::NumberExists,
            (false, Some(until)) => NumberCreated::Quarantined(until),
            (false, None) => NumberCreated::Created,
        };
        ensure!(answer == must, "a new number answers {answer:?} and must answer {must:?}");
        if must == NumberCreated::Created {
            let rent = match number.holder {
                Holder::Dedicated(_) => amount(number.rental_credits.get()),
                Holder::Shared => 0,
            };
            let own = OwnNumber {
                phone: number.phone,
                holder: number.holder,
                route: number.route.clone(),
                checked_in_at: None,
                rent,
                assigned_at: number.assigned_at,
                periods: 0,
                next_rent_at: (rent > 0).then_some(number.assigned_at),
            };
            self.numbers.insert(number.id, own);
        }
        Ok(())
    }

    /// A number was removed.
    pub fn saw_number_gone(&mut self, id: NumberId, at: Timestamp, answer: bool) -> Check {
        let gone = self.numbers.remove(&id);
        let known = gone.is_some();
        if let Some(gone) = gone {
            self.releases.insert(gone.phone, (gone.holder, at));
        }
        ensure!(known == answer, "removing {id} answers {answer}");
        Ok(())
    }

    /// An account read a message.
    pub fn saw_message_read(
        &self,
        account: AccountId,
        id: MessageId,
        answer: Option<&Message>,
    ) -> Check {
        let own = self.messages.get(&id).map(|text| &text.last);
        let own = own.filter(|text| text.account == account);
        ensure!(answer == own, "{account} reads {answer:?} where {own:?} is");
        Ok(())
    }
}
