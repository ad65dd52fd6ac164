//! The tests of the whole service, in one binary.

mod simulation;
