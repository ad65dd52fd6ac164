//! The HTTP API inside a poem program of your own: under a path of yours, beside pages of yours,
//! with a store and a route of your choice. Everything is kept in memory here; use a store that
//! lasts instead.

use std::sync::Arc;

use async_trait::async_trait;
use poem::listener::TcpListener;
use poem::{Route as Routes, Server, handler};
use sms_core::account::Account;
use sms_core::account::api_key::ApiKey;
use sms_core::prelude::*;
use sms_core::route::{InboundSink, Outbound, Outcome, Route, RouteName};
use sms_http::mount::{ApiParts, Paths, error_page};
use sms_http::web::error::ERROR_PAGE;
use sms_http::web::intake::IntakeLimits;
use sms_store_memory::MemoryStore;
use sms_workers::{WorkerOptions, Workers};
