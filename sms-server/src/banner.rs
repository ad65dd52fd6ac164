//! The banner that the server prints when it is up: its addresses, and what to do next.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::demo::{Demo, Network};
use crate::settings::Keeping;

/// What the banner shows.
#[derive(Debug)]
pub struct Banner<'a> {
    /// The address of the API.
    pub addr: SocketAddr,
    /// The address of the operator API, if it has a listener to itself.
    pub admin_addr: Option<SocketAddr>,
    /// The routes of live messages, the default one first.
    pub routes: &'a [String],
    /// Where the data is kept.
    pub keeping: Keeping<'a>,
    /// The path of the console; `None` if there is none.
    pub console: Option<&'static str>,
    /// The operator's token, if the server generated it.
    pub made_token: Option<MadeToken>,
    /// The demo account, if one was created.
    pub demo: Option<&'a Demo>,
}

/// A token that the server generated.
#[derive(Debug)]
pub enum MadeToken {
    /// This token, which ends with the server.
    ForThisRun(String),
    /// The token in this file.
    InFile(PathBuf),
}

impl Banner<'_> {
    /// The text to print.
    pub fn text(&self) -> String {
        let addr = self.addr;
        let admin_addr = self.admin_addr.unwrap_or(addr);
        let mut lines = vec![
            String::new(),
            format!("  API             http://{addr}/api/v1"),
            format!("  Documentation   http://{addr}/docs"),
        ];
        if let Some(path) = self.console {
            lines.push(format!("  Console         http://{addr}{path}"));
        }
        lines.extend([
            format!("  Operator API    http://{admin_addr}/admin/v1"),
            format!("  Routes          {}", self.routes.join(", ")),
            format!("  Data            {}", kept(self.keeping)),
        ]);
        match &self.made_token {
            Some(MadeToken::ForThisRun(token)) => {
                lines.push(format!("  Operator token  {token}   (generated for this run)"));
            }
            Some(MadeToken::InFile(file)) => {
                lines.push(format!("  Operator token  in {}", file.display()));
            }
            None => {}
        }
        if let Some(demo) = self.demo {
            lines.extend(demo_lines(addr, demo));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// Which store serves, and what it promises.
fn kept(keeping: Keeping<'_>) -> String {
    match keeping {
        Keeping::Memory => "in memory: lost when the server stops".to_owned(),
        Keeping::File(data) => {
            format!("{}: every answered request is on disk", data.database().display())
        }
        Keeping::Postgres(_) => "in PostgreSQL: every answered request is on disk".to_owned(),
    }
}

fn demo_lines(addr: SocketAddr, demo: &Demo) -> Vec<String> {
    let Demo { network, live_key, test_key, number: _ } = demo;
    let carried = match network {
        Network::Simulated => " Messages go to a simulated network.",
        Network::Real => "",
    };
    let base = format!("http://{addr}/api/v1");
    vec![
        String::new(),
        format!("  A demo account with 1,000 credits is ready.{carried}"),
        format!("  Live key        {live_key}"),
        format!("  Test key        {test_key}"),
        String::new(),
        "  Send a message:".to_owned(),
        String::new(),
        format!("curl -s {base}/messages -H 'Authorization: Bearer {live_key}' \\"),
        "  -H 'Content-Type: application/json' \\".to_owned(),
        "  -d '{\"to\": \"07700 900123\", \"body\": \"Hello from your own SMS platform\"}'"
            .to_owned(),
        String::new(),
        "  Then look up its status:".to_owned(),
        String::new(),
        format!("curl -s {base}/messages -H 'Authorization: Bearer {live_key}'"),
    ]
}
