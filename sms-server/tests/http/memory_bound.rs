//! The memory of a server, which is attacked from each entry by clients that read nothing, stays
//! below the bound of `docs/limits.md`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::browser::escaped;
use crate::fresh::Folder;
use crate::message_send::numbers;
use crate::process::{Process, TOKEN, ask};
use crate::server_postgres::data;
use crate::socket::{Answer, Client};
use crate::workbook::{full_ods, full_xlsx, ods};

const MB: usize = 1_048_576;
/// The bound of a server with as few connections as here, in MB.
const BOUND: usize = 1_024;
/// Longer than any request here takes, also on a slow machine.
const LONG: Duration = Duration::from_mins(4);

/// What a server without a turn to give tells its clients.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Each import has a key of its own.
static KEYS: AtomicU64 = AtomicU64::new(1);

/// An account that attacks, through its key and a session in the console.
struct Attacker {
    key: String,
    cookie: String,
    csrf: String,
}

impl Attacker {
    async fn new(server: &Process) -> Self {
        let operator = async |path: &str, body: Value| {
            let path = format!("/admin/v1{path}");
            let made = server.call("POST", &path, TOKEN, &body).await;
            assert!(made.status < 300, "{path}: {}", made.body);
            data(&made)
        };
        let account = operator("/accounts", json!({ "name": "A", "status": "active" })).await;
        let path = format!("/accounts/{}", account["id"].as_str().unwrap());
        operator(&format!("{path}/credits"), json!({ "amount": 100_000, "note": "x" })).await;
        let key = operator(&format!("{path}/keys"), json!({ "kind": "live" })).await;
        let key = key["key"].as_str().unwrap().to_owned();
        sms_test_log::secret(&key);
        let signed_in = sign_in(server.addr(), &key).await;
        let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        sms_test_log::secret(cookie.split_once('=').unwrap().1);
        let session: Value = serde_json::from_str(&signed_in.body).unwrap();
        let csrf = session["csrf"].as_str().unwrap().to_owned();
        sms_test_log::secret(&csrf);
        Self { key, cookie, csrf }
    }

    /// A request to the API.
    fn api(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let proof = format!("Authorization: Bearer {}", self.key);
        request(
            method,
            &format!("/api/v1{path}"),
            &[&proof, "Content-Type: application/json"],
            body,
        )
    }

    /// A form of the console.
    fn form(&self, addr: SocketAddr, path: &str, fields: &str) -> Vec<u8> {
        let proof = format!("Cookie: {}", self.cookie);
        let origin = format!("Origin: http://{addr}");
        let body = format!("csrf={}&{fields}", self.csrf);
        request("POST", &format!("/console/contacts/import{path}"), &[&proof, &origin], &body)
    }

    /// A file, for an entry of the console.
    fn file(&self, addr: SocketAddr, path: &str, content: &[u8]) -> Vec<u8> {
        let part = "--x1\r\nContent-Disposition: form-data; name=";
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        let csrf = &self.csrf;
        let fields = format!(
            "{part}\"csrf\"\r\n\r\n{csrf}\r\n{part}\"key\"\r\n\r\n{key:032x}\r\n\
             {part}\"file\"; filename=\"a.csv\"\r\n\r\n"
        );
        let body = [fields.as_bytes(), content, b"\r\n--x1--\r\n"].concat();
        let proof = format!("Cookie: {}", self.cookie);
        let origin = format!("Origin: http://{addr}");
        let kind = "Content-Type: multipart/form-data; boundary=x1";
        request("POST", path, &[&proof, &origin, kind], body)
    }
}

async fn sign_in(addr: SocketAddr, key: &str) -> Answer {
    let mut client = Client::of(addr).await;
    let origin = format!("Origin: http://{addr}");
    let body = json!({ "key": key }).to_string();
    let lines = [&*origin, "Content-Type: application/json"];
    client.send(request("POST", "/console/session", &lines, &body)).await;
    client.answer().await
}

fn request(method: &str, path: &str, lines: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let origin = lines.iter().find_map(|line| line.strip_prefix("Origin: http://"));
    let body = body.as_ref();
    let (host, lines, length) = (origin.unwrap_or("x"), lines.join("\r\n"), body.len());
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n");
    [format!("{head}Content-Length: {length}\r\n\r\n").as_bytes(), body].concat()
}

/// A request, what it is, and the status of its answer if nothing stands in its way.
#[derive(Clone)]
struct Ask {
    name: &'static str,
    status: u16,
    request: Vec<u8>,
}

/// An answer that has begun, and of which nothing is read.
struct Unread {
    name: &'static str,
    expected: u16,
    status: u16,
    _socket: TcpStream,
}

impl Ask {
    fn new(name: &'static str, status: u16, request: Vec<u8>) -> Self {
        Self { name, status, request }
    }

    /// Sends the request, again if a slow server has no turn in time, and says when to ask again.
    async fn done(self, addr: SocketAddr) -> Unread {
        loop {
            let answer = self.clone().unread(addr).await;
            if answer.status != 503 {
                return answer;
            }
            sleep(RETRY_AFTER).await;
        }
    }

    /// Sends the request, and waits until its answer begins.
    async fn unread(self, addr: SocketAddr) -> Unread {
        let Self { name, status: expected, request } = self;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut socket = socket.connect(addr).await.unwrap();
        // A body that finds no room is refused before it has arrived.
        let _ = socket.write_all(&request).await;
        let status = timeout(LONG, status_of(&mut socket)).await.expect("an answer");
        Unread { name, expected, status, _socket: socket }
    }
}

/// The status with which an answer begins.
async fn status_of(socket: &mut TcpStream) -> u16 {
    let mut start = [0; "HTTP/1.1 200".len()];
    socket.read_exact(&mut start).await.expect("the start of an answer");
    std::str::from_utf8(&start[9..]).unwrap().parse().unwrap()
}

async fn all_unread(addr: SocketAddr, asks: Vec<Ask>) -> Vec<Unread> {
    join_all(asks.into_iter().map(|ask| ask.unread(addr))).await
}

/// 16 MB in 22 kB, as the field of a form.
fn bomb() -> String {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&vec![0; 16 * MB]).unwrap();
    escaped(&base64(&packed.finish().unwrap()))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = bytes.chunks(3).flat_map(|three| {
        let bits = three.iter().fold(0, |bits, byte| (bits << 8) | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        (0..4).map(move |place| {
            let letter = LETTERS[((bits >> (18 - 6 * place)) & 63) as usize];
            if place <= three.len() { char::from(letter) } else { '=' }
        })
    });
    letters.collect()
}

/// What takes much more memory than it has bytes.
fn heaviest(addr: SocketAddr, by: &Attacker) -> Vec<Ask> {
    const IMPORT: &str = "/console/contacts/import";
    const READ: &str = "/console/contacts/import/read";
    const OPT_OUTS: &str = "/console/opt-outs/import";
    let objects = |bytes: usize| vec!["{\"a\":0}"; bytes / 8].join(",");
    let rows = format!("{{\"rows\":[{}]}}", objects(7 * MB));
    let to = format!("{{\"to\":[{}],\"body\":\"x\"}}", objects(MB - 100));
    let columns: Vec<String> = (0..24).map(|column| format!("c{column}")).collect();
    let row = format!("0123,{}\n", ["abcdefghijklmn"; 24].join(","));
    let csv = format!("mobile,{}\n{}", columns.join(","), row.repeat(19_999));
    let wide = format!("{}\n", [","; 199].concat()).repeat(40_000);
    let wide = format!("mobile{}\n{}x", ",a".repeat(199), wide);
    let numbers = format!("mobile\n{}", "0123\n".repeat(20_000));
    let cells = vec!["\"\""; 200].join(",");
    let left_out = format!("{{\"line\":1,\"cells\":[{cells}],\"imported\":false,\"problems\":[]}}");
    let counts = "\"created\":0,\"updated\":0,\"unchanged\":0,\"invalid\":0,\"values\":0";
    let report = format!(
        "report={{\"file\":\"a\",\"delimiter\":\",\",{counts},\"added_to_list\":0,\"header\":[],\
         \"left_out\":[{}]}}",
        vec![left_out; 4_000].join(","),
    );
    let api = |path: &str, body: &str| by.api("POST", path, body);
    let file = |path: &str, content: &[u8]| by.file(addr, path, content);
    let (xlsx, ods, bomb) = (full_xlsx(), full_ods(), ods(60_000));
    assert!(ods.len() < 16_384 && bomb.len() < 16_384, "small as files");
    vec![
        Ask::new("an import", 422, api("/contacts/import", &rows)),
        Ask::new("a send", 422, api("/messages", &to)),
        Ask::new("a file", 200, file(IMPORT, csv.as_bytes())),
        Ask::new("a wide file of blank rows", 200, file(IMPORT, wide.as_bytes())),
        Ask::new("a file for the module", 200, file(READ, csv.as_bytes())),
        Ask::new("an Excel file", 200, file(IMPORT, &xlsx)),
        Ask::new("an Excel file for the module", 200, file(READ, &xlsx)),
        Ask::new("a LibreOffice file", 200, file(IMPORT, &ods)),
        Ask::new("a LibreOffice file for the module", 200, file(READ, &ods)),
        Ask::new("a LibreOffice file with too many rows", 422, file(IMPORT, &bomb)),
        Ask::new("opt-outs", 200, file(OPT_OUTS, numbers.as_bytes())),
        Ask::new("opt-outs of Excel", 200, file(OPT_OUTS, &xlsx)),
        Ask::new("a report", 200, by.form(addr, "/report", &report)),
        Ask::new("many fields", 400, by.form(addr, "/report", &"a&".repeat(3 * MB))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_attacked_from_every_entry_stays_below_its_bound() {
    let folder = Folder::new("memory-bound");
    let server = Process::start(&[
        ("SMS_DATA_DIR", folder.path()),
        ("SMS_DEMO", "false"),
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_LOG", "error"),
        ("SMS_RATE_PER_SECOND", "1000"),
        ("SMS_RATE_BURST", "1000"),
    ]);
    let addr = server.addr();
    let shared = json!({ "phone_number": "+447700900000" });
    server.call("POST", "/admin/v1/numbers", TOKEN, &shared).await;
    let mut attackers = Vec::new();
    for _ in 0..4 {
        attackers.push(Attacker::new(&server).await);
    }
    for attacker in &attackers {
        let send = json!({ "to": numbers(1_000), "body": "b".repeat(1_500) });
        let sent = server.call("POST", "/api/v1/messages", &attacker.key, &send).await;
        assert_eq!(sent.status, 201, "{}", sent.body);
    }
    let (bomb, start) = (bomb(), "0".repeat(26));
    let mut open = Vec::new();
    for by in &attackers {
        let page = Ask::new("a page", 200, by.api("GET", "/messages?limit=100", ""));
        let export = Ask::new("an export", 200, by.api("GET", "/messages/export", ""));
        let stream = by.api("GET", &format!("/events/stream?after={start}"), "");
        let stream = Ask::new("a stream", 200, stream);
        let left_out = by.form(addr, "/left-out", &format!("packed={bomb}"));
        let left_out = Ask::new("rows left out", 200, left_out);
        let mut asks = vec![page; 30];
        asks.extend(vec![export; 3]);
        asks.extend(vec![stream; 10]);
        asks.extend(vec![left_out; 25]);
        open.extend(all_unread(addr, asks).await);
    }
    for Unread { name, expected, status, .. } in &open {
        assert_eq!(status, expected, "{name}");
    }
    let unread_at = server.memory_peak();
    // One after another: each is worked on.
    let alone = Attacker::new(&server).await;
    for ask in heaviest(addr, &alone) {
        let answer = timeout(LONG, ask.done(addr)).await.expect("it is done in the end");
        assert_eq!(answer.status, answer.expected, "{}", answer.name);
    }
    let one_by_one_at = server.memory_peak();
    // At once: those that find no room or no turn in time are refused.
    let asks = attackers[..3].iter().flat_map(|by| heaviest(addr, by)).collect();
    let at_once = all_unread(addr, asks).await;
    for Unread { name, expected, status, .. } in &at_once {
        assert!([*expected, 429, 503].contains(status), "{name}: {status}");
    }
    let done = at_once.iter().filter(|one| one.status == one.expected).count();
    assert!(done >= 3, "{done} were worked on");
    let peak = server.memory_peak();
    assert!(
        peak < BOUND,
        "{peak} MB, {unread_at} MB with unread answers, {one_by_one_at} MB one by one"
    );
    // Who takes no part is served as ever.
    let other = Attacker::new(&server).await;
    let balance = ask(addr, "GET", "/api/v1/balance", Some(&other.key), "").await;
    assert_eq!(balance.status, 200);
    drop((open, at_once));
}
