//! The settings of automatic replies.

use std::num::NonZeroU32;

use clap::Args;
use sms_core::keyword::reply_limit::{BalanceShare, ReplyLimits, ReplyRate};

/// How many messages keywords may send in answer.
#[derive(Debug, Clone, Args)]
pub struct ReplySettings {
    /// Automatic replies of an account in any minute; then they pause
    #[arg(long, env = "SMS_REPLIES_PER_MINUTE", default_value = "100")]
    pub replies_per_minute: NonZeroU32,
    /// Automatic replies of an account in any hour; then they pause
    #[arg(long, env = "SMS_REPLIES_PER_HOUR", default_value = "1000")]
    pub replies_per_hour: NonZeroU32,
    /// Automatic replies of one keyword in any minute; lower it to keep room for other keywords
    #[arg(long, env = "SMS_KEYWORD_REPLIES_PER_MINUTE", default_value = "100")]
    pub keyword_replies_per_minute: NonZeroU32,
    /// Automatic replies of one keyword in any hour
    #[arg(long, env = "SMS_KEYWORD_REPLIES_PER_HOUR", default_value = "1000")]
    pub keyword_replies_per_hour: NonZeroU32,
    /// Per cent of its balance that an account's automatic replies may spend in an hour, 1 to 100
    #[arg(
        long, env = "SMS_REPLIES_BALANCE_SHARE", default_value = "20", value_parser = balance_share
    )]
    pub replies_balance_share: BalanceShare,
}

impl ReplySettings {
    /// The bounds.
    pub fn limits(&self) -> ReplyLimits {
        let rate = |per_minute, per_hour| ReplyRate { per_minute, per_hour };
        ReplyLimits {
            account: rate(self.replies_per_minute, self.replies_per_hour),
            keyword: rate(self.keyword_replies_per_minute, self.keyword_replies_per_hour),
            balance: self.replies_balance_share,
        }
    }
}

/// Reads a share of the balance.
fn balance_share(text: &str) -> Result<BalanceShare, String> {
    let share = text.trim().parse().ok().and_then(|percent| BalanceShare::new(percent).ok());
    share.ok_or_else(|| "use a whole number of per cent, from 1 to 100".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        settings: ReplySettings,
    }

    #[test]
    fn the_defaults_are_those_of_the_rules_and_a_share_is_from_1_to_100() {
        let read = |flags: &[&str]| {
            let program = Program::try_parse_from(["program"].iter().chain(flags));
            program.map(|program| program.settings.limits())
        };
        assert_eq!(read(&[]).unwrap(), ReplyLimits::default());
        let limits = read(&["--replies-per-minute", "7", "--keyword-replies-per-hour", "9"]);
        let limits = limits.unwrap();
        assert_eq!((limits.account.per_minute.get(), limits.keyword.per_hour.get()), (7, 9));
        let limits = read(&["--replies-balance-share", "100"]).unwrap();
        assert_eq!(limits.balance, BalanceShare::WHOLE);
        for bad in ["0", "101", "-1", "a fifth"] {
            assert!(read(&[&format!("--replies-balance-share={bad}")]).is_err(), "{bad}");
        }
    }
}
