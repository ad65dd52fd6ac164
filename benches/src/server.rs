//! The server as a process of its own, which is this program run again.

use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Parser as _;
use sms_http::server::run::run;
use sms_http::server::settings::Cli;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::{Failed, loopback};

/// What the child does.
pub(crate) async fn serve() -> Result<(), Failed> {
    let settings = Cli::try_parse_from(["sms-server"])?.settings;
    let ctrl_c = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    run(settings, ctrl_c).await?;
    Ok(())
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) addr: SocketAddr,
}

impl Server {
    pub(crate) async fn start(url: &str) -> Result<Self, Failed> {
        let port = TcpListener::bind(loopback(0))?.local_addr()?.port();
        let addr = loopback(port);
        let child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .env("SMS_ADDR", addr.to_string())
            .env("DATABASE_URL", url)
            .env("SMS_ADMIN_TOKEN", "token-of-a-measurement")
            .env("SMS_RATE_PER_SECOND", "1000000")
            .env("SMS_RATE_BURST", "1000000")
            .env("SMS_LOG", "warn")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let server = Self { child, addr };
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(addr).await.is_err() {
            if Instant::now() > until {
                return Err("the server did not start".into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// The id of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }
}
