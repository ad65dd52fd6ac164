//! A promise about rent beyond the conformance suite: no period is charged twice, even if a
//! program's data says that it is due.

use sms_conformance::Rig;
use sms_conformance::rig::{credits, person};
use sms_core::number::rent::{RentPlan, RentScope};
use sms_core::number::{Holder, Number};
use sms_core::store::StoreError;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] =
    &[("number::no_rent_period_is_charged_twice", |rig, url| Box::pin(taken_once(rig, url)))];

async fn taken_once(rig: &Rig, url: &str) {
    let account = rig.account(100).await;
    let mut number = Number {
        rental_credits: credits(30),
        ..rig.new_number(person(1), Holder::Dedicated(account.id))
    };
    number.next_rent_at = number.rent_due_at();
    rig.create_number(number).await;
    let charge = async || {
        let plan = RentPlan { at: rig.now(), scope: RentScope::Due(10), ids: rig.ids() };
        rig.store().rents_charge(plan).await
    };
    assert_eq!(charge().await.expect("taken").taken, 1);
    // As if the number were restored from an old backup.
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let forget = "UPDATE number SET rental_charged_at = NULL, next_rent_at = assigned_at";
    connection.execute(AssertSqlSafe(forget)).await.expect("the statement runs");
    connection.close().await.expect("the connection ends");
    assert!(matches!(charge().await, Err(StoreError::Internal { .. })));
    assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (70, 2));
}
