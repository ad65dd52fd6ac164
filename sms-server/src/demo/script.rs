//! What the demo's people write: a restaurant, those who work for it, and those who come.

use sms_core::ids::AccountId;

/// The name of the demo's account.
pub(super) const NAME: &str = "Demo";
/// The id of the account, which tells that a store has had one: anybody may have the name, and the
/// operator may change it. No other id is as old.
pub(super) const ID: AccountId = AccountId::from_u128(0xDE30);

/// A contact by role, with the last three digits of its number in 07700 900xxx.
#[derive(Debug, Clone, Copy)]
pub(super) struct Role {
    pub name: &'static str,
    pub number: u16,
    pub group: Group,
}

/// The list that a contact is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Regulars,
    Suppliers,
    Staff,
}

/// A message of a conversation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Line {
    /// From the person.
    In(&'static str),
    /// From the account.
    Out(&'static str),
}

/// A conversation: how many days ago, from which minute of the day, with whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Talk {
    pub days_ago: u32,
    pub minute: u32,
    pub with: &'static str,
    pub lines: &'static [Line],
}

use Group::{Regulars, Staff, Suppliers};
use Line::{In, Out};

const fn role(name: &'static str, number: u16, group: Group) -> Role {
    Role { name, number, group }
}

/// Everybody in the address book. The numbers from 901 on have outcomes of their own.
pub(super) const ROLES: [Role; 44] = [
    role("Supplier", 101, Suppliers),
    role("Bakery", 102, Suppliers),
    role("Butcher", 103, Suppliers),
    role("Dairy", 104, Suppliers),
    role("Fishmonger", 105, Suppliers),
    role("Florist", 106, Suppliers),
    role("Greengrocer", 107, Suppliers),
    role("Laundry", 108, Suppliers),
    role("Plumber", 109, Suppliers),
    role("Taxi firm", 110, Suppliers),
    role("Window cleaner", 111, Suppliers),
    role("Wine merchant", 112, Suppliers),
    role("Front desk", 121, Staff),
    role("Bar manager", 122, Staff),
    role("Events planner", 123, Staff),
    role("Head chef", 124, Staff),
    role("Kitchen porter", 125, Staff),
    role("Pastry chef", 126, Staff),
    role("Waiter, weekdays", 127, Staff),
    role("Waiter, weekends", 128, Staff),
    role("Bank branch", 141, Regulars),
    role("Birthday, table 12", 142, Regulars),
    role("Book club", 143, Regulars),
    role("Bowls club", 144, Regulars),
    role("Chess club", 145, Regulars),
    role("Choir", 146, Regulars),
    role("Concierge", 147, Regulars),
    role("Cycling club", 148, Regulars),
    role("Football club", 149, Regulars),
    role("Garden society", 150, Regulars),
    role("Letting agent", 151, Regulars),
    role("Library", 152, Regulars),
    role("Neighbour upstairs", 153, Regulars),
    role("Office party", 154, Regulars),
    role("Regular, table 4", 155, Regulars),
    role("Regular, table 9", 156, Regulars),
    role("Regular, window", 157, Regulars),
    role("School office", 158, Regulars),
    role("Theatre box office", 159, Regulars),
    role("Walking group", 160, Regulars),
    role("Wedding party", 161, Regulars),
    role("Regular, old number", 902, Regulars),
    role("Regular, abroad", 903, Regulars),
    role("Fax line", 901, Suppliers),
];

/// Conversations that are told in full.
pub(super) const TALKS: [Talk; 14] = [
    Talk {
        days_ago: 29,
        minute: 11 * 60 + 12,
        with: "Office party",
        lines: &[
            In("Hello, can you take a party of 22 on a Thursday?"),
            Out("With pleasure. We can give you the whole upper floor from 6pm. Any diets?"),
            In("Three vegetarians and one gluten free"),
            Out("Noted. I'll send a menu to choose from."),
        ],
    },
    Talk {
        days_ago: 26,
        minute: 8 * 60 + 40,
        with: "Supplier",
        lines: &[
            In("Delivery moves to Thursday morning, is 7:30 all right?"),
            Out("Yes, 7:30 works. Please use the back door."),
            In("Will do 👍"),
        ],
    },
    Talk {
        days_ago: 23,
        minute: 15 * 60 + 5,
        with: "Wedding party",
        lines: &[
            In("We'd like to see the garden room again before we decide"),
            Out("Any weekday before noon is quiet. Shall we say Wednesday at 10?"),
            In("Perfect, see you then"),
        ],
    },
    Talk {
        days_ago: 20,
        minute: 9 * 60 + 20,
        with: "Plumber",
        lines: &[
            Out("The dishwasher drains slowly again. Could you look at it this week?"),
            In("Tomorrow between 2 and 4"),
            Out("Thank you, somebody will be here."),
        ],
    },
    Talk {
        days_ago: 17,
        minute: 18 * 60 + 31,
        with: "Regular, table 4",
        lines: &[
            In("Running 15 minutes late, please keep our table"),
            Out("No problem, it's yours until 8."),
        ],
    },
    Talk {
        days_ago: 14,
        minute: 10 * 60 + 2,
        with: "Wine merchant",
        lines: &[
            In("The Rioja is out of stock until next month. Tempranillo instead?"),
            Out("Yes please, two cases. Same price?"),
            In("£4 less a case"),
        ],
    },
    Talk {
        days_ago: 11,
        minute: 12 * 60 + 45,
        with: "Theatre box office",
        lines: &[
            In("The play ends at 21:40 on Friday. Can you serve 8 people afterwards?"),
            Out("Last orders are at 22:15, so that works. Which name shall we write down?"),
            In("Box office, thanks"),
        ],
    },
    Talk {
        days_ago: 9,
        minute: 9 * 60 + 55,
        with: "Laundry",
        lines: &[
            In("40 napkins short today, the rest comes tomorrow"),
            Out("Please before 11, we have a full house."),
        ],
    },
    Talk {
        days_ago: 7,
        minute: 16 * 60 + 18,
        with: "School office",
        lines: &[
            In("Do you have high chairs? We are 6 adults, 9 children"),
            Out("We have four, and two booster seats. Shall I book you the corner by the window?"),
            In("Yes please!"),
        ],
    },
    Talk {
        days_ago: 4,
        minute: 13 * 60 + 9,
        with: "Waiter, weekends",
        lines: &[
            In("Could I swap Saturday for Friday?"),
            Out("If the other waiter agrees, yes. Tell me by tonight."),
            In("Agreed with them, thank you"),
        ],
    },
    Talk {
        days_ago: 2,
        minute: 17 * 60 + 40,
        with: "Neighbour upstairs",
        lines: &[
            In("The music was rather loud last night"),
            Out("We are sorry. It ends at 22:00 from now on, and we turn it down at 21:00."),
            In("Thank you, appreciated"),
        ],
    },
    Talk {
        days_ago: 1,
        minute: 11 * 60 + 26,
        with: "Events planner",
        lines: &[
            In("The band confirmed for the 12th. They need two sockets by the stage"),
            Out("There are four. Does the price still stand?"),
            In("It does. Contract follows by email"),
        ],
    },
    Talk {
        days_ago: 1,
        minute: 16 * 60 + 3,
        with: "Florist",
        lines: &[In("Tulips or ranunculus for the weekend? I order at 5")],
    },
    Talk {
        days_ago: 1,
        minute: 19 * 60 + 48,
        with: "Regular, window",
        lines: &[In("Lovely evening, thank you! Did I leave a grey scarf at table 6?")],
    },
];

/// What guests answer to a reminder; the first one most often.
pub(super) const ANSWERS: [&str; 6] = [
    "1",
    "1",
    "Yes, see you tonight",
    "Can we make it 8 instead of 7?",
    "There will be one more of us, is that ok?",
    "Sorry, we have to cancel this time",
];

/// Orders to suppliers, by the day.
pub(super) const ORDERS: [(&str, &str); 6] = [
    ("Bakery", "For tomorrow please: 30 rolls, 6 sourdough, 2 rye"),
    ("Dairy", "For tomorrow please: 12 l milk, 4 l cream, 3 kg butter"),
    ("Greengrocer", "For tomorrow please: 2 boxes of leeks, 10 kg potatoes, mint"),
    ("Fishmonger", "For tomorrow please: 6 kg cod, 4 kg mussels"),
    ("Butcher", "For tomorrow please: 8 kg shoulder of lamb, bones for stock"),
    ("Supplier", "For tomorrow please: olive oil 10 l, rice 5 kg, paper towels"),
];

/// The text of the daily reminder.
pub(super) const REMINDER: &str =
    "Hi {first_name}, your table is booked for tonight at 7pm. Reply 1 to confirm.";
