//! Names that are easily confused, and names that fraudsters often imitate.
//!
//! The operator sees them beside a request ([`of`]). They decide nothing by themselves.

use super::SenderName;
use crate::ids::AccountId;

/// Names that are often imitated in fraudulent messages in the UK: authorities, parcel services,
/// banks and shops.
const OFTEN_IMITATED: [&str; 44] = [
    "AMAZON",
    "AMEX",
    "APPLE",
    "ARGOS",
    "ASDA",
    "BARCLAYS",
    "BINANCE",
    "COINBASE",
    "COUNCIL",
    "COURT",
    "DHL",
    "DPD",
    "DVLA",
    "DWP",
    "EBAY",
    "EVRI",
    "FEDEX",
    "FIRSTDIRECT",
    "GOOGLE",
    "GOV.UK",
    "HALIFAX",
    "HERMES",
    "HMRC",
    "HSBC",
    "LLOYDS",
    "MONZO",
    "NATIONWIDE",
    "NATWEST",
    "NETFLIX",
    "NHS",
    "OFGEM",
    "PAYPAL",
    "PAYPOINT",
    "POLICE",
    "POST OFFICE",
    "REVOLUT",
    "ROYAL MAIL",
    "SANTANDER",
    "STARLING",
    "TSB",
    "TVLICENSING",
    "UPS",
    "VODAFONE",
    "WHATSAPP",
];

/// What a name looks like to somebody who glances at it: letters alone, with those that look alike
/// written as one.
fn look(name: &str) -> Vec<char> {
    let letters = name.to_lowercase().replace("rn", "m").replace("vv", "w");
    let seen = letters.chars().filter_map(|c| match c {
        '0' => Some('o'),
        '1' | 'l' | 'i' => Some('l'),
        '3' => Some('e'),
        '4' => Some('a'),
        '5' | '$' => Some('s'),
        '8' => Some('b'),
        c => c.is_alphanumeric().then_some(c),
    });
    seen.collect()
}

/// Whether people may take one name for the other: they look the same, one begins or ends with the
/// other (`HMRC-Refund`), or a single letter of a longer name differs.
pub fn look_alike(one: &str, other: &str) -> bool {
    let (one, other) = (look(one), look(other));
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    if one == other {
        return !one.is_empty();
    }
    let is_part = short.len() >= 3 && (long.starts_with(short) || long.ends_with(short));
    is_part || (short.len() >= 5 && is_one_letter_apart(short, long))
}

fn is_one_letter_apart(short: &[char], long: &[char]) -> bool {
    let same = short.iter().zip(long).take_while(|(one, other)| one == other).count();
    let (short_rest, long_rest) = (&short[same..], &long[same..]);
    match long.len() - short.len() {
        0 => short_rest.get(1..) == long_rest.get(1..),
        1 => Some(short_rest) == long_rest.get(1..),
        _ => false,
    }
}

/// What the operator should know of a requested name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Likeness {
    /// The often imitated names that it looks like.
    pub imitated: Vec<&'static str>,
    /// The names of other accounts that look like it.
    pub others: Vec<SenderName>,
    /// The other requests of its account, newest first.
    pub history: Vec<SenderName>,
}

/// Finds what a name looks like among these names, newest first.
pub fn of(name: &SenderName, among: &[SenderName]) -> Likeness {
    let value = name.value.as_str();
    let is_of = |account: AccountId| move |other: &&SenderName| other.account == account;
    let history = among.iter().filter(is_of(name.account)).filter(|other| other.id != name.id);
    let others = among.iter().filter(|other| !is_of(name.account)(other));
    let others = others.filter(|other| look_alike(value, other.value.as_str()));
    let imitated = OFTEN_IMITATED.into_iter().filter(|known| look_alike(value, known));
    Likeness {
        imitated: imitated.collect(),
        others: others.cloned().collect(),
        history: history.cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::SenderNameId;
    use crate::samples::now;

    #[test]
    fn names_that_people_take_for_one_another_look_alike() {
        for (one, other) in [
            ("HMRC", "hmrc"),
            ("HMRC", "H.M.R.C"),
            ("HMRC", "HMRC Refund"),
            ("HMRC", "MyHMRC"),
            ("PayPal", "PAYPA1"),
            ("PayPal", "Paypai"),
            ("BARCLAYS", "BARCIAYS"),
            ("BARCLAYS", "8arc1ay5"),
            ("ROYAL MAIL", "RoyalMail"),
            ("ROYAL MAIL", "R0yal-Mai1"),
            ("AMAZON", "ARNAZON"),
            ("AMAZON", "AMAZONE"),
            ("NETFLIX", "NETFLX"),
            ("MONZO", "MONZA"),
            ("WHATSAPP", "VVhatsApp"),
            ("CAFÉBAR", "CAFÈBAR"),
        ] {
            assert!(look_alike(one, other) && look_alike(other, one), "{one} and {other}");
        }
        for (one, other) in [
            ("HMRC", "Bistro"),
            ("NHS", "NAS"),
            ("TSB", "Bistro TS"),
            ("Bistro", "Barber"),
            ("MONZO", "MOZZA"),
            ("DHL", "DPD"),
        ] {
            assert!(!look_alike(one, other) && !look_alike(other, one), "{one} and {other}");
        }
    }

    #[test]
    fn a_request_is_shown_with_its_history_and_what_it_looks_like() {
        let name = |id: u128, account: u128, value: &str| {
            let account = AccountId::from_u128(account);
            let value = value.parse().unwrap();
            SenderName::requested(SenderNameId::from_u128(id), account, value, None, now())
        };
        let asked = name(1, 1, "Bistro 1");
        let among = [asked.clone(), name(2, 1, "Cafe"), name(3, 2, "BISTRO"), name(4, 2, "Garage")];
        let found = of(&asked, &among);
        let expected = Likeness {
            imitated: vec![],
            others: vec![among[2].clone()],
            history: vec![among[1].clone()],
        };
        assert_eq!(found, expected);
        assert_eq!(of(&name(5, 3, "Hmrc-Tax"), &among).imitated, ["HMRC"]);
    }

    proptest! {
        #[test]
        fn any_two_texts_can_be_compared_in_either_order(
            (one, other) in prop_oneof![
                (any::<String>(), any::<String>()),
                // Letters of several bytes, some of which begin with the same one.
                ("[aéèЖЗ€l1]{0,8}", "[aéèЖЗ€l1]{0,8}"),
            ]
        ) {
            prop_assert_eq!(look_alike(&one, &other), look_alike(&other, &one));
        }
    }
}
