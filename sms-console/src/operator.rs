//! The operator's pages.

mod account;
mod account_address;
mod account_choice;
pub(crate) mod accounts;
mod api_keys;
mod credits;
mod number_form;
mod numbers;
mod routes;
mod sandbox;
mod senders;
mod settings;
mod unrouted;

use crate::place::Place;

pub(crate) fn places() -> Vec<Place> {
    [
        accounts::places(),
        account::places(),
        api_keys::places(),
        credits::places(),
        settings::places(),
        senders::places(),
        numbers::places(),
        unrouted::places(),
        routes::places(),
        sandbox::places(),
    ]
    .concat()
}
