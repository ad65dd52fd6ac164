//! Which error a refused plan becomes.

use super::Error;
use crate::campaign::launch::LaunchRefused;
use crate::campaign::{self, EditRefused};
use crate::change::cancel::CancelRefused;
use crate::contact::book::BookRefused;
use crate::credits::adjust::AdjustRefused;
use crate::keyword::save::KeywordRefused;
use crate::sender_name::SenderNameExists;
use crate::sender_name::review::ReviewRefused;
use crate::sending::settle::SendRefused;
use crate::version::Changed;
use crate::webhook::endpoint::EndpointRefused;
use crate::webhook::replay::plan::ReplayRefused;

impl From<SendRefused> for Error {
    fn from(refused: SendRefused) -> Self {
        match refused {
            SendRefused::NoSuchAccount => Self::NotFound("account"),
            SendRefused::MayNotSend(reason) => Self::MayNotSend(reason),
            SendRefused::InsufficientCredit { needed, balance } => {
                Self::InsufficientCredit { needed, balance }
            }
            SendRefused::IdempotencyConflict => Self::IdempotencyConflict,
            SendRefused::TestMessagesUsedUp { retry_after } => {
                Self::TestMessagesUsedUp { retry_after }
            }
        }
    }
}

impl From<LaunchRefused> for Error {
    fn from(refused: LaunchRefused) -> Self {
        match refused {
            LaunchRefused::NoSuchCampaign => Self::NotFound("campaign"),
            LaunchRefused::AlreadyLaunched => Self::CampaignAlreadyLaunched,
            LaunchRefused::NoSuchList(id) => {
                Self::UnknownReference { resource: "list", id: id.to_string() }
            }
            LaunchRefused::NoRecipients => Self::NoRecipients,
            LaunchRefused::TestLimitExceeded => Self::TestLimitExceeded,
            LaunchRefused::MayNotSend(reason) => Self::MayNotSend(reason),
            LaunchRefused::TestMessagesUsedUp { retry_after } => {
                Self::TestMessagesUsedUp { retry_after }
            }
            LaunchRefused::InsufficientCredit { needed, balance } => {
                Self::InsufficientCredit { needed, balance }
            }
        }
    }
}

impl From<Changed> for Error {
    fn from(Changed(kind): Changed) -> Self {
        Self::PreconditionFailed(kind)
    }
}

impl From<EditRefused> for Error {
    fn from(refused: EditRefused) -> Self {
        match refused {
            EditRefused::NoSuchCampaign => Self::NotFound("campaign"),
            EditRefused::NotDraft => Self::CampaignNotDraft,
            EditRefused::Changed(changed) => changed.into(),
        }
    }
}

impl From<campaign::cancel::CancelRefused> for Error {
    fn from(refused: campaign::cancel::CancelRefused) -> Self {
        match refused {
            campaign::cancel::CancelRefused::NoSuchCampaign => Self::NotFound("campaign"),
            campaign::cancel::CancelRefused::NotCancellable(status) => {
                Self::CampaignNotCancellable(status)
            }
        }
    }
}

impl From<CancelRefused> for Error {
    fn from(refused: CancelRefused) -> Self {
        match refused {
            CancelRefused::NoSuchMessage => Self::NotFound("message"),
            CancelRefused::NotCancellable(status) => Self::MessageNotCancellable(status),
        }
    }
}

impl From<AdjustRefused> for Error {
    fn from(refused: AdjustRefused) -> Self {
        match refused {
            AdjustRefused::NoSuchAccount => Self::NotFound("account"),
            AdjustRefused::DoesNotFit(reason) => Self::BalanceOutOfRange(reason.to_string()),
        }
    }
}

impl From<BookRefused> for Error {
    fn from(refused: BookRefused) -> Self {
        match refused {
            BookRefused::NoSuchContact => Self::NotFound("contact"),
            BookRefused::NoSuchList(id) => {
                Self::UnknownReference { resource: "list", id: id.to_string() }
            }
            BookRefused::ContactExists(id) => Self::ContactExists(id),
            BookRefused::Invalid(fields) => Self::Invalid(fields),
            BookRefused::Changed(changed) => changed.into(),
        }
    }
}

impl From<KeywordRefused> for Error {
    fn from(refused: KeywordRefused) -> Self {
        match refused {
            KeywordRefused::NoSuchKeyword => Self::NotFound("keyword"),
            KeywordRefused::NoSuchList(id) => BookRefused::NoSuchList(id).into(),
            KeywordRefused::KeywordExists => Self::KeywordExists,
            KeywordRefused::Changed(changed) => changed.into(),
        }
    }
}

impl From<EndpointRefused> for Error {
    fn from(refused: EndpointRefused) -> Self {
        match refused {
            EndpointRefused::LimitReached => Self::WebhookLimitReached,
        }
    }
}

impl From<ReplayRefused> for Error {
    fn from(refused: ReplayRefused) -> Self {
        match refused {
            ReplayRefused::NoSuchEndpoint => Self::NotFound("webhook"),
            ReplayRefused::Disabled => Self::WebhookDisabled,
            ReplayRefused::UnderWay => Self::ReplayUnderWay,
        }
    }
}

impl From<SenderNameExists> for Error {
    fn from(_: SenderNameExists) -> Self {
        Self::SenderExists
    }
}

impl From<ReviewRefused> for Error {
    fn from(refused: ReviewRefused) -> Self {
        match refused {
            ReviewRefused::NoSuchSenderName => Self::NotFound("sender_name"),
            ReviewRefused::AskedForAgain => Self::SenderExists,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::account::status::MayNotSend;
    use crate::campaign::CampaignStatus;
    use crate::ids::{ContactId, ListId};
    use crate::message::MessageStatus;
    use crate::samples::credits;
    use crate::store::CommitError;

    #[test]
    fn a_refusal_of_a_plan_becomes_the_error_of_its_name() {
        let code = |error: Error| error.code();
        let (needed, balance) = (credits(3), credits(2));
        let retry_after = Duration::from_secs(9);
        for (refused, expected) in [
            (SendRefused::NoSuchAccount, "not_found"),
            (SendRefused::MayNotSend(MayNotSend::Pending), "account_pending"),
            (SendRefused::InsufficientCredit { needed, balance }, "insufficient_credit"),
            (SendRefused::IdempotencyConflict, "idempotency_conflict"),
            (SendRefused::TestMessagesUsedUp { retry_after }, "rate_limited"),
        ] {
            assert_eq!(code(CommitError::Refused(refused).into()), expected);
        }
        for (refused, expected) in [
            (LaunchRefused::NoSuchCampaign, "not_found"),
            (LaunchRefused::AlreadyLaunched, "campaign_already_launched"),
            (LaunchRefused::NoSuchList(ListId::from_u128(0)), "not_found"),
            (LaunchRefused::NoRecipients, "no_recipients"),
            (LaunchRefused::TestLimitExceeded, "test_limit_exceeded"),
            (LaunchRefused::MayNotSend(MayNotSend::Pending), "account_pending"),
            (LaunchRefused::TestMessagesUsedUp { retry_after }, "rate_limited"),
            (LaunchRefused::InsufficientCredit { needed, balance }, "insufficient_credit"),
        ] {
            assert_eq!(code(CommitError::Refused(refused).into()), expected);
        }
        assert_eq!(code(EditRefused::NoSuchCampaign.into()), "not_found");
        assert_eq!(code(EditRefused::NotDraft.into()), "campaign_not_draft");
        let cancelled = campaign::cancel::CancelRefused::NotCancellable(CampaignStatus::Draft);
        assert_eq!(code(cancelled.into()), "campaign_not_cancellable");
        assert_eq!(code(campaign::cancel::CancelRefused::NoSuchCampaign.into()), "not_found");
        let sending = CancelRefused::NotCancellable(MessageStatus::Sending);
        assert_eq!(code(sending.into()), "message_not_cancellable");
        assert_eq!(code(CancelRefused::NoSuchMessage.into()), "not_found");
        assert_eq!(code(AdjustRefused::NoSuchAccount.into()), "not_found");
        let contact = ContactId::from_u128(0);
        assert_eq!(code(BookRefused::ContactExists(contact).into()), "contact_exists");
        assert_eq!(code(BookRefused::NoSuchContact.into()), "not_found");
        assert_eq!(code(BookRefused::NoSuchList(ListId::from_u128(0)).into()), "not_found");
        assert_eq!(code(BookRefused::Invalid(Vec::new()).into()), "validation_failed");
        assert_eq!(code(KeywordRefused::KeywordExists.into()), "keyword_exists");
        assert_eq!(code(KeywordRefused::NoSuchKeyword.into()), "not_found");
        assert_eq!(code(KeywordRefused::NoSuchList(ListId::from_u128(0)).into()), "not_found");
        assert_eq!(code(EndpointRefused::LimitReached.into()), "webhook_limit_reached");
        for (refused, expected) in [
            (ReplayRefused::NoSuchEndpoint, "not_found"),
            (ReplayRefused::Disabled, "webhook_disabled"),
            (ReplayRefused::UnderWay, "replay_under_way"),
        ] {
            assert_eq!(code(CommitError::Refused(refused).into()), expected);
        }
        assert_eq!(code(SenderNameExists.into()), "sender_exists");
        assert_eq!(code(ReviewRefused::AskedForAgain.into()), "sender_exists");
        assert_eq!(code(ReviewRefused::NoSuchSenderName.into()), "not_found");
        assert_eq!(code(CommitError::<SendRefused>::Stale.into()), "unavailable");
    }
}
