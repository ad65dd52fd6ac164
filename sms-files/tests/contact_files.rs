//! Files as programs export them, and the contacts that are read from them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use sms_core::phone::parse_uk_mobile;
use sms_files::{BadFile, Columns, Delimiter, Encoding, Format, Options, Sheet};

/// A person of a file: number, first name, the custom field `town`.
type Read = (String, String, String);

struct File {
    sheet: Sheet<Cursor<Vec<u8>>>,
}

fn open(bytes: impl Into<Vec<u8>>) -> File {
    File { sheet: Sheet::open(Cursor::new(bytes.into()), &Options::default()).unwrap() }
}

impl File {
    fn encoding(&self) -> Encoding {
        let Format::Text { encoding, .. } = self.sheet.format() else { panic!("a text") };
        *encoding
    }

    fn delimiter(&self) -> String {
        self.sheet.format().delimiter().to_string()
    }

    /// The people, and why other rows are none.
    fn people(self) -> Vec<Result<Read, String>> {
        let columns = Columns::guessed(self.sheet.header());
        let read = |row: Result<_, BadFile>| {
            let contact = columns.person(&row.unwrap()).contact.map_err(|problem| problem.cause)?;
            let town = contact.custom.get("town").cloned().flatten();
            let town = town.map(|town| town.text().into_owned()).unwrap_or_default();
            Ok((contact.phone, contact.first_name.unwrap_or_default(), town))
        };
        self.sheet.map(read).collect()
    }
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

/// Bytes in Windows-1252; the texts here have no others than those of Latin-1.
fn windows(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

const PLAIN: &str = "Mobile,First name,Town\r\n07700900123,Zoë,Köln\r\n07700900124,Müller,\r\n";

fn people() -> Vec<Result<Read, String>> {
    let read = |phone: &str, name: &str, town: &str| {
        Ok((phone.to_owned(), name.to_owned(), town.to_owned()))
    };
    vec![read("07700900123", "Zoë", "Köln"), read("07700900124", "Müller", "")]
}

#[test]
fn a_file_means_the_same_in_every_encoding() {
    let marked = format!("\u{feff}{PLAIN}");
    for (case, bytes, encoding) in [
        ("UTF-8", PLAIN.into(), Encoding::Utf8),
        ("UTF-8 with a mark", marked.clone().into_bytes(), Encoding::Utf8),
        ("Windows-1252", windows(PLAIN), Encoding::Windows1252),
        ("UTF-16 LE", utf16(PLAIN, u16::to_le_bytes), Encoding::Utf16Le),
        ("UTF-16 BE", utf16(PLAIN, u16::to_be_bytes), Encoding::Utf16Be),
        ("UTF-16 LE with a mark", utf16(&marked, u16::to_le_bytes), Encoding::Utf16Le),
        ("UTF-16 BE with a mark", utf16(&marked, u16::to_be_bytes), Encoding::Utf16Be),
    ] {
        let file = open(bytes);
        assert_eq!(file.encoding(), encoding, "{case}");
        assert_eq!(file.people(), people(), "{case}");
    }
}

#[test]
fn a_file_means_the_same_with_every_delimiter_and_line_end() {
    for delimiter in [",", ";", "\t", "|"] {
        for ends in ["\r\n", "\n", "\r"] {
            let text = PLAIN.replace(',', delimiter).replace("\r\n", ends);
            let file = open(text.as_str());
            assert_eq!(file.delimiter(), delimiter);
            assert_eq!(file.people(), people(), "{text:?}");
            let named = format!("sep={delimiter}{ends}{text}");
            assert_eq!(open(named.as_str()).people(), people(), "{named:?}");
            let unicode = open(utf16(&format!("\u{feff}{named}"), u16::to_le_bytes));
            assert_eq!(unicode.people(), people(), "{named:?}");
        }
    }
}

#[test]
fn numbers_are_read_behind_the_signs_of_spreadsheets_and_never_guessed() {
    let rounded = "phone: Excel rounded this number: format the column as text and export again";
    for (cell, expected) in [
        ("'07700900123", Ok("07700900123")),
        ("=\"07700900123\"", Ok("07700900123")),
        ("\"=\"\"07700900123\"\"\"", Ok("07700900123")),
        ("\"'07700 900123\"", Ok("07700 900123")),
        ("447700900123.0", Ok("447700900123")),
        ("7700900123", Ok("7700900123")),
        ("4.47701E+11", Err(rounded)),
        ("\"4,47701E+11\"", Err(rounded)),
        ("07700", Err("phone: not a valid phone number")),
    ] {
        let read = open(format!("First name,Mobile\nAnn,{cell}\n")).people().remove(0);
        let read = read.map(|(phone, ..)| phone);
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{cell}");
    }
}

#[test]
fn a_file_that_begins_with_a_number_has_no_names_and_loses_nobody() {
    for (text, header, lines) in [
        ("07700900123\n07700900124\n", &["phone"][..], [1, 2]),
        ("07700900123,Ann\n07700900124,Bob\n", &["phone", ""], [1, 2]),
        ("Ann;+44 7700 900123\nBob;07700900124\n", &["", "phone"], [1, 2]),
        ("sep=,\n\n'07700900123,Ann\n07700900124,Bob\n", &["phone", ""], [3, 4]),
    ] {
        let file = open(text);
        assert_eq!(file.sheet.header(), header, "{text:?}");
        let columns = Columns::guessed(file.sheet.header());
        let rows: Vec<_> = file.sheet.map(Result::unwrap).collect();
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), lines, "{text:?}");
        for row in &rows {
            let contact = columns.person(row).contact.unwrap();
            assert!(parse_uk_mobile(&contact.phone).is_ok(), "{text:?}");
        }
    }
}

#[test]
fn rows_and_columns_without_a_word_are_left_out() {
    let text = format!("\r\n,,\r\n{PLAIN},,\r\n \t,\u{a0},\r\n\r\n");
    assert_eq!(open(text).people(), people());
    let text = "Mobile,,First name,,\n07700900123,,Zoë,,\n07700900124,,Müller\n";
    let read: Vec<_> = open(text).people().into_iter().flatten().map(|read| read.1).collect();
    assert_eq!(read, ["Zoë", "Müller"]);
}

#[test]
fn rows_have_the_line_they_begin_on() {
    let text = "sep=;\nMobile;Notes\n\n07700900123;\"a\nb\"\n07700900124;c\n";
    let lines: Vec<u64> = open(text).sheet.map(|row| row.unwrap().line).collect();
    assert_eq!(lines, [4, 6]);
}

#[test]
fn what_is_said_of_a_file_goes_before_what_is_found() {
    let bytes = windows("Mobile;First name,x\n07700900123;Zoë\n");
    let options = Options {
        encoding: Some(Encoding::Macintosh),
        delimiter: Some(Delimiter::COMMA),
        ..Options::default()
    };
    let sheet = Sheet::open(Cursor::new(bytes), &options).unwrap();
    assert_eq!(sheet.header(), ["Mobile;First name", "x"]);
    let cells = sheet.map(|row| row.unwrap().cells).next().unwrap();
    assert_eq!(cells, ["07700900123;ZoÎ"]);
}

#[test]
fn a_file_without_a_word_is_empty_and_a_row_of_names_is_enough() {
    for bytes in ["", "\u{feff}", "\r\n\r\n", ",,\n", "sep=;\n"] {
        let opened = Sheet::open(Cursor::new(bytes), &Options::default());
        assert!(matches!(opened, Err(BadFile::Empty)), "{bytes:?}");
    }
    assert_eq!(open("phone\n").people(), []);
}

#[test]
fn a_stray_quote_is_reported_with_its_line_and_the_other_rows_are_read() {
    let text = "Mobile,First name,Town\n\"07700900123,Ann,Ulm\n07700900124,Bob,Ely\n";
    let cause = "a quote opens in this row and is never closed";
    let bob = Ok(("07700900124".to_owned(), "Bob".to_owned(), String::from("Ely")));
    assert_eq!(open(text).people(), [Err(cause.to_owned()), bob]);
    for names in ["\"Mobile,Town", "Mobile,\"Town"] {
        let text = format!("sep=,\n{names}\n07700900123,Ulm\n");
        let refused = Sheet::open(Cursor::new(text), &Options::default()).unwrap_err();
        assert!(refused.to_string().starts_with("A quote opens in line 2"), "{refused}");
    }
}

#[test]
fn a_bad_byte_costs_its_cell_and_garbles_no_other() {
    let mut bytes = PLAIN.as_bytes().to_vec();
    bytes.extend(b"07700900125,Zo\xEB,Ulm\r\n");
    let file = open(bytes);
    assert_eq!(file.encoding(), Encoding::Utf8);
    let columns = Columns::guessed(file.sheet.header());
    let rows: Vec<_> = file.sheet.map(|row| columns.person(&row.unwrap())).collect();
    assert_eq!(rows[0].contact.as_ref().unwrap().first_name.as_deref(), Some("Zoë"));
    assert_eq!(rows[2].contact.as_ref().unwrap().phone, "07700900125");
    let causes: Vec<&str> = rows[2].left_out.iter().map(|it| it.cause.as_str()).collect();
    assert_eq!(causes, ["first_name: it has bytes that the file's encoding does not know"]);
}

#[test]
fn a_number_is_read_however_spreadsheets_phones_and_people_write_it() {
    let expected = Ok("+447700900123".to_owned());
    for cell in [
        "07700900123",
        "+447700900123",
        "'+447700900123",
        "447700900123.0",
        "+447700900123.0",
        "\"447700900123,00\"",
        "447700900123.0\u{a0}",
        "7700900123.0",
        "\u{a0}07700\u{a0}900\u{a0}123\u{a0}",
        "07700\u{202f}900123",
        "\u{200b}07700900123\u{feff}",
        "\u{202a}+44 7700 900123\u{202c}",
        "'\u{200b}07700900123",
        "tel:+447700900123",
        "tel:07700-900123",
        "TEL: 07700 900123",
        "\u{200e}tel:+44-7700-900123",
        "0044 7700 900123",
        "00447700900123",
        "(0)7700 900123",
        "(0) 7700 900123",
        "+44 (0)7700 900123",
        "+44(0) 7700-900-123",
        "\"=\"\"0044 7700 900123\"\"\"",
    ] {
        let file = open(format!("Name,Mobile,,\r\nAnn,{cell},,\r\n"));
        let read = file
            .people()
            .remove(0)
            .map(|(phone, ..)| parse_uk_mobile(&phone).map_or(phone, |number| number.to_string()));
        assert_eq!(read, expected, "{cell}");
    }
}

#[test]
fn names_of_columns_are_known_behind_marks_and_spaces() {
    for name in ["\u{a0}Mobile\u{a0}", "\u{200b}Mobile", "Mobile\u{feff}", "\u{feff}\u{feff}Mobile"]
    {
        let file = open(format!("{name};First name;;\r07700900123;Zoë;;\r"));
        let people = file.people();
        assert_eq!(people, [Ok(("07700900123".to_owned(), "Zoë".to_owned(), String::new()))]);
    }
}
