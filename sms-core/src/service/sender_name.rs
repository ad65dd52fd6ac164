//! An account's sender names, and the operator's review of them.

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::operator::Operator;
use super::reading::Read;
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::{Born, Made};
use crate::ids::SenderNameId;
use crate::page::{Page, PageRequest};
use crate::sender_name::review::{Decision, ReviewPlan};
use crate::sender_name::status::ReviewStatus;
use crate::sender_name::store::NamesWanted;
use crate::sender_name::{MAX_REMARK, SenderName, SenderValue, approved};

impl AccountHandle {
    /// Requests a sender name, which waits for the operator's review.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::SenderExists`] if the account has the name
    /// or has requested it, in any case.
    pub async fn sender_name_create(
        &self,
        value: &str,
        purpose: Option<String>,
    ) -> Result<SenderName, Error> {
        Ok(self.keyed(None).sender_name_create(value, purpose).await?.value)
    }

    /// All of the account's sender names, newest first, including rejected ones.
    pub async fn sender_name_list(&self) -> Result<Vec<SenderName>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().sender_name_list(self.id, NamesWanted::All).await?)
    }

    /// The approved name that a send asks for; `None` if it asks for none.
    pub(super) async fn approved_sender(
        &self,
        wanted: Option<&str>,
    ) -> Result<Option<SenderValue>, Error> {
        let Some(wanted) = wanted else { return Ok(None) };
        let names = self.sms.store().sender_name_list(self.id, NamesWanted::Approved).await?;
        approved(&names, wanted).cloned().map(Some).ok_or(Error::SenderNotApproved)
    }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::sender_name_create`], once for the key.
    pub async fn sender_name_create(
        &self,
        value: &str,
        purpose: Option<String>,
    ) -> Result<Made<SenderName>, Error> {
        let parsed = value.parse::<SenderValue>();
        let bad_purpose = purpose.as_deref().and_then(|text| remark_error("purpose", text));
        let value = match (parsed, bad_purpose) {
            (Ok(value), None) => value,
            (parsed, bad_purpose) => {
                let bad_value = parsed
                    .err()
                    .map(|reason| FieldError::new("value", reason.code(), reason.to_string()));
                return Err(Error::Invalid(bad_value.into_iter().chain(bad_purpose).collect()));
            }
        };
        let claim = self.claim("sender_name_create", |fields| {
            // In the case in which it was asked for: that is how it is shown.
            fields.add("value", [value.as_str()]);
            fields.add("purpose", purpose.as_deref());
        });
        let claim = claim.as_ref();
        let AccountHandle { sms, id: account, mode: _ } = &self.handle;
        let again = |born: Born<_>| {
            SenderName::requested(born.id, *account, value.clone(), purpose.clone(), born.at)
        };
        if let Some(born) = self.earlier::<SenderName>(claim).await? {
            return Ok(Made::again(again(born)));
        }
        let at = sms.now();
        let name = again(Born { id: sms.ids(at).next(), at });
        made(sms.store().sender_name_create(name, claim).await?, claim, again)
    }
}

impl Operator {
    /// A page of the sender names of all accounts, newest first, in any status or in one.
    pub async fn sender_name_list(
        &self,
        status: Option<ReviewStatus>,
        page: PageRequest,
    ) -> Result<Page<SenderName>, Error> {
        Ok(self.sms.store().sender_names_for_review(status, page).await?)
    }

    /// Approves or rejects a sender name; the last decision counts. Messages that still wait with a
    /// rejected name fail when a worker claims them, and are refunded.
    ///
    /// # Errors
    ///
    /// [`Error::SenderExists`] if a rejected name is to be approved whose account has requested it
    /// again in the meantime.
    pub async fn sender_name_review(
        &self,
        id: SenderNameId,
        decision: Decision,
        reason: Option<String>,
    ) -> Result<SenderName, Error> {
        if let Some(error) = reason.as_deref().and_then(|text| remark_error("reason", text)) {
            return Err(Error::Invalid(vec![error]));
        }
        let plan = ReviewPlan { id, decision, reason, at: self.sms.now() };
        Ok(self.sms.review(plan).await?)
    }
}

fn remark_error(field: &str, text: &str) -> Option<FieldError> {
    FieldError::of_text(field, text, 0..=MAX_REMARK)
}
