//! The simulation with PostgreSQL beside the store in memory: every call of every history goes to
//! both, one after the other, and both give the same answers. At the end all that they keep is read
//! and compared.

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
