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

/// Passes requests on to the server, but for this import of opt-outs, which it refuses.
fn refusing(nth: usize) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, imports) = channel();
    thread::spawn(move || {
        let mut count = 0;
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let request = read(&socket);
            count += 1;
            let answer = if count == nth {
                let body = "{\"error\":{\"code\":\"forbidden\",\"message\":\"No.\"}}";
                let head = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}", body.len());
                format!("{head}\r\nConnection: close\r\n\r\n{body}").into_bytes()
            } else {
                pass_on(&request)
            };
            let _ = socket.write_all(&answer);
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (url, imports)
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
    assert_eq!((rows_of(&first), rows_of(&second)), (19_999, 19_999));
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
    assert_eq!(refused[0], "Ada,,gold,11,phone: it has no number");
    assert_eq!(refused[1], "Ada,12,gold,25001,phone: not a valid phone number");
    assert!(refused[2].ends_with(",gold,45000,it has 4 columns instead of 3,more"), "{report}");
    let lists = home.json(&["lists", "list"]);
    assert_eq!(lists[0]["contact_count"], 44_997);
}

#[test]
fn rows_of_any_size_go_into_requests_that_the_api_takes() {
    let proxy = Proxy::start(0);
    let home = Home::with_key(&server::account(1).live).with("SMS_API_URL", &proxy.url);
    // All together are more than a request may have, and a note of one is more than a contact may.
    let mut text = String::from("phone,notes\n");
    for row in 1..=3_000 {
        let notes = "€".repeat(if row == 2 { 2_001 } else { 2_000 });
        writeln!(text, "0{},{notes}", 7_400_000_000_u64 + row).unwrap();
    }
    std::fs::write(home.file("people.csv"), text).unwrap();
    let ran = home.run(&["contacts", "import", "people.csv"]).assert(8);
    let portions = [rows_of(&proxy.next()), rows_of(&proxy.next()), rows_of(&proxy.next())];
    assert!(portions[0] > 1_000 && portions[1] > 1_000, "{portions:?}");
    assert_eq!(portions.iter().sum::<usize>(), 3_000);
    assert_eq!(ran.out.trim(), "imported 3,000 rows, 3,000 created, 1 value left out");
    let report = std::fs::read_to_string(home.file("people.rejected.csv")).unwrap();
    assert!(report.ends_with(",3,notes: the text may have at most 2000 characters\r\n"));
}

#[test]
fn a_file_of_many_columns_goes_into_requests_that_the_api_takes() {
    let proxy = Proxy::start(0);
    let home = Home::with_key(&server::account(1).live).with("SMS_API_URL", &proxy.url);
    // The API takes 500,000 values in a body. A row has 53: the contact, its number, its custom
    // fields and each of these.
    let mut text = "phone".to_owned();
    for field in 1..=50 {
        write!(text, ",c{field}").unwrap();
    }
    text.push('\n');
    for row in 0..9_500 {
        writeln!(text, "0{}{}", 7_400_700_000_u64 + row, ",x".repeat(50)).unwrap();
    }
    std::fs::write(home.file("people.csv"), text).unwrap();
    let ran = home.run(&["contacts", "import", "people.csv"]).assert(0);
    assert_eq!(ran.out.trim(), "imported 9,500 rows, 9,500 created");
    assert_eq!(rows_of(&proxy.next()) + rows_of(&proxy.next()), 9_500);
}

#[test]
fn a_file_as_excel_saves_it_is_read_and_its_failures_can_be_imported_once_corrected() {
    let home = Home::with_key(&server::account(1).live);
    let text = "Name;Mobile;Email;Town\r\n\
                Zoë;'07400000001;zoe@example.com;Köln\r\n\
                Müller;=\"07400000002\";nobody;Ulm\r\n\
                Ann;4,47701E+11;;\r\n";
    // Windows-1252, which is Latin-1 here.
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    std::fs::write(home.file("people.csv"), bytes).unwrap();
    let ran = home.run(&["contacts", "import", "people.csv"]).assert(8);
    assert_eq!(ran.out.trim(), "imported 3 rows, 2 created, 1 refused, 1 value left out");
    assert!(ran.err.contains("1 row refused and 1 value left out: see"), "{ran:?}");
    let read = "reading people.csv as Windows-1252 (Western European), with semicolon between";
    assert!(ran.err.contains(read), "{ran:?}");
    let contact = &home.json(&["contacts", "list", "--query", "07400000001"])[0];
    assert_eq!(
        (&contact["custom"]["name"], &contact["custom"]["town"]),
        (&"Zoë".into(), &"Köln".into())
    );
    let contact = &home.json(&["contacts", "list", "--query", "07400000002"])[0];
    assert_eq!((&contact["custom"]["town"], &contact["email"]), (&"Ulm".into(), &Value::Null));

    let report = std::fs::read_to_string(home.file("people.rejected.csv")).unwrap();
    let lines = [
        "\u{feff}Name;Mobile;Email;Town;line;problem",
        "Müller;07400000002;nobody;Ulm;3;email: not an email address, such as someone@example.com",
        "Ann;4,47701E+11;;;4;phone: Excel rounded this number: format the column as text and \
         export again",
    ];
    assert_eq!(report.lines().collect::<Vec<_>>(), lines);
    let corrected = report.replace("nobody", "m@example.com").replace("4,47701E+11", "07400000003");
    std::fs::write(home.file("corrected.csv"), corrected).unwrap();
    let totals = &home.json(&["contacts", "import", "corrected.csv"])["totals"];
    assert_eq!((&totals["created"], &totals["updated"]), (&1.into(), &1.into()));
    let contact = &home.json(&["contacts", "list", "--query", "07400000003"])[0];
    assert_eq!(contact["custom"], serde_json::json!({ "name": "Ann" }));
}

#[test]
fn a_workbook_is_imported_and_so_is_another_sheet_of_it() {
    let home = Home::with_key(&server::account(1).live);
    let bytes = include_bytes!("../../../sms-files/tests/files/people.xlsx");
    std::fs::write(home.file("people.xlsx"), bytes).unwrap();
    let ran = home.run(&["contacts", "import", "people.xlsx"]).assert(8);
    assert_eq!(ran.out.trim(), "imported 3 rows, 2 created, 1 refused, 1 value left out");
    let contact = &home.json(&["contacts", "list", "--query", "07700900461"])[0];
    assert_eq!(contact["custom"]["visit"], "2026-11-27");
    let report = std::fs::read_to_string(home.file("people.rejected.csv")).unwrap();
    let last = report.lines().last().unwrap();
    assert!(last.starts_with("447701000000,Ann,,,5,phone: Excel rounded"), "{report}");
    let other = ["contacts", "import", "people.xlsx", "--sheet", "Other"];
    assert_eq!(home.json(&other)["totals"]["created"], 1);
    let ran = home.run(&["contacts", "import", "people.xlsx", "--sheet", "None"]).assert(1);
    assert!(ran.err.contains("no such sheet"), "{ran:?}");
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
    assert_eq!(home.json(&other[..5])["totals"]["unchanged"], 1);
    home.run(&["contacts", "import", "none.csv"]).assert(1);
}

#[test]
fn opt_outs_are_imported_from_a_workbook_and_from_a_list_of_numbers() {
    let home = Home::with_key(&server::account(1).live);
    let bytes = include_bytes!("../../../sms-files/tests/files/people.ods");
    std::fs::write(home.file("stopped.ods"), bytes).unwrap();
    let import = ["opt-outs", "import", "stopped.ods"];
    let ran = home.run(&import).assert(0);
    assert_eq!(ran.out.trim(), "opted out 2 numbers");
    let listed = home.json(&["opt-outs", "list", "--query", "asked by phone"]);
    assert_eq!(listed[0]["phone"], "+447700900471");
    std::fs::write(home.file("more.csv"), "07700900472\n07700900473\nnone\n").unwrap();
    let ran = home.run(&["opt-outs", "import", "more.csv"]).assert(8);
    assert_eq!(ran.out.trim(), "opted out 1 number, 1 had opted out already, 1 refused");
    let report = std::fs::read_to_string(home.file("more.rejected.csv")).unwrap();
    let failed = "phone,line,problem\r\nnone,3,phone: not a valid phone number\r\n";
    assert_eq!(report, format!("\u{feff}{failed}"));
}

#[test]
fn an_import_of_opt_outs_that_stops_reports_what_was_done_and_what_was_not() {
    let (url, requests) = refusing(2);
    let home = Home::with_key(&server::account(1).live).with("SMS_API_URL", &url);
    // The notes are more than a request may have, and one is more than an opt-out may.
    let mut text = String::from("phone,notes\n");
    for row in 1..=1_500 {
        let notes = "€".repeat(if row == 2 { 501 } else { 400 });
        writeln!(text, "0{},{notes}", 7_400_500_000_u64 + row).unwrap();
    }
    std::fs::write(home.file("stopped.csv"), &text).unwrap();
    let ran = home.run(&["opt-outs", "import", "stopped.csv"]).assert(4);
    let first = rows_of(&requests.recv_timeout(BOUND).unwrap());
    assert!((500..1_000).contains(&first), "{first} rows in a request");
    assert_eq!(ran.out.trim(), format!("opted out {first} numbers, 1 note left out"));
    assert!(ran.err.contains(&format!("stopped after {first} of 1500 rows")), "{ran:?}");
    assert!(ran.err.contains("what was not done is in stopped.rejected.csv"), "{ran:?}");
    let report = std::fs::read_to_string(home.file("stopped.rejected.csv")).unwrap();
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.len(), 1 + 1 + 1_500 - first, "the note, and each row that was not done");
    assert!(
        lines[1].contains(",3,note: ") && lines[1].ends_with("it was left out"),
        "{}",
        lines[1]
    );
    assert!(lines[2].ends_with(",not opted out: the import stopped before this row was done"));
    assert!(lines[2].starts_with(&format!("0{},", 7_400_500_001 + first)), "{}", lines[2]);

    // What was not done is imported from the report, which an import without mistakes removes.
    std::fs::rename(home.file("stopped.rejected.csv"), home.file("rest.csv")).unwrap();
    std::fs::write(home.file("rest.rejected.csv"), "of an earlier run").unwrap();
    let rest = text.lines().enumerate().filter(|(at, _)| *at == 0 || *at > first);
    let rest: Vec<&str> = rest.map(|(_, line)| line).collect();
    std::fs::write(home.file("rest.csv"), rest.join("\n")).unwrap();
    let totals = &home.json(&["opt-outs", "import", "rest.csv"])["totals"];
    assert_eq!((&totals["created"], &totals["left_out"]), (&(1_500 - first).into(), &0.into()));
    assert!(!home.file("rest.rejected.csv").exists());
}

#[test]
fn a_report_of_an_earlier_import_is_removed_before_a_new_one_stops() {
    let home = Home::with_key(&server::account(1).live).with("SMS_API_URL", &refusing(1).0);
    std::fs::write(home.file("people.csv"), "phone\n07400000001\n").unwrap();
    std::fs::write(home.file("people.rejected.csv"), "of an earlier run").unwrap();
    home.run(&["contacts", "import", "people.csv"]).assert(4);
    assert!(!home.file("people.rejected.csv").exists());
}

#[test]
fn columns_that_may_all_hold_the_number_are_named_with_the_flag() {
    let home = Home::with_key(&server::account(1).live);
    std::fs::write(home.file("two.csv"), "Phone,Mobile\n02079460001,07400600001\n").unwrap();
    for noun in ["contacts", "opt-outs"] {
        let ran = home.run(&[noun, "import", "two.csv"]).assert(1);
        assert!(ran.err.contains("\"Phone\" (column 1), \"Mobile\" (column 2)"), "{ran:?}");
        assert!(ran.err.contains("--phone-column"), "{ran:?}");
        for said in ["Mobile", "2"] {
            home.run(&[noun, "import", "two.csv", "--phone-column", said]).assert(0);
        }
    }
}
