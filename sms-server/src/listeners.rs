//! The listeners of a server: one for everything, or one for the public and one for the operator.

use std::net::SocketAddr;

use sms_http::web::intake::Intake;
use sms_http::web::serve::{self, ServeLimits, serve};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::app::{AppParts, admin_app, public_app, whole_app};
use crate::backing::Stopping;
use crate::handles::{ConnectionPlan, OPERATOR_CONNECTIONS};
use crate::settings::Settings;
use crate::start_failed::StartFailed;

/// Sockets that listen. Connections wait in them until they are served.
#[derive(Debug)]
pub struct Listeners {
    /// The public one, or the only one.
    pub public: TcpListener,
    /// The operator's own, if there is one.
    pub admin: Option<TcpListener>,
}

impl Listeners {
    /// Listens on the public address.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on.
    pub fn public(settings: &Settings) -> Result<Self, StartFailed> {
        Ok(Self { public: listen(settings.addr)?, admin: None })
    }

    /// Listens on the operator's address, too, if the settings name one.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on.
    pub fn with_admin(self, settings: &Settings) -> Result<Self, StartFailed> {
        let admin = settings.admin_addr.map(listen).transpose()?;
        Ok(Self { admin, ..self })
    }

    /// The public address. Its port is the one that the system chose, if the settings left it open.
    pub fn public_addr(&self, settings: &Settings) -> SocketAddr {
        self.public.local_addr().unwrap_or(settings.addr)
    }

    /// The operator's address, if it has a listener to itself.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref()?.local_addr().ok()
    }

    /// Serves until the server stops: then requests in progress are finished.
    pub fn serve(self, parts: &AppParts, plan: ConnectionPlan, stopping: &Stopping) -> JoinSet<()> {
        let mut servers = JoinSet::new();
        let limits = ServeLimits {
            connections: plan.connections,
            connections_per_address: plan.per_address,
            trusted_proxies: parts.trusted_proxies.clone(),
            ..ServeLimits::default()
        };
        let of_operator =
            ServeLimits { connections: OPERATOR_CONNECTIONS, ..ServeLimits::default() };
        let mut start = |listener, app: Intake, limits| {
            let mut stopping = stopping.clone();
            let (running, streams) = (app.running_handlers(), parts.streams.clone());
            servers.spawn(async move {
                let stop = async move {
                    // The error means that the sender was dropped, which is the signal to stop.
                    let _ = stopping.changed().await;
                    streams.end();
                };
                serve(listener, app, limits, stop).await;
                running.ended().await;
            });
        };
        match self.admin {
            Some(admin) => {
                start(self.public, public_app(parts), limits);
                start(admin, admin_app(parts), of_operator);
            }
            None => start(self.public, whole_app(parts), limits),
        }
        servers
    }
}

fn listen(addr: SocketAddr) -> Result<TcpListener, StartFailed> {
    serve::listen(addr).map_err(|source| StartFailed::Listen { addr, source })
}
