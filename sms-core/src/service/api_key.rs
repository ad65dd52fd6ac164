//! An account's own API keys. The operator creates and revokes them: [`super::operator`].

use super::account::AccountHandle;
use super::reading::Read;
use crate::account::api_key::KeyRecord;
use crate::error::Error;

impl AccountHandle {
    /// All of the account's keys, newest first, including revoked ones, with their last use to
    /// about a minute.
    pub async fn api_key_list(&self) -> Result<Vec<KeyRecord>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().api_key_list(self.id).await?)
    }
}
