//! `sms inbound`.

use clap::Subcommand;
use sms_client::operator::InboundInput;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Form, GREEN, paint, say, say_json};

/// Simulates what a network brings.
#[derive(Debug, Subcommand)]
pub(crate) enum Inbound {
    /// Simulate an inbound message; needs the operator's token
    #[command(
        after_help = "For your own server or a sandbox. SMS_ADMIN_TOKEN has the operator's token,
and SMS_ADMIN_URL the address of the operator's API if it has one of its own.

Example:
  sms inbound simulate --from 07700900123 --to 07700900001 --body STOP"
    )]
    Simulate {
        /// The sender: a number, or a short code or a name
        #[arg(long, value_name = "SENDER")]
        from: String,
        /// The service's number that receives it
        #[arg(long, value_name = "NUMBER")]
        to: String,
        /// The text of the message
        #[arg(long, short, value_name = "TEXT")]
        body: String,
    },
}

impl Inbound {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Self::Simulate { from, to, body } = self;
        let input = InboundInput { from: from.into(), to: to.into(), body: body.into() };
        let message = context.operator()?.inbound_take(&input).await?;
        match (context.form, message) {
            (Form::Json, message) => say_json(&message),
            (Form::Text, Some(message)) => {
                say(&format!("{} {}", paint(GREEN, "received"), message.id))
            }
            (Form::Text, None) => say("the message belongs to no account: it is unrouted"),
        }
    }
}
