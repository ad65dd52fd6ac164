//! What the model records of each account, message and delivery. Records import no model.

mod account;
mod book;
mod campaign;
mod claim;
mod delivery;
mod endpoint;
mod first_send;
mod inbox;
mod log;
mod parts;
mod reading;
mod replay;
mod replies;
mod text;

pub use account::AccountModel;
pub(crate) use account::amount;
pub use book::BookModel;
pub use campaign::CampaignModel;
pub use claim::Claim;
pub use delivery::DeliveryModel;
pub use endpoint::EndpointModel;
pub use first_send::FirstSend;
pub use inbox::{InboxModel, Thread};
pub use log::{Entry, LogModel};
pub use parts::SegmentsModel;
pub use reading::Reading;
pub(crate) use reading::{FIRST_ROUTE, ONLINE};
pub use replay::ReplayAsked;
pub(super) use replies::Allowed;
pub use text::MessageModel;
pub(crate) use text::is_open;
