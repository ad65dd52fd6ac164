//! Tracked links, by id, code, message and campaign.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::ids::{AccountId, CampaignId, LinkId, MessageId};
use sms_core::link::{Link, LinkCode, LinkFilter};

/// All tracked links, with the indexes by which they are found.
#[derive(Default)]
pub(crate) struct Links {
    pub(crate) rows: BTreeMap<(AccountId, LinkId), Link>,
    by_code: BTreeMap<LinkCode, (AccountId, LinkId)>,
    by_message: BTreeSet<(AccountId, MessageId, LinkId)>,
    by_campaign: BTreeSet<(AccountId, CampaignId, LinkId)>,
}

impl Links {
    /// Adds a new link.
    pub(crate) fn insert(&mut self, link: Link) {
        let (account, id) = (link.account, link.id);
        self.by_code.insert(link.code, (account, id));
        self.by_message.insert((account, link.message, id));
        if let Some(campaign) = link.campaign {
            self.by_campaign.insert((account, campaign, id));
        }
        self.rows.insert((account, id), link);
    }

    /// Whether any code is used twice among these links, or already belongs to another link.
    pub(crate) fn has_code_of<'a>(&self, new: impl IntoIterator<Item = &'a Link>) -> bool {
        let mut codes = BTreeSet::new();
        let mut new = new.into_iter();
        new.any(|link| !codes.insert(link.code) || self.by_code.contains_key(&link.code))
    }

    pub(crate) fn by_code(&self, code: LinkCode) -> Option<&Link> {
        self.rows.get(self.by_code.get(&code)?)
    }

    /// An account's links with ids below `before`, newest first, from the most selective index for
    /// this filter. The caller still applies the filter.
    pub(crate) fn newest_first<'a>(
        &'a self,
        account: AccountId,
        filter: LinkFilter,
        before: LinkId,
    ) -> Box<dyn Iterator<Item = &'a Link> + 'a> {
        let first = LinkId::from_u128(0);
        let link = move |id| self.rows.get(&(account, id));
        match filter {
            LinkFilter { message: Some(message), campaign: _ } => {
                let range = (account, message, first)..(account, message, before);
                Box::new(self.by_message.range(range).rev().filter_map(move |(.., id)| link(*id)))
            }
            LinkFilter { message: None, campaign: Some(campaign) } => {
                let range = (account, campaign, first)..(account, campaign, before);
                Box::new(self.by_campaign.range(range).rev().filter_map(move |(.., id)| link(*id)))
            }
            LinkFilter { message: None, campaign: None } => {
                let range = (account, first)..(account, before);
                Box::new(self.rows.range(range).rev().map(|(_, link)| link))
            }
        }
    }
}
