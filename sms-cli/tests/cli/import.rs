//! Imports: their portions, refused rows, and interruptions.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value;

use crate::home::Home;
use crate::receiver::{Request, read};
use crate::server::{self, BOUND};

/// So many rows. Row 10 has no number, row 25,000 one that is none, and row 44,999 a cell too many.
fn people(rows: u32) -> String {
    let mut text = String::from("\u{FEFF}First name,Mobile,Tier\n");
    for row in 1..=rows {
        let number = 7_400_000_000_u64 + u64::from(row);
        let _ = match row {
            10 => writeln!(text, "Ada,,gold"),
            25_000 => writeln!(text, "Ada,12,gold"),
            44_999 => writeln!(text, "Ada,0{number},gold,more"),
            _ => writeln!(text, "\"Ada {row}\",0{number},gold"),
        };
    }
    text
}

/// Passes requests on to the server. Of the import number `lost` it passes the request on, and
/// keeps the answer to itself.
struct Proxy {
    url: String,
    imports: Receiver<Request>,
}

impl Proxy {
    fn start(lost: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, imports) = channel();
        thread::spawn(move || {
            let mut count = 0;
            let mut kept = Vec::new();
            for socket in listener.incoming() {
                let mut socket = socket.unwrap();
                let request = read(&socket);
                let answer = pass_on(&request);
                let is_import = request.head.starts_with("POST /api/v1/contacts/import ");
                count += usize::from(is_import);
                if is_import && count == lost {
                    kept.push(socket);
                } else {
                    let _ = socket.write_all(&answer);
                }
                if is_import && sender.send(request).is_err() {
                    return;
                }
            }
        });
        Self { url, imports }
    }

    fn next(&self) -> Request {
        self.imports.recv_timeout(BOUND).expect("a portion")
    }
}

fn pass_on(request: &Request) -> Vec<u8> {
    let mut server = TcpStream::connect(server::address()).unwrap();
    let head = request.head.trim_end();
    write!(server, "{head}\r\nConnection: close\r\n\r\n{}", request.body).unwrap();
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).unwrap();
    answer
}

fn rows_of(request: &Request) -> usize {
    request.json()["rows"].as_array().unwrap().len()
}

fn key_of(request: &Request) -> String {
    request.header("idempotency-key").to_owned()
}

#[test]
fn an_import_continues_after_a_kill_and_counts_every_row_once() {
    let keys = server::account(1);
    let proxy = Proxy::start(2);
    let home = Home::with_key(&keys.live).with("SMS_API_URL", &proxy.url);
    let list = home.run(&["lists", "create", "All"]).assert(0).out.trim().to_owned();
    std::fs::write(home.file("people.csv"), people(45_000)).unwrap();
    let import = ["contacts", "import", "people.csv", "--list", &list];

    // The answer to the second portion is lost, and the program is killed while it waits.
    let mut child = home.start(&import);
    let first = proxy.next();
    let second = proxy.next();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((rows_of(&first), rows_of(&second)), (19_999, 20_000));
    assert_ne!(key_of(&first), key_of(&second));

    let ran = home.run(&import).assert(8);
    assert!(ran.err.contains("continuing after row 20,000"), "{ran:?}");
    let again = proxy.next();
    assert_eq!((key_of(&again), &again.body), (key_of(&second), &second.body));
    assert_eq!(rows_of(&proxy.next()), 4_999);
    assert!(ran.err.contains("45,000 of 45,000 rows (100 %)"), "{ran:?}");
    let told = "imported 45,000 rows, 44,997 created, 44,997 added to the list, 3 refused";
    assert_eq!(ran.out.trim(), told);
    let report = std::fs::read_to_string(home.file("people.rejected.csv")).unwrap();
    let refused: Vec<&str> = report.lines().skip(1).collect();
    assert_eq!(refused.len(), 3, "{report}");
    assert_eq!(refused[0], "10,phone: it has no number,Ada,,gold");
    assert!(refused[1].starts_with("25000,") && refused[1].ends_with(",Ada,12,gold"), "{report}");
    assert!(refused[2].starts_with("44999,it has 4 columns instead of 3,Ada,"), "{report}");
    let lists = home.json(&["lists", "list"]);
    assert_eq!(lists[0]["contact_count"], 44_997);
}

#[test]
fn rows_of_any_size_go_into_requests_that_the_api_takes() {
    let proxy = Proxy::start(0);
    let home = Home::with_key(&server::account(1).live).with("SMS_API_URL", &proxy.url);
    // Two of them together are more than a request may have, and the third alone is.
    let mut text = String::from("phone,first_name,about\n");
    for (row, bytes) in [(1, 5_000_000), (2, 5_000_000), (3, 9_200_000), (4, 9)] {
        let about = "x".repeat(bytes);
        writeln!(text, "0740000000{row},Ada,{about}").unwrap();
    }
    std::fs::write(home.file("people.csv"), text).unwrap();
    let ran = home.run(&["contacts", "import", "people.csv"]).assert(8);
    assert_eq!((rows_of(&proxy.next()), rows_of(&proxy.next())), (1, 2));
    // The server refuses long fields row by row, and takes the others.
    assert_eq!(ran.out.trim(), "imported 4 rows, 1 created, 3 refused");
    let report = std::fs::read_to_string(home.file("people.rejected.csv")).unwrap();
    let reasons: Vec<&str> = report
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().split(':').next().unwrap())
        .collect();
    assert_eq!(reasons[2], "it takes 9200065 bytes instead of at most 7500000");
}

#[test]
fn a_repeated_import_starts_over_and_changes_nothing() {
    let home = Home::with_key(&server::account(1).live);
    std::fs::write(home.file("people.csv"), people(9)).unwrap();
    let import = |arguments: &[&str]| -> Value {
        home.json(&[&["contacts", "import", "people.csv"], arguments].concat())["totals"].clone()
    };
    assert_eq!((&import(&[])["created"], &import(&[])["unchanged"]), (&9.into(), &9.into()));
    assert_eq!(import(&["--restart"])["rows"], 9);
    assert!(!home.file("people.rejected.csv").exists(), "no row was refused");
    let contacts = home.json(&["contacts", "list", "--query", "Ada 3"]);
    assert_eq!(contacts[0]["custom"]["tier"], "gold");
    assert_eq!(contacts[0]["phone"], "+447400000003");
}

#[test]
fn a_report_replaces_neither_the_file_nor_what_was_refused_before_an_interruption() {
    let proxy = Proxy::start(2);
    let home = Home::with_key(&server::account(1).live).with("SMS_API_URL", &proxy.url);
    std::fs::write(home.file("people.csv"), people(20_001)).unwrap();
    let import = ["contacts", "import", "people.csv"];
    let ran = home.run(&[&import[..], &["--report", "./people.csv"]].concat()).assert(2);
    assert!(ran.err.contains("would overwrite"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(home.file("people.csv")).unwrap(), people(20_001));

    let mut child = home.start(&import);
    let _lost = [proxy.next(), proxy.next()];
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = home.run(&[&import[..], &["--report", "other.csv"]].concat()).assert(1);
    assert!(ran.err.contains("name the same --report"), "{ran:?}");
    home.run(&import).assert(8);
    let report = std::fs::read_to_string(home.file("people.rejected.csv")).unwrap();
    assert_eq!(report.lines().count(), 2, "{report}");
}

#[test]
fn a_file_without_numbers_or_without_rows_is_refused_or_empty() {
    let home = Home::with_key(&server::account(1).live);
    std::fs::write(home.file("names.csv"), "name\nAda\n").unwrap();
    let ran = home.run(&["contacts", "import", "names.csv"]).assert(1);
    assert!(ran.err.contains("--phone-column"), "{ran:?}");
    std::fs::write(home.file("empty.csv"), "phone\n").unwrap();
    assert_eq!(home.json(&["contacts", "import", "empty.csv"])["totals"]["rows"], 0);
    std::fs::write(home.file("other.csv"), "Name;Handy\nAda;07400000001\n").unwrap();
    let other = ["contacts", "import", "other.csv", "--phone-column", "Handy", "--delimiter", ";"];
    assert_eq!(home.json(&other)["totals"]["created"], 1);
    home.run(&["contacts", "import", "none.csv"]).assert(1);
}
