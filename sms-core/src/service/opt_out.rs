//! Numbers that have opted out of an account's messages.

use std::collections::BTreeSet;

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::reading::Read;
use crate::contact::import::MAX_ROWS;
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::Made;
use crate::message::filter::Search;
use crate::opt_out::import::{OptOutImported, OptOutRow, OptOutRows};
use crate::opt_out::{Added, KeptOptOut, MAX_NOTE, OptOut, Via};
use crate::page::{OffsetPage, OffsetRequest};
use crate::phone::{E164, parse_uk_mobile};

/// How many opt-outs are written at once, so that others are not kept waiting.
const PORTION: usize = 500;

impl AccountHandle {
    /// Opts out a number, given in any common format. An existing opt-out does not change.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field: `phone` has to be a UK mobile number.
    pub async fn opt_out_create(&self, phone: &str, note: Option<String>) -> Result<Added, Error> {
        Ok(self.keyed(None).opt_out_create(phone, note, Via::Api).await?.value)
    }

    /// Opts out many numbers; those that have opted out already stay as they are. An invalid row
    /// does not affect the others. If it fails, some numbers may be opted out, and repeating it
    /// adds the rest.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for more than [`MAX_ROWS`] rows.
    pub async fn opt_outs_import(
        &self,
        rows: Vec<OptOutRow>,
        via: Via,
    ) -> Result<Vec<OptOutImported>, Error> {
        if rows.len() > MAX_ROWS {
            let message = format!("rows must have at most {MAX_ROWS} numbers");
            return Err(Error::invalid("rows", "too_many", message));
        }
        let (rows, opt_outs) = OptOutRows::read(rows, via, self.sms.now());
        let mut new = BTreeSet::new();
        for portion in opt_outs.chunks(PORTION) {
            new.extend(self.sms.opt_out_many(self.id, portion.to_vec()).await?);
        }
        Ok(rows.results(new))
    }

    /// Opt-outs, newest first: all, or those that `q` finds by a number in any format or by words
    /// of the note.
    pub async fn opt_out_list(
        &self,
        q: Option<&str>,
        wanted: OffsetRequest,
    ) -> Result<OffsetPage<OptOut>, Error> {
        let search = q.and_then(Search::parse);
        let _turn = self.read_turn(Read::that(matches!(search, Some(Search::Words(_))))).await;
        Ok(self.sms.store().opt_out_list(self.id, search.as_ref(), wanted).await?)
    }

    /// Deletes an opt-out, because the person wants to receive messages again.
    pub async fn opt_out_delete(&self, phone: E164) -> Result<(), Error> {
        let deleted = self.sms.store().opt_out_delete(self.id, phone).await?;
        if deleted { Ok(()) } else { Err(Error::NotFound("opt_out")) }
    }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::opt_out_create`], once for the key.
    pub async fn opt_out_create(
        &self,
        phone: &str,
        note: Option<String>,
        via: Via,
    ) -> Result<Made<Added>, Error> {
        let parsed = parse_uk_mobile(phone);
        let bad_note =
            note.as_deref().and_then(|text| FieldError::of_text("note", text, 0..=MAX_NOTE));
        let phone = match (parsed, bad_note) {
            (Ok(phone), None) => phone,
            (parsed, bad_note) => {
                let bad_phone = parsed
                    .err()
                    .map(|reason| FieldError::new("phone", "invalid_format", reason.to_string()));
                return Err(Error::Invalid(bad_phone.into_iter().chain(bad_note).collect()));
            }
        };
        let claim = self.claim("opt_out_create", |fields| {
            fields.add("phone", [phone.to_string()]);
            fields.add("note", note.as_deref());
        });
        let claim = claim.as_ref();
        let again = |kept: KeptOptOut| kept.added(phone);
        if let Some(kept) = self.earlier::<Added>(claim).await? {
            return Ok(Made::again(again(kept)));
        }
        let AccountHandle { sms, id: account, mode: _ } = &self.handle;
        let created_at = sms.now();
        let opt_out = OptOut { phone, source: via.into(), note, created_at };
        let created = sms.opt_out(*account, opt_out, claim).await?;
        made(created, claim, again)
    }
}
