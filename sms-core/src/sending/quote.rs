//! What a send would do and cost: the same plan, shown instead of committed.

use super::plan::SendPlan;
use super::recipients::Rejection;
use crate::credits::Credits;
use crate::text::Encoding;

/// What a send would do and cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// How many people would get a text.
    pub recipients: usize,
    /// Who would not, and why.
    pub rejected: Vec<Rejection>,
    /// What a live send would take.
    pub credits: Credits,
    /// UCS-2 if any of the texts needs it.
    pub encoding: Encoding,
    /// The first text, as it would be sent.
    pub preview: Option<String>,
    /// What the account can spend now.
    pub balance: Credits,
}

impl Quote {
    /// Shows a plan that was not committed.
    pub fn of(plan: SendPlan, balance: Credits) -> Self {
        let any_ucs2 = plan.messages.iter().any(|text| text.encoding == Encoding::Ucs2);
        Self {
            recipients: plan.messages.len(),
            rejected: plan.rejected,
            credits: plan.price,
            encoding: if any_ucs2 { Encoding::Ucs2 } else { Encoding::Gsm7 },
            preview: plan.messages.first().map(|text| text.body.as_str().to_owned()),
            balance,
        }
    }
}
