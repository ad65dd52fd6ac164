//! Numbers of the operator, shared by all accounts or rented to one.

use std::time::Duration;

use crate::credits::Credits;
use crate::ids::{AccountId, NumberId};
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::time::Timestamp;

pub mod release;
pub mod rent;
pub mod store;

/// How long a number counts as online after its gateway has checked in.
pub const ONLINE_FOR: Duration = Duration::from_mins(5);

/// Who may use a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Every account without an online dedicated number.
    Shared,
    /// The account that rents the number.
    Dedicated(AccountId),
}

impl Holder {
    /// The account that rents the number; `None` if the number is shared.
    pub fn account(self) -> Option<AccountId> {
        match self {
            Self::Shared => None,
            Self::Dedicated(account) => Some(account),
        }
    }
}

/// One of the operator's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// The id of the number.
    pub id: NumberId,
    /// The number in E.164; no other [`Number`] has the same.
    pub phone: E164,
    /// Who may use the number.
    pub holder: Holder,
    /// The route that carries its messages; `None` for the first configured route.
    pub route: Option<RouteName>,
    /// The credits that the holder pays every 30 days.
    pub rental_credits: Credits,
    /// The standard monthly rent, in credits.
    pub monthly_credits: Credits,
    /// When the last charged period fell due; `None` if no period was charged yet. This is not the
    /// time of the charge, so that periods do not drift.
    pub rental_charged_at: Option<Timestamp>,
    /// When to charge rent next, or to try again; `None` if no rent is owed, see
    /// [`Number::rent_due_at`].
    pub next_rent_at: Option<Timestamp>,
    /// When the number was assigned to its holder.
    pub assigned_at: Timestamp,
    /// When its gateway last checked in; `None` if never.
    pub checked_in_at: Option<Timestamp>,
}

impl Number {
    /// Whether the gateway of the number has checked in within the last five minutes.
    pub fn is_online(&self, now: Timestamp) -> bool {
        self.checked_in_at.is_some_and(|at| now.since(at) <= ONLINE_FOR)
    }

    /// Whether messages of this account may be sent from the number: it is the account's or shared,
    /// and its rent does not [stop it](Number::is_stopped).
    pub fn sends_for(&self, account: AccountId, now: Timestamp) -> bool {
        let is_usable = self.holder.account().is_none_or(|holder| holder == account);
        is_usable && !self.is_stopped(now)
    }
}

/// The number from which an account's messages are sent: its newest online dedicated number,
/// otherwise a shared number, otherwise its newest dedicated number even if that is offline. A
/// number that its rent [stops](Number::is_stopped) is none of them.
///
/// Of several shared numbers it is the oldest, so that recipients always see the same one.
pub(crate) fn sending_number(
    numbers: &[Number],
    account: AccountId,
    now: Timestamp,
) -> Option<&Number> {
    let usable = || numbers.iter().filter(|number| number.sends_for(account, now));
    let own = || usable().filter(|number| number.holder == Holder::Dedicated(account));
    let shared = || usable().filter(|number| number.holder == Holder::Shared);
    own()
        .filter(|number| number.is_online(now))
        .max_by_key(|number| number.id)
        .or_else(|| shared().min_by_key(|number| number.id))
        .or_else(|| own().max_by_key(|number| number.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(id: u128, holder: Holder, checked_in_at: Option<i64>) -> Number {
        Number {
            id: NumberId::from_u128(id),
            phone: E164::from_digits(447_700_900_000 + u64::try_from(id).unwrap()).unwrap(),
            holder,
            route: None,
            rental_credits: Credits::ZERO,
            monthly_credits: Credits::ZERO,
            rental_charged_at: None,
            next_rent_at: None,
            assigned_at: Timestamp::from_millis(0),
            checked_in_at: checked_in_at.map(Timestamp::from_millis),
        }
    }

    #[test]
    fn a_message_comes_from_the_accounts_newest_online_number_or_else_a_shared_one() {
        let me = AccountId::from_u128(1);
        let mine = Holder::Dedicated(me);
        let other = Holder::Dedicated(AccountId::from_u128(2));
        let now = Timestamp::from_millis(600_000);
        let chosen =
            |numbers: &[Number]| sending_number(numbers, me, now).map(|number| number.id.as_u128());
        let online = Some(300_000);
        let offline = Some(299_999);
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[number(1, other, online)]), None);
        assert_eq!(chosen(&[number(1, mine, offline), number(2, mine, None)]), Some(2));
        let shared = [number(3, Holder::Shared, None), number(4, Holder::Shared, online)];
        assert_eq!(chosen(&shared), Some(3));
        let all = [
            number(1, mine, online),
            number(2, mine, online),
            number(5, mine, offline),
            number(3, Holder::Shared, online),
            number(6, other, online),
        ];
        assert_eq!(chosen(&all), Some(2));
    }

    #[test]
    fn a_number_whose_rent_is_overdue_by_seven_days_is_no_sending_number() {
        let me = AccountId::from_u128(1);
        let mine = Holder::Dedicated(me);
        let rented = |id, credits| Number {
            rental_credits: Credits::new(credits).unwrap(),
            ..number(id, mine, Some(i64::MAX / 2))
        };
        let shared = || number(3, Holder::Shared, None);
        let week = 7 * 24 * 3_600_000;
        for (numbers, at, expected) in [
            (vec![rented(1, 5)], week - 1, Some(1)),
            (vec![rented(1, 5)], week, None),
            (vec![rented(1, 5), rented(2, 0)], week, Some(2)),
            (vec![rented(2, 5), rented(1, 0)], week, Some(1)),
            (vec![rented(1, 5), shared()], week, Some(3)),
            (vec![rented(1, 5), shared()], week - 1, Some(1)),
        ] {
            let now = Timestamp::from_millis(at);
            let chosen = sending_number(&numbers, me, now).map(|number| number.id.as_u128());
            assert_eq!(chosen, expected, "{at}");
        }
    }

    #[test]
    fn a_number_is_online_for_five_minutes_after_its_gateway_checked_in() {
        let now = Timestamp::from_millis(600_000);
        for (checked_in_at, is_online) in [
            (None, false),
            (Some(299_999), false),
            (Some(300_000), true),
            (Some(600_000), true),
            // The clock of another machine may be ahead.
            (Some(600_001), true),
        ] {
            let number = number(1, Holder::Shared, checked_in_at);
            assert_eq!(number.is_online(now), is_online, "{checked_in_at:?}");
        }
    }

    #[test]
    fn only_a_dedicated_number_belongs_to_an_account() {
        let account = AccountId::from_u128(1);
        assert_eq!(Holder::Dedicated(account).account(), Some(account));
        assert_eq!(Holder::Shared.account(), None);
    }
}
