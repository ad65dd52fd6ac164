//! A PostgreSQL of the tests' own: made in a temporary folder, started on a free port, gone when
//! the tests are.
//!
//! `TEST_DATABASE_URL` names a server to use instead; databases are made and dropped there.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// The server that the tests use.
pub(crate) struct Cluster {
    /// `postgres://…/`, to be followed by a database's name.
    base: String,
    databases: AtomicU32,
    _own: Option<OwnServer>,
}

/// A server that was started here. Its keeper stops it when this process ends, however it ends.
struct OwnServer {
    _keeper: Child,
}

const NOT_FOUND: &str = "no PostgreSQL server programs (initdb, postgres) found. Install them: \
    Debian/Ubuntu `apt-get install postgresql`; macOS `brew install postgresql`; or name a running \
    server in TEST_DATABASE_URL";

impl Cluster {
    /// Starts a server, or takes the one that `TEST_DATABASE_URL` names.
    pub(crate) fn start() -> Self {
        if let Ok(url) = std::env::var("TEST_DATABASE_URL") {
            let base = url.rsplit_once('/').map_or(url.as_str(), |(base, _)| base);
            let base = format!("{base}/");
            return Self { base, databases: AtomicU32::new(0), _own: None };
        }
        let programs = find_programs().expect(NOT_FOUND);
        let folder = std::env::temp_dir().join(format!("sms-test-postgres-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the temporary folder can be made");
        let user = server_user();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&folder, Some(uid), Some(gid)).expect("root may chown");
        }
        let server = Server { programs, folder, user };
        server.init();
        let (port, keeper) = server.serve();
        let base = format!("postgres://postgres@127.0.0.1:{port}/");
        Self { base, databases: AtomicU32::new(0), _own: Some(OwnServer { _keeper: keeper }) }
    }

    /// The address of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("{}{database}", self.base)
    }

    /// Makes a database, as a copy of another if one is named.
    pub(crate) async fn create(&self, template: Option<&str>) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("sms_test_{}_{number}", std::process::id());
        let template = template.unwrap_or("template1");
        self.run(format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")).await;
        name
    }

    /// Drops a database, whoever is connected to it.
    pub(crate) async fn drop(&self, database: &str) {
        self.run(format!("DROP DATABASE {database} WITH (FORCE)")).await;
    }

    async fn run(&self, sql: String) {
        let mut connection =
            PgConnection::connect(&self.url("postgres")).await.expect("the server answers");
        connection.execute(AssertSqlSafe(sql)).await.expect("the server does it");
        connection.close().await.expect("the connection ends");
    }
}

struct Server {
    programs: PathBuf,
    folder: PathBuf,
    /// Whom to run it as: PostgreSQL refuses root.
    user: Option<(u32, u32)>,
}

impl Server {
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        command.current_dir(&self.folder);
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn init(&self) {
        let mut initdb = self.command(self.programs.join("initdb"));
        initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "-D", "data"]);
        succeed(initdb, "initdb");
    }

    /// Starts the server; tries another port should somebody else have taken the one chosen.
    fn serve(&self) -> (u16, Child) {
        for _ in 0..5 {
            let port = free_port();
            let settings = format!(
                "-h 127.0.0.1 -p {port} -c unix_socket_directories='' -c fsync=off \
                 -c full_page_writes=off -c synchronous_commit=off -c max_connections=200"
            );
            let mut start = self.command(self.programs.join("pg_ctl"));
            start.args(["start", "-w", "-D", "data", "-l", "log", "-o", &settings]);
            if start.stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
                return (port, self.keeper());
            }
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("PostgreSQL did not start:\n{log}");
    }

    /// Stops the server and removes its folder when this process is gone: it waits for the end of
    /// a pipe that this process holds, so that neither a panic nor a kill leaves anything behind.
    fn keeper(&self) -> Child {
        let pg_ctl = self.programs.join("pg_ctl");
        let mut keeper = self.command("/bin/sh");
        keeper.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        keeper.arg("-c").arg(format!(
            "cat >/dev/null; '{}' stop -m immediate -D data; cd /; rm -rf '{}'",
            pg_ctl.display(),
            self.folder.display()
        ));
        keeper.spawn().expect("sh starts")
    }
}

fn succeed(mut command: Command, name: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed: {told}");
}

/// Where `initdb`, `pg_ctl` and `postgres` are.
fn find_programs() -> Option<PathBuf> {
    let is_here =
        |folder: &Path| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file();
    let from_variable = std::env::var_os("SMS_TEST_PG_BIN").map(PathBuf::from);
    let from_config = Command::new("pg_config").arg("--bindir").output().ok();
    let from_config = from_config
        .map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim().to_owned()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    // The newest first.
    debian.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let homebrew = ["/opt/homebrew/bin", "/usr/local/bin"].map(PathBuf::from);
    from_variable
        .into_iter()
        .chain(debian)
        .chain(from_config)
        .chain(std::env::split_paths(&path))
        .chain(homebrew)
        .find(|folder| is_here(folder))
}

/// The number in `/usr/lib/postgresql/15/bin`.
fn version(folder: &Path) -> u32 {
    let number = folder.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// For root, the user `postgres` or else `nobody`; for anybody else, themselves.
fn server_user() -> Option<(u32, u32)> {
    let me = Command::new("id").arg("-u").output().ok()?;
    if String::from_utf8_lossy(&me.stdout).trim() != "0" {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}
