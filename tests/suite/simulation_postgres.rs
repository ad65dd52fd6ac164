//! The simulation with PostgreSQL beside the memory store. Every call goes to both, one after the
//! other, and both must answer the same. At the end their full contents are compared.

use sms_tests::simulation::Settings;
use sms_tests::simulation::beside::Beside;

#[test]
fn postgres_answers_every_call_of_a_history_as_memory_does() {
    let beside = Beside::start();
    for seed in 61..=63 {
        if let Err(violation) = beside.run(&Settings::new(seed, 400)) {
            panic!("{violation}");
        }
    }
}
