//! The only place that asks the machine for randomness.

/// Sixteen random bytes.
pub(crate) fn random_bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    #[expect(clippy::disallowed_methods, reason = "a client has no simulation to repeat")]
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    bytes
}

/// A random fraction, at least 0 and below 1.
pub(crate) fn random_fraction() -> f64 {
    let [first, second, ..] = random_bytes();
    f64::from(u16::from_be_bytes([first, second])) / 65_536.0
}
