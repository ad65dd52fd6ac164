//! Campaigns as rows.

use rusqlite::params;
use sms_core::campaign::counts::{Counts, STATUSES};
use sms_core::campaign::{Campaign, Launch, LinkTotals};
use sms_core::ids::{AccountId, CampaignId};
use sms_core::message::Body;

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, amount, id, maybe_time, time, whole};

/// The columns that [`campaign`] reads.
macro_rules! campaign_columns {
    () => {
        "id, account, name, body, list_id, sender, append_opt_out, track_links, \
         ignore_quiet_hours, links, clicks, unique_clicked, created_at, updated_at, launched_at, \
         scheduled_at, cancelled_at, batch_id, recipients, rejected, credits, counts, \
         last_settled_at"
    };
}
pub(crate) use campaign_columns;

pub(crate) fn campaign(db: &Db, c: &mut Cols<'_>) -> SqlResult<Campaign> {
    Ok(Campaign {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        name: c.get()?,
        body: Body::new(c.get::<String>()?),
        list: c.id()?,
        sender: c.get()?,
        append_opt_out: c.yes()?,
        track_links: c.yes()?,
        ignore_quiet_hours: c.yes()?,
        links: LinkTotals { links: c.whole()?, clicks: c.whole()?, unique_clicked: c.whole()? },
        created_at: c.at()?,
        updated_at: c.at()?,
        launch: match c.maybe_at()? {
            None => None,
            Some(at) => Some(Launch {
                at,
                scheduled_at: c.maybe_at()?,
                cancelled_at: c.maybe_at()?,
                batch: c.id()?,
                recipients: c.whole()?,
                rejected: c.whole()?,
                credits: c.credits()?,
                counts: c.map(|text: String| {
                    let counts: [u64; STATUSES] = serde_json::from_str(&text).ok()?;
                    Some(Counts::from_array(counts))
                })?,
                last_settled_at: c.maybe_at()?,
            }),
        },
    })
}

fn counts_text(counts: Counts) -> String {
    serde_json::to_string(&counts.to_array()).unwrap_or_default()
}

impl Db {
    pub(crate) fn campaign(
        &self,
        account: AccountId,
        of: CampaignId,
    ) -> SqlResult<Option<Campaign>> {
        let Some(no) = self.account_no(account)? else { return Ok(None) };
        self.one(
            concat!(
                "SELECT ",
                campaign_columns!(),
                " FROM campaign WHERE account = ?1 AND id = ?2"
            ),
            params![no, id(of)],
            |c| campaign(self, c),
        )
    }

    /// Writes a campaign, new or not.
    pub(crate) fn put_campaign(&self, campaign: &Campaign) -> SqlResult<()> {
        let Campaign {
            id: of,
            account,
            name,
            body,
            list,
            sender,
            append_opt_out,
            track_links,
            ignore_quiet_hours,
            launch,
            links: LinkTotals { links, clicks, unique_clicked },
            created_at,
            updated_at,
        } = campaign;
        self.run(
            "INSERT INTO campaign (account, id, name, body, list_id, sender, append_opt_out,
                 track_links, ignore_quiet_hours, links, clicks, unique_clicked, created_at,
                 updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
             ON CONFLICT DO UPDATE SET name = ?3, body = ?4, list_id = ?5, sender = ?6,
                 append_opt_out = ?7, track_links = ?8, ignore_quiet_hours = ?9, links = ?10,
                 clicks = ?11, unique_clicked = ?12, updated_at = ?14",
            params![
                self.known_account(*account)?,
                id(*of),
                name,
                body.as_str(),
                id(*list),
                sender,
                append_opt_out,
                track_links,
                ignore_quiet_hours,
                whole(*links),
                whole(*clicks),
                whole(*unique_clicked),
                time(*created_at),
                time(*updated_at)
            ],
        )?;
        match launch {
            Some(launch) => self.put_launch(*account, *of, launch),
            None => Ok(()),
        }
    }

    fn put_launch(&self, account: AccountId, of: CampaignId, launch: &Launch) -> SqlResult<()> {
        let Launch {
            at,
            scheduled_at,
            cancelled_at,
            batch,
            recipients,
            rejected,
            credits,
            counts,
            last_settled_at,
        } = launch;
        self.run(
            "UPDATE campaign SET launched_at = ?3, scheduled_at = ?4, cancelled_at = ?5,
                 batch_id = ?6, recipients = ?7, rejected = ?8, credits = ?9, counts = ?10,
                 last_settled_at = ?11
             WHERE account = ?1 AND id = ?2",
            params![
                self.known_account(account)?,
                id(of),
                time(*at),
                maybe_time(*scheduled_at),
                maybe_time(*cancelled_at),
                id(*batch),
                whole(*recipients),
                whole(*rejected),
                amount(*credits),
                counts_text(*counts),
                maybe_time(*last_settled_at)
            ],
        )?;
        Ok(())
    }

    /// Writes the counts of a launched campaign.
    pub(crate) fn put_counts(&self, campaign: &Campaign) -> SqlResult<()> {
        let Some(launch) = &campaign.launch else { return Ok(()) };
        self.run(
            "UPDATE campaign SET counts = ?3, last_settled_at = ?4 WHERE account = ?1 AND id = ?2",
            params![
                self.known_account(campaign.account)?,
                id(campaign.id),
                counts_text(launch.counts),
                maybe_time(launch.last_settled_at)
            ],
        )?;
        Ok(())
    }
}
