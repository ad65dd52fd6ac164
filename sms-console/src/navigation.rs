//! What the navigation leads to.

use crate::part::icon::Icon;

/// Pages that belong together.
#[derive(Debug)]
pub(crate) struct Group {
    pub title: &'static str,
    pub items: &'static [Item],
}

/// A page in the navigation.
#[derive(Debug)]
pub(crate) struct Item {
    pub text: &'static str,
    pub href: &'static str,
    pub icon: Icon,
    pub on: Server,
}

/// On which servers a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Any,
    Sandbox,
}

const fn item(text: &'static str, href: &'static str, icon: Icon) -> Item {
    Item { text, href, icon, on: Server::Any }
}

const fn in_sandbox(mut item: Item) -> Item {
    item.on = Server::Sandbox;
    item
}

/// What people of an account see.
pub(crate) const ACCOUNT: &[Group] = &[
    Group {
        title: "",
        items: &[
            item("Home", "/console", Icon::Home),
            item("Inbox", "/console/inbox", Icon::Inbox),
            item("Compose", "/console/compose", Icon::Compose),
            item("Messages", "/console/messages", Icon::Messages),
        ],
    },
    Group {
        title: "People",
        items: &[
            item("Contacts", "/console/contacts", Icon::Contacts),
            item("Lists", "/console/lists", Icon::Lists),
            item("Opt-outs", "/console/opt-outs", Icon::OptOuts),
        ],
    },
    Group {
        title: "Sending",
        items: &[
            item("Campaigns", "/console/campaigns", Icon::Campaigns),
            item("Templates", "/console/templates", Icon::Templates),
            item("Keywords", "/console/keywords", Icon::Keywords),
            item("Sender names", "/console/senders", Icon::Senders),
            item("Tracked links", "/console/links", Icon::Links),
        ],
    },
    Group { title: "Build", items: &[item("Developers", "/console/developers", Icon::Developers)] },
];

/// What the operator sees.
pub(crate) const OPERATOR: &[Group] = &[Group {
    title: "Operator",
    items: &[
        item("Accounts", "/console/operator/accounts", Icon::Accounts),
        item("Sender review", "/console/operator/senders", Icon::Senders),
        item("Numbers", "/console/operator/numbers", Icon::Numbers),
        item("Unrouted messages", "/console/operator/unrouted", Icon::Unrouted),
        item("Routes", "/console/operator/routes", Icon::Routes),
        in_sandbox(item("Sandbox", "/console/operator/sandbox", Icon::Sandbox)),
    ],
}];

impl Item {
    /// Whether the page at `path` is this one, or below it.
    pub(crate) fn is_current(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let below = path.strip_prefix(self.href).is_some_and(|rest| rest.starts_with('/'));
        path == self.href || (below && self.href != "/console")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_current_with_all_below_it_and_home_alone() {
        let is_current = |href, path| item("", href, Icon::Home).is_current(path);
        assert!(is_current("/console", "/console") && is_current("/console", "/console/"));
        assert!(!is_current("/console", "/console/inbox"));
        assert!(is_current("/console/lists", "/console/lists/lst_1"));
        assert!(!is_current("/console/lists", "/console/listsx"));
    }
}
