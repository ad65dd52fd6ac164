//! What the machine may do to a file while a program works on it: the power fails, the disk takes
//! no more, the file may not be written, a page is damaged.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests as well")]

mod backup;
mod child;
mod damage;
mod folder;
mod import;
mod moved;
mod power;
mod read_only;
mod room;
