//! Copies between the file store and PostgreSQL: whatever the conformance scenarios write, copies
//! that are killed, refusals, and what must never be forgotten.
//!
//! Every fifth scenario is copied. `cargo test -p sms-copy --test copy -- --include-ignored` copies
//! what all of them write, and `sending:: --include-ignored` what those of one noun do.

mod killed;
mod refused;
mod rig;
mod served;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use rig::{Born, Own, run};

/// A trial that is named after its function.
macro_rules! own {
    ($module:ident :: $test:ident) => {
        Trial::test(concat!(stringify!($module), "::", stringify!($test)), || {
            run($module::$test);
            Ok(())
        })
    };
}

fn main() -> ExitCode {
    // What a scenario writes is copied to the other store and back. Every second scenario runs on
    // the file, and the others on PostgreSQL.
    let scenarios = sms_conformance::all().enumerate().map(|(place, scenario)| {
        let born = if place % 2 == 0 { Born::InFile } else { Born::InDatabase };
        let trial = Trial::test(scenario.to_string(), move || {
            rig::there_and_back(scenario, born);
            Ok(())
        });
        trial.with_ignored_flag(place % 5 != 0)
    });
    let own = [
        own!(refused::no_table_or_column_is_forgotten),
        own!(refused::a_target_that_holds_data_is_refused),
        own!(refused::a_store_in_use_is_refused),
        own!(refused::a_source_that_has_changed_is_refused),
        own!(refused::a_row_that_differs_is_found),
        own!(refused::a_list_that_reads_differently_is_found),
        own!(killed::a_copy_that_is_killed_goes_on_and_ends_right),
        own!(killed::no_server_opens_half_a_copy),
        own!(served::sending_goes_on_from_the_copy),
    ];
    let code = libtest_mimic::run(&Arguments::from_args(), scenarios.chain(own).collect());
    Own::clean();
    code.exit_code()
}
