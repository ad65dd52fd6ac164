//! Workbooks of Excel and LibreOffice, and the contacts that are read from them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use sms_files::{BadFile, Columns, Fault, Format, Options, Sheet};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A zip file of these parts.
fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

/// An `.xlsx` with these sheets: their names, their states and the XML of their rows. Its shared
/// strings are `strings`.
fn xlsx(sheets: &[(&str, &str, &str)], strings: &[&str]) -> Vec<u8> {
    let (mut listed, mut related, mut parts) = (String::new(), String::new(), Vec::new());
    for (at, (name, state, rows)) in (1..).zip(sheets) {
        write!(
            listed,
            "<sheet name=\"{name}\" sheetId=\"{at}\" state=\"{state}\" r:id=\"r{at}\"/>"
        )
        .unwrap();
        write!(
            related,
            "<Relationship Id=\"r{at}\" Type=\"{RELATIONS}/worksheet\" \
             Target=\"worksheets/sheet{at}.xml\"/>"
        )
        .unwrap();
        let sheet =
            format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>");
        parts.push((format!("xl/worksheets/sheet{at}.xml"), sheet));
    }
    let shared =
        strings.iter().fold(String::new(), |all, text| all + "<si><t>" + text + "</t></si>");
    parts.extend([
        (
            "xl/workbook.xml".to_owned(),
            format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><sheets>{listed}</sheets>\
                 </workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels".to_owned(),
            format!(
                "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/\
                 relationships\">{related}</Relationships>"
            ),
        ),
        ("xl/sharedStrings.xml".to_owned(), format!("<sst xmlns=\"{MAIN}\">{shared}</sst>")),
        (
            "xl/styles.xml".to_owned(),
            // The second format is that of dates.
            format!(
                "<styleSheet xmlns=\"{MAIN}\"><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/>\
                 </cellXfs></styleSheet>"
            ),
        ),
        ("[Content_Types].xml".to_owned(), "<Types/>".to_owned()),
        (
            "_rels/.rels".to_owned(),
            format!(
                "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/\
                 relationships\"><Relationship Id=\"r1\" Type=\"{RELATIONS}/officeDocument\" \
                 Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
    ]);
    let parts: Vec<(&str, &str)> = parts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    package(&parts)
}

/// An `.ods` with one sheet of these rows.
fn ods(rows: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office=\"o\" xmlns:table=\"t\" xmlns:text=\"x\">\
         <office:body><office:spreadsheet><table:table table:name=\"People\">{rows}</table:table>\
         </office:spreadsheet></office:body></office:document-content>"
    );
    package(&[
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        ("META-INF/manifest.xml", "<manifest:manifest xmlns:manifest=\"m\"/>"),
        ("content.xml", &content),
    ])
}

fn open(bytes: Vec<u8>) -> Result<Sheet<Cursor<Vec<u8>>>, BadFile> {
    Sheet::open(Cursor::new(bytes), &Options::default())
}

/// For each row its line, and its cells.
fn cells(sheet: Sheet<Cursor<Vec<u8>>>) -> Vec<(u64, Vec<String>)> {
    sheet.map(|row| row.map(|row| (row.line, row.cells)).unwrap()).collect()
}

fn phones(sheet: Sheet<Cursor<Vec<u8>>>) -> Vec<Result<String, String>> {
    let columns = Columns::guessed(sheet.header());
    let person = |row: Result<_, BadFile>| columns.person(&row.unwrap()).contact;
    sheet.map(|row| person(row).map(|it| it.phone).map_err(|problem| problem.cause)).collect()
}

const HEADER: &str = "<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c>\
                      <c r=\"B1\" t=\"inlineStr\"><is><t>Name</t></is></c>\
                      <c r=\"C1\" t=\"str\"><f>UPPER(\"Visit\")</f><v>Visit</v></c></row>";

#[test]
fn the_cells_of_an_excel_file_are_read_as_they_are_meant() {
    let rows = format!(
        "{HEADER}\
         <row r=\"3\"><c r=\"A3\"><v>447700900123</v></c><c r=\"B3\" t=\"s\"><v>1</v></c>\
         <c r=\"C3\" s=\"1\"><v>46353</v></c></row>\
         <row r=\"4\"><c r=\"B4\" t=\"s\"><v>2</v></c><c r=\"C4\" s=\"1\"><v>46353.5</v></c></row>\
         <row r=\"5\"><c r=\"A5\"><f>A3+1</f><v>447700900124.0</v></c>\
         <c r=\"C5\"><v>1.5</v></c></row>\
         <row r=\"6\"><c r=\"A6\" t=\"b\"><v>1</v></c><c r=\"B6\" t=\"e\"><v>#N/A</v></c></row>\
         <row r=\"7\"><c r=\"B7\" t=\"s\"><v>3</v></c></row>"
    );
    let sheet = open(xlsx(&[("People", "visible", &rows)], &["Mobile", "Zoë", "Müller", " "]));
    let sheet = sheet.unwrap();
    assert_eq!(sheet.header(), ["Mobile", "Name", "Visit"]);
    let read = cells(sheet);
    let row = |line: u64, cells: &[&str]| (line, cells.iter().map(|it| (*it).to_owned()).collect());
    let expected: Vec<(u64, Vec<String>)> = vec![
        row(3, &["447700900123", "Zoë", "2026-11-27"]),
        row(4, &["", "Müller", "2026-11-27 12:00"]),
        row(5, &["447700900124", "", "1.5"]),
        row(6, &["true", "#N/A"]),
    ];
    assert_eq!(read, expected);
}

#[test]
fn numbers_in_cells_are_numbers_and_rounded_ones_are_refused() {
    let rounded = "phone: Excel rounded this number: format the column as text and export again";
    for (value, expected) in [
        ("447700900123", Ok("447700900123")),
        ("447700900123.0", Ok("447700900123")),
        ("4.47700900123E11", Ok("447700900123")),
        ("7700900123", Ok("7700900123")),
        ("4.47701E+11", Err(rounded)),
        ("447701000000", Err(rounded)),
        ("12", Err("phone: not a valid phone number")),
    ] {
        let excel = format!("<row r=\"2\"><c r=\"A2\"><v>{value}</v></c></row>");
        let excel = xlsx(&[("People", "visible", &format!("{HEADER}{excel}"))], &["Mobile"]);
        let open_document = ods(&format!(
            "<table:table-row><table:table-cell office:value-type=\"string\">\
             <text:p>Mobile</text:p></table:table-cell></table:table-row><table:table-row>\
             <table:table-cell office:value-type=\"float\" office:value=\"{value}\">\
             <text:p>4.48E+11</text:p></table:table-cell></table:table-row>"
        ));
        for file in [excel, open_document] {
            let read = phones(open(file).unwrap()).remove(0);
            assert_eq!(read.as_deref().map_err(String::as_str), expected, "{value}");
        }
    }
}

#[test]
fn the_first_sheet_that_is_shown_is_read_or_the_one_that_is_named() {
    let rows = |name: &str| {
        format!("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>{name}</t></is></c></row>")
    };
    let (hidden, first, second) = (rows("hidden"), rows("first"), rows("second"));
    let sheets =
        [("H", "hidden", &*hidden), ("One", "visible", &*first), ("Two", "visible", &*second)];
    let bytes = xlsx(&sheets, &[]);
    let sheet = open(bytes.clone()).unwrap();
    assert_eq!(sheet.header(), ["first"]);
    let expected = Format::Workbook {
        sheet: "One".to_owned(),
        sheets: ["One", "Two"].map(str::to_owned).into(),
    };
    assert_eq!(*sheet.format(), expected);
    let named = |name: &str| Options { sheet: Some(name.to_owned()), ..Options::default() };
    let sheet = Sheet::open(Cursor::new(bytes.clone()), &named("Two")).unwrap();
    assert_eq!(sheet.header(), ["second"]);
    let missing = Sheet::open(Cursor::new(bytes), &named("H"));
    assert!(matches!(missing, Err(BadFile::NoSuchSheet)));
}

#[test]
fn a_file_of_libreoffice_is_read_without_its_empty_rows_and_columns() {
    let text = |text: &str| {
        format!(
            "<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p>\
             </table:table-cell>"
        )
    };
    let rows = format!(
        "<table:table-row>{}{}<table:table-cell table:number-columns-repeated=\"16382\"/>\
         </table:table-row><table:table-row table:number-rows-repeated=\"3\"><table:table-cell \
         table:number-columns-repeated=\"16384\"/></table:table-row><table:table-row>{}\
         <table:table-cell office:value-type=\"date\" office:date-value=\"2026-11-27\">\
         <text:p>27/11/26</text:p></table:table-cell></table:table-row><table:table-row \
         table:number-rows-repeated=\"1048571\"><table:table-cell \
         table:number-columns-repeated=\"16384\"/></table:table-row>",
        text("Mobile"),
        text("Visit"),
        text("07700 900123"),
    );
    let sheet = open(ods(&rows)).unwrap();
    assert_eq!(sheet.header(), ["Mobile", "Visit"]);
    let read = cells(sheet);
    assert_eq!(read, [(5, vec!["07700 900123".to_owned(), "2026-11-27".to_owned()])]);
}

#[test]
fn words_beside_the_table_are_a_fault_of_their_row() {
    let rows = format!(
        "{HEADER}<row r=\"2\"><c r=\"A2\"><v>447700900123</v></c>\
         <c r=\"XFD2\" t=\"inlineStr\"><is><t>note</t></is></c></row>"
    );
    let mut sheet = open(xlsx(&[("People", "visible", &rows)], &["Mobile"])).unwrap();
    let row = sheet.next().unwrap().unwrap();
    assert_eq!(row.cells, ["447700900123", "", "", "note"]);
    let first = "note".to_owned();
    assert_eq!(row.fault, Some(Fault::TooManyCells { cells: 16_384, columns: 3, first }));
    let wide = "<row r=\"1\"><c r=\"XFD1\"><v>1</v></c></row>";
    let wide = open(xlsx(&[("People", "visible", wide)], &[]));
    assert!(matches!(wide, Err(BadFile::TooWide)));
}

/// A row with a cell for a text.
fn row(cell: &str) -> String {
    format!("<table:table-row>{cell}</table:table-row>")
}

/// A cell of an `.ods` that stands in so many columns.
fn repeated(columns: u32, attributes: &str, inside: &str) -> String {
    format!(
        "<table:table-cell {attributes} table:number-columns-repeated=\"{columns}\">{inside}\
         </table:table-cell>"
    )
}

/// Rows of an `.ods` that are one row.
fn rows(count: u32, cell: &str) -> String {
    format!("<table:table-row table:number-rows-repeated=\"{count}\">{cell}</table:table-row>")
}

const TEXT: &str = "office:value-type=\"string\"";

/// Small files that would become large once they are opened, with what makes them.
fn bombs_of_libreoffice() -> Vec<(&'static str, Vec<u8>)> {
    let cell = repeated(16_384, TEXT, "<text:p>x</text:p>");
    let one = repeated(1, TEXT, "<text:p>x</text:p>");
    // The cells alone would pass, so what is inside must be counted.
    let inside = |inside: &str| ods(&row(&repeated(16_384, TEXT, &inside.repeat(500))));
    let formula = |formula: &str| format!("table:formula=\"{formula}\"");
    let spaces = "<text:p><text:s text:c=\"4000000000\"/></text:p>";
    let tables = "</table:table><table:table table:name=\"x\">".repeat(10_000);
    vec![
        ("columns", ods(&row(&cell).repeat(200))),
        ("rows", ods(&rows(1_000_000, &cell))),
        (
            "blank rows",
            ods(&format!("{}{}{}", row(&cell), rows(1_000_000, "<table:table-cell/>"), row(&one))),
        ),
        (
            "narrow rows before a wide one",
            ods(&(rows(20_000, &one) + &row(&repeated(1_000, TEXT, "")))),
        ),
        ("spaces", ods(&row(&repeated(1, TEXT, spaces)))),
        ("text", inside("x")),
        ("references", inside("&amp;")),
        ("characters by number", inside("&#120;")),
        ("sections", inside("<![CDATA[x]]>")),
        ("paragraphs", inside("<text:p/>")),
        ("tabs", inside("<text:tab/>")),
        ("line breaks", inside("<text:line-break/>")),
        ("single spaces", inside("<text:s/>")),
        (
            "values",
            ods(&row(&repeated(
                16_384,
                &format!("office:string-value=\"{}\"", "x".repeat(500)),
                "",
            ))),
        ),
        ("formulas", ods(&row(&repeated(16_384, &formula("of:=1"), "")).repeat(200))),
        ("long formulas", ods(&row(&repeated(16_384, &formula(&"1".repeat(500)), "")))),
        ("covered cells", ods(&row(&cell.replace("table-cell", "covered-table-cell")).repeat(200))),
        ("tables", ods(&tables)),
    ]
}

/// The same for Excel.
fn bombs_of_excel() -> Vec<(&'static str, Vec<u8>)> {
    let file =
        |name: &str, text: &str| package(&[("xl/workbook.xml", "<workbook/>"), (name, text)]);
    let strings = |text: &str| file("xl/sharedStrings.xml", text);
    let styles = |text: &str| file("xl/styles.xml", &format!("<styleSheet>{text}</styleSheet>"));
    let long = "0".repeat(3_000);
    let shared = format!("<row>{}</row>", "<c t=\"s\"><v>0</v></c>".repeat(190)).repeat(100);
    let formats = format!(
        "<numFmts><numFmt numFmtId=\"200\" formatCode=\"{long}\"/></numFmts><cellXfs>{}</cellXfs>",
        "<xf numFmtId=\"200\"/>".repeat(1_000)
    );
    let fonts = format!(
        "<fonts><font><name val=\"{long}\"/></font></fonts><cellXfs>{}</cellXfs>",
        "<xf fontId=\"0\"/>".repeat(1_000)
    );
    let sheets = [
        ("xl/workbook.xml", &*format!("<w>{}</w>", "<sheet r:id=\"r\"/>".repeat(1_000))),
        (
            "xl/_rels/workbook.xml.rels",
            &format!("<R><Relationship Id=\"r\" Target=\"{long}\"/></R>"),
        ),
    ];
    vec![
        ("the same string", xlsx(&[("People", "visible", &shared)], &[&"y".repeat(30_000)])),
        ("empty strings", strings(&format!("<sst>{}</sst>", "<si/>".repeat(100_000)))),
        ("strings with a prefix", strings(&format!("<x:sst>{}</x:sst>", "<x:si/>".repeat(90_000)))),
        ("announced strings", strings("<sst uniqueCount=\"4000000000\"/>")),
        ("formats", styles(&formats)),
        ("names of fonts", styles(&fonts)),
        ("fonts", styles(&format!("<fonts>{}</fonts>", "<font/>".repeat(10_000)))),
        ("fills", styles(&format!("<fills>{}</fills>", "<fill/>".repeat(10_000)))),
        ("borders", styles(&format!("<borders>{}</borders>", "<border/>".repeat(10_000)))),
        ("styles", styles(&format!("<cellXfs>{}</cellXfs>", "<xf/>".repeat(10_000)))),
        ("paths of sheets", package(&sheets)),
        (
            "defined names",
            file("xl/w.xml", &format!("<w>{}</w>", "<definedName name=\"x\"/>".repeat(10_000))),
        ),
    ]
}

#[test]
fn a_file_that_would_take_too_much_memory_is_refused_before_it_is_opened() {
    let large = "x".repeat(2 << 20);
    let parts = [
        ("a part", package(&[("xl/workbook.xml", "<a/>"), ("xl/media/x.bin", &large)])),
        ("a text", package(&[("xl/workbook.xml", &format!("<a>{large}</a>"))])),
    ];
    let bombs = bombs_of_libreoffice().into_iter().chain(bombs_of_excel());
    for (case, bytes) in parts.into_iter().chain(bombs) {
        assert!(bytes.len() < 200_000, "{case}: {} bytes", bytes.len());
        let options = Options { most_unpacked: 1 << 20, ..Options::default() };
        let opened = Sheet::open(Cursor::new(bytes), &options);
        assert!(matches!(opened, Err(BadFile::TooLarge)), "{case}: {opened:?}");
    }
}

#[test]
fn a_large_workbook_of_people_is_within_the_bounds() {
    let cell = repeated(1, TEXT, "<text:p>Zo&amp;e</text:p>");
    let read = open(ods(&row(&cell.repeat(10)).repeat(5_000))).unwrap();
    assert_eq!(cells(read).len(), 4_999);
    let cell = "<c t=\"inlineStr\"><is><t>Zo&amp;e</t></is></c>";
    let names: Vec<String> = (0..10_000).map(|number| format!("Name {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let excel = format!("<row>{}</row>", cell.repeat(10)).repeat(5_000);
    let read = open(xlsx(&[("People", "visible", &excel)], &names)).unwrap();
    assert_eq!(cells(read).len(), 4_999);
}

#[test]
fn what_is_no_workbook_is_refused_in_words() {
    let open_comment = ods("<table:table-row><table:table-cell><office:annotation>");
    let cut = xlsx(&[("People", "visible", HEADER)], &["Mobile"]);
    let cut = cut[..cut.len() / 2].to_vec();
    for (bytes, words) in [
        (package(&[("word/document.xml", "<a/>")]), "no workbook"),
        (b"PK\x03\x04".to_vec(), "damaged"),
        (cut, "damaged"),
        (open_comment, "damaged"),
        (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 old".to_vec(), "Save it as .xlsx"),
        (xlsx(&[("People", "visible", "")], &[]), "empty"),
    ] {
        let error = open(bytes).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn cells_are_read_as_excel_shows_them() {
    let text = |place: &str, text: &str| {
        format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
    };
    let names = ["Mobile", "Name", "Visit", "Total"];
    let header: String =
        names.iter().zip('A'..).map(|(name, column)| text(&format!("{column}1"), name)).collect();
    for (case, row, expected) in [
        ("a number", "<c r=\"A2\"><v>447700900123</v></c>", &["447700900123"][..]),
        ("a float", "<c r=\"A2\"><v>447700900123.0</v></c>", &["447700900123"]),
        ("an exponent", "<c r=\"A2\"><v>4.47700900123E+11</v></c>", &["447700900123"]),
        (
            "a sum that is not exact",
            "<c r=\"A2\"/><c r=\"D2\"><v>0.30000000000000004</v></c>",
            &["", "", "", "0.3"],
        ),
        ("a plus", &text("A2", "+44 7700 900123"), &["+44 7700 900123"]),
        (
            "a formula that gives a text",
            "<c r=\"A2\" t=\"str\"><f>\"0\"&amp;B9</f><v>07700900123</v></c>",
            &["07700900123"],
        ),
        (
            "a formula that gives a number",
            "<c r=\"A2\"><f>SUM(A9:A10)</f><v>7700900123</v></c>",
            &["7700900123"],
        ),
        (
            "a shared formula",
            "<c r=\"A2\"><f t=\"shared\" si=\"0\"/><v>7700900123</v></c>",
            &["7700900123"],
        ),
        (
            "a text in several fonts",
            "<c r=\"A2\" t=\"inlineStr\"><is><r><t>07700</t></r><r><rPr><b/></rPr>\
             <t xml:space=\"preserve\"> 900123</t></r></is></c>",
            &["07700 900123"],
        ),
        (
            "a date, and merged cells, of which the first has the value",
            "<c r=\"A2\"><v>7700900123</v></c><c r=\"B2\"/><c r=\"C2\" s=\"1\"><v>46353</v></c>\
             <c r=\"D2\"/>",
            &["7700900123", "", "2026-11-27"],
        ),
        (
            "empty columns with a format",
            "<c r=\"A2\"><v>7700900123</v></c><c r=\"E2\" s=\"1\"/><c r=\"XFD2\"/>",
            &["7700900123"],
        ),
        ("a line break", &text("A2", "07700900123_x000D_"), &["07700900123"]),
    ] {
        let rows = format!("<row r=\"1\">{header}</row><row r=\"2\">{row}</row>");
        let sheet = open(xlsx(&[("People", "visible", &rows)], &[])).unwrap();
        let read = cells(sheet);
        let cells: Vec<&str> = read[0].1.iter().map(|cell| cell.trim_end()).collect();
        assert_eq!(cells, expected, "{case}");
    }
}
