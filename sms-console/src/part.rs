//! The components that pages are made of. `/console/design` shows each in every state.

pub mod badge;
pub mod bubble;
pub mod button;
pub mod chart;
pub mod code;
pub mod counter;
pub mod dear;
pub mod dialog;
pub mod field;
pub mod filters;
pub mod form;
pub mod gaps;
pub mod head;
pub mod icon;
pub mod notice;
pub mod pager;
pub mod price;
pub mod progress;
pub mod region;
pub mod rejection;
pub mod stat;
pub mod state;
pub mod table;
pub mod theme;
pub mod timeline;
