//! Signing in to the console, and who is signed in.

use super::authenticate::{Caller, Standing};
use super::sms::Sms;
use crate::account::Account;
use crate::account::api_key::KeyHash;
use crate::account::status::{AccountStatus, MayNotSend};
use crate::error::Error;
use crate::session::{Holder, MOST_OF_ONE, OperatorHash, Session, SessionToken};
use crate::time::Timestamp;
use crate::upkeep::Chore;

/// How many sessions that are over each sign-in removes at most.
const TIDIED_AT_ONCE: usize = 100;

/// Who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedIn {
    /// A person who signed in with a key of an account.
    Account {
        /// The account as it is now.
        account: Account,
        /// The key that they signed in with.
        caller: Caller,
    },
    /// The operator, who has no account.
    Operator,
}

/// A session that was opened or found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenSession {
    /// What the browser holds.
    pub token: SessionToken,
    /// Who is signed in.
    pub who: SignedIn,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

impl Sms {
    /// Opens a session for the account of the key with this hash; `None` if the key is unknown or
    /// revoked. An account that is suspended gets none.
    ///
    /// `now` is the time of the world: a sandbox that moves its clock ends no session.
    pub async fn sign_in(
        &self,
        key: KeyHash,
        now: Timestamp,
    ) -> Result<Option<OpenSession>, Error> {
        let Some(caller) = self.caller_with(key).await? else { return Ok(None) };
        let Some(account) = self.store().account_get(caller.account).await? else {
            return Ok(None);
        };
        if account.status == AccountStatus::Suspended {
            return Err(Error::MayNotSend(MayNotSend::Suspended));
        }
        let who = SignedIn::Account { account, caller };
        self.session_open(who, |_| Holder::Key(key), now).await.map(Some)
    }

    /// Opens a session for the operator, who has shown this token.
    pub async fn sign_in_operator(
        &self,
        operator: OperatorHash,
        now: Timestamp,
    ) -> Result<OpenSession, Error> {
        let holder = |token: &SessionToken| Holder::Operator(token.seal(operator));
        self.session_open(SignedIn::Operator, holder, now).await
    }

    async fn session_open(
        &self,
        who: SignedIn,
        holder: impl FnOnce(&SessionToken) -> Holder,
        now: Timestamp,
    ) -> Result<OpenSession, Error> {
        let token = SessionToken::generate(&*self.inner.random);
        let session = Session::begin(token.hash(), holder(&token), now);
        let expires_at = session.expires_at;
        self.store().session_create(session, MOST_OF_ONE).await?;
        self.store().tidy(Chore::Sessions { before: now }, TIDIED_AT_ONCE).await?;
        Ok(OpenSession { token, who, expires_at })
    }

    /// The session with this token; `None` if there is none or it is over. Besides by time and by
    /// signing out, a session is over when its key is revoked, when its account is found suspended,
    /// or when `operator` is not the token that it was opened with.
    ///
    /// Where the operator has no sessions, `operator` is `None`; theirs are then left alone.
    pub async fn session(
        &self,
        token: SessionToken,
        operator: Option<OperatorHash>,
        now: Timestamp,
    ) -> Result<Option<OpenSession>, Error> {
        let found = self.store().session_find(token.hash()).await?;
        let Some(session) = found else { return Ok(None) };
        let who = match (session.holder, operator) {
            _ if session.is_over(now) => None,
            (Holder::Key(key), _) => self.signed_in_with(key).await?,
            (Holder::Operator(seal), Some(operator)) => {
                (token.seal(operator) == seal).then_some(SignedIn::Operator)
            }
            (Holder::Operator(_), None) => return Ok(None),
        };
        let Some(who) = who else {
            self.sign_out(&token).await?;
            return Ok(None);
        };
        Ok(Some(OpenSession { token, who, expires_at: session.expires_at }))
    }

    /// Whether a session that was found earlier still stands, for a long answer such as a stream of
    /// events. A key that was revoked and an account that is suspended end it, too.
    pub async fn session_standing(
        &self,
        session: &OpenSession,
        now: Timestamp,
    ) -> Result<Standing, Error> {
        if let SignedIn::Account { caller, .. } = &session.who {
            let standing = self.standing(caller).await?;
            if standing != Standing::Admitted {
                return Ok(standing);
            }
        }
        let found = self.store().session_find(session.token.hash()).await?;
        let stands = found.is_some_and(|found| !found.is_over(now));
        Ok(if stands { Standing::Admitted } else { Standing::SessionOver })
    }

    async fn signed_in_with(&self, key: KeyHash) -> Result<Option<SignedIn>, Error> {
        let Some(caller) = self.caller_with(key).await? else { return Ok(None) };
        let account = self.store().account_get(caller.account).await?;
        let account = account.filter(|account| account.status != AccountStatus::Suspended);
        Ok(account.map(|account| SignedIn::Account { account, caller }))
    }

    /// Ends a session; does nothing if it is over.
    pub async fn sign_out(&self, token: &SessionToken) -> Result<(), Error> {
        Ok(self.store().session_delete(token.hash()).await?)
    }
}
