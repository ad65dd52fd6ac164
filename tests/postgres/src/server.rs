//! A server that this process starts. A keeper process stops it when this process ends, however it
//! ends.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::disk::Disk;
use crate::programs::{NOT_FOUND, find_programs, server_user};

/// Files in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// The free space that a server without durability wants there, in kB.
const SPACE_WANTED: u64 = 4 << 20;

/// How many transactions have their states in one file of `pg_xact`, of 256 kB.
const TRANSACTIONS_OF_SEGMENT: u32 = 1 << 20;

/// Which durability settings a server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// None: fast, for tests that never stop the server.
    None,
    /// Those of production, with memory sized for measurements.
    Full,
}

impl Durability {
    fn settings(self) -> &'static str {
        match self {
            Self::None => {
                "-c fsync=off -c full_page_writes=off -c synchronous_commit=off \
                 -c max_wal_size=256MB"
            }
            Self::Full => {
                "-c fsync=on -c full_page_writes=on -c synchronous_commit=on \
                 -c shared_buffers=256MB -c max_wal_size=2GB"
            }
        }
    }
}

/// How to stop a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Like a crash: every process ends at once, and the next start recovers.
    Immediate,
    /// In order: it rolls back transactions, closes connections and writes everything to disk.
    Fast,
}

impl Stop {
    fn mode(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Fast => "fast",
        }
    }
}

/// A running server in a temporary folder. Dropping it stops it and removes the folder.
#[derive(Debug)]
pub struct Server {
    place: Place,
    port: u16,
    durability: Durability,
    _keeper: Child,
}

impl Server {
    /// Creates and starts a server on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// If PostgreSQL is not installed (the message says what to do) or does not start.
    pub fn start(durability: Durability) -> Self {
        let (place, keeper) = Place::make(durability);
        place.init();
        let mut server = Self { place, port: 0, durability, _keeper: keeper };
        // Tries another port if another process takes the chosen one.
        for _ in 0..5 {
            server.port = free_port();
            if server.place.serve(server.port, durability) {
                return server;
            }
        }
        panic!("PostgreSQL did not start:\n{}", server.place.log());
    }

    /// Copies this server, and starts the copy as its standby on a free port. It replicates as long
    /// as both run. It is synchronous once `synchronous_standby_names` is [set](Self::set) to `*`.
    ///
    /// # Panics
    ///
    /// If the standby does not start.
    #[must_use]
    pub fn standby(&self) -> Self {
        self.standby_at(free_port())
    }

    /// Like [`Server::standby`], on the port of a server that is gone.
    ///
    /// # Panics
    ///
    /// If the standby does not start.
    #[must_use]
    pub fn standby_at(&self, port: u16) -> Self {
        let (place, keeper) = Place::make(self.durability);
        place.copy(self.port);
        let standby = Self { place, port, durability: self.durability, _keeper: keeper };
        standby.start_again();
        standby
    }

    /// Makes a standby a primary, and waits until it takes writes.
    pub fn promote(&self) {
        let mut command = self.place.command(self.place.programs.join("pg_ctl"));
        command.args(["promote", "-w", "-D", "data"]);
        succeed(command, "pg_ctl promote");
    }

    /// Kills the server's first process (`kill -9`). The others notice and end.
    pub fn kill(&self) {
        if let Some(pid) = self.pid() {
            let mut command = Command::new("kill");
            command.args(["-KILL", &pid.to_string()]);
            succeed(command, "kill");
        }
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The address of a database over the Unix socket.
    pub fn socket_url(&self, database: &str) -> String {
        let folder = self.place.folder.display();
        format!("postgres://postgres@localhost:{}/{database}?host={folder}", self.port)
    }

    /// The folder of the server's programs, and of `pgbench` and `psql` if installed.
    pub fn programs(&self) -> &Path {
        &self.place.programs
    }

    /// The process id of the postmaster while the server runs.
    pub fn pid(&self) -> Option<u32> {
        let file = self.place.folder.join("data/postmaster.pid");
        fs::read_to_string(file).ok()?.lines().next()?.trim().parse().ok()
    }

    /// Stops the server and waits until it has stopped.
    pub fn stop(&self, stop: Stop) {
        let mut command = self.place.command(self.place.programs.join("pg_ctl"));
        command.args(["stop", "-w", "-m", stop.mode(), "-D", "data"]);
        succeed(command, "pg_ctl stop");
    }

    /// Starts the server after a [`Server::stop`], on the same port and data, and waits until it
    /// answers.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&self) {
        // An old connection may hold the port for a moment.
        for _ in 0..5 {
            if self.place.serve(self.port, self.durability) {
                return;
            }
        }
        panic!("PostgreSQL did not start again:\n{}", self.place.log());
    }

    /// Closes every client's connection. Returns how many there were.
    pub async fn cut_connections(&self) -> u64 {
        let mut connection = connect(&self.url("postgres")).await;
        let cut = sqlx::query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        );
        let cut = cut.fetch_all(&mut connection).await.expect("the server does it");
        connection.close().await.expect("the connection ends");
        cut.len() as u64
    }

    /// Changes a setting of the whole server, for present and later sessions.
    pub async fn set(&self, setting: &str, value: &str) {
        let url = self.url("postgres");
        run_at(&url, format!("ALTER SYSTEM SET {setting} = '{value}'")).await;
        run_at(&url, "SELECT pg_reload_conf()".to_owned()).await;
    }

    /// Creates an empty database.
    pub async fn create_database(&self, name: &str) {
        run_at(&self.url("postgres"), format!("CREATE DATABASE {name}")).await;
    }

    /// Creates an empty database whose tables are on this disk.
    pub async fn create_database_on(&self, disk: &Disk, name: &str) {
        let (url, folder) = (self.url("postgres"), disk.folder().display());
        run_at(&url, format!("CREATE TABLESPACE {name} LOCATION '{folder}'")).await;
        run_at(&url, format!("CREATE DATABASE {name} TABLESPACE {name}")).await;
    }

    /// Moves the write-ahead log to this disk. The server is restarted for that.
    ///
    /// # Panics
    ///
    /// If the server does not start again.
    pub fn move_log_to(&self, disk: &Disk) {
        self.stop(Stop::Fast);
        let folder = disk.folder().display();
        let mut mv = self.place.command("/bin/sh");
        mv.arg("-c")
            .arg(format!("mv data/pg_wal '{folder}/wal' && ln -s '{folder}/wal' data/pg_wal"));
        succeed(mv, "moving the write-ahead log");
        self.start_again();
    }

    /// Has the server number its transactions from here on, as if it had run so many. The databases
    /// are all that it has besides its own.
    ///
    /// # Panics
    ///
    /// If the server does not start again.
    pub async fn number_transactions_from(&self, databases: &[&str], first: u32) {
        // Only rows that are frozen are seen by every number.
        for database in ["postgres", "template1"].iter().chain(databases) {
            run_at(&self.url(database), "VACUUM (FREEZE)".to_owned()).await;
        }
        self.stop(Stop::Fast);
        let mut segment = self.place.command("dd");
        let file = format!("of=data/pg_xact/{:04X}", first / TRANSACTIONS_OF_SEGMENT);
        segment.args(["if=/dev/zero", "bs=262144", "count=1", &file]);
        succeed(segment, "dd");
        let mut reset = self.place.command(self.place.programs.join("pg_resetwal"));
        reset.args(["-x", &first.to_string(), "-D", "data"]).stdout(Stdio::null());
        succeed(reset, "pg_resetwal");
        self.start_again();
    }

    /// Whether the server runs.
    pub fn is_running(&self) -> bool {
        let mut status = self.place.command(self.place.programs.join("pg_ctl"));
        status.args(["status", "-D", "data"]).stdout(Stdio::null());
        status.status().is_ok_and(|status| status.success())
    }
}

/// Runs one statement on a new connection.
pub(crate) async fn run_at(url: &str, sql: String) {
    let mut connection = connect(url).await;
    connection.execute(AssertSqlSafe(sql)).await.expect("the server does it");
    connection.close().await.expect("the connection ends");
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("the server answers")
}

/// A server's programs and folder.
#[derive(Debug)]
struct Place {
    programs: PathBuf,
    folder: PathBuf,
    /// The user and group to run as, if not the present user: PostgreSQL refuses root.
    user: Option<(u32, u32)>,
}

impl Place {
    /// An empty folder, and the process that removes it in the end.
    fn make(durability: Durability) -> (Self, Child) {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let programs = find_programs().expect(NOT_FOUND);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("sms-test-postgres-{}-{number}", std::process::id());
        let folder = folder_of_data(durability).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the temporary folder can be made");
        let user = server_user();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&folder, Some(uid), Some(gid)).expect("root may chown");
        }
        let place = Self { programs, folder, user };
        // The keeper starts before anything is written, so that nothing is left behind.
        let keeper = place.keeper();
        (place, keeper)
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        // Stores go by the time of their database.
        command.envs(sms_test_clock::variables());
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

    /// Copies the server on this port, as its standby.
    fn copy(&self, port: u16) {
        let mut copy = self.command(self.programs.join("pg_basebackup"));
        copy.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres", "-D", "data"]);
        copy.args(["-X", "stream", "-c", "fast", "-R", "--no-sync"]);
        succeed(copy, "pg_basebackup");
    }

    /// Starts the server. Returns whether it started.
    fn serve(&self, port: u16, durability: Durability) -> bool {
        let settings = format!(
            "-h 127.0.0.1 -p {port} -c unix_socket_directories='{}' -c max_connections=200 {}",
            self.folder.display(),
            durability.settings(),
        );
        let mut start = self.command(self.programs.join("pg_ctl"));
        // A separate process group, so that Ctrl-C in a terminal does not reach the server.
        start.process_group(0).args(["start", "-w", "-D", "data", "-l", "log", "-o", &settings]);
        start.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Starts the process that stops the server and removes its folder when this process is gone.
    /// It waits for the end of a pipe that this process holds open, so it works after a panic or a
    /// kill too.
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

/// Where a server's folder is made. What needs no disk is in memory if there is space: a database
/// of a test is a thousand small files, and making and removing them on a disk takes half of the
/// processor time of such tests.
fn folder_of_data(durability: Durability) -> PathBuf {
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    if durability == Durability::None && !is_chosen && free_kb(MEMORY) >= Some(SPACE_WANTED) {
        return MEMORY.into();
    }
    std::env::temp_dir()
}

/// The free space of the file system at a path, in kB, as `df` tells it.
fn free_kb(path: &str) -> Option<u64> {
    let df = Command::new("df").args(["-P", "-k", path]).output().ok()?;
    let table = String::from_utf8(df.stdout).ok()?;
    table.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

fn succeed(mut command: Command, name: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed: {told}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}
