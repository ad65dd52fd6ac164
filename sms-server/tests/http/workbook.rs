//! Workbooks of people that are small as files and large once they are opened.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Rows and columns: about as many cells as an import may have.
const ROWS: usize = 19_999;
const COLUMNS: usize = 24;

fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// An `.ods` that says one row once, and that there are so many of it.
pub(crate) fn ods(count: usize) -> Vec<u8> {
    let cell = |text: &str| {
        format!(
            "<table:table-cell office:value-type=\"string\"><text:p>{text}</text:p>\
             </table:table-cell>"
        )
    };
    let header: String = (0..COLUMNS).map(|column| cell(&format!("c{column}"))).collect();
    let row = cell("abcdefghijklmn").repeat(COLUMNS);
    let content = format!(
        "<office:document-content xmlns:office=\"o\" xmlns:table=\"t\" xmlns:text=\"x\">\
         <office:body><office:spreadsheet><table:table table:name=\"People\"><table:table-row>{}\
         {header}</table:table-row><table:table-row table:number-rows-repeated=\"{count}\">{}{row}\
         </table:table-row></table:table></office:spreadsheet></office:body>\
         </office:document-content>",
        cell("mobile"),
        cell("0123"),
    );
    package(&[
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        ("META-INF/manifest.xml", "<manifest:manifest xmlns:manifest=\"m\"/>"),
        ("content.xml", &content),
    ])
}

/// As many people as an import may have.
pub(crate) fn full_ods() -> Vec<u8> {
    ods(ROWS)
}

/// An `.xlsx` whose cells share their texts.
pub(crate) fn full_xlsx() -> Vec<u8> {
    const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let relations = |kind: &str, target: &str| {
        format!(
            "<Relationships xmlns=\"{PACKAGE}\"><Relationship Id=\"r1\" \
             Type=\"{RELATIONS}/{kind}\" Target=\"{target}\"/></Relationships>"
        )
    };
    let columns = (0..COLUMNS).map(|column| format!("c{column}"));
    let mut strings = String::new();
    for text in ["mobile", "0123", "abcdefghijklmn"].map(str::to_owned).into_iter().chain(columns) {
        write!(strings, "<si><t>{text}</t></si>").unwrap();
    }
    let cell = |string: usize| format!("<c t=\"s\"><v>{string}</v></c>");
    let mut rows = format!("<row>{}", cell(0));
    for column in 0..COLUMNS {
        write!(rows, "{}", cell(3 + column)).unwrap();
    }
    rows.push_str("</row>");
    let row = format!("<row>{}{}</row>", cell(1), cell(2).repeat(COLUMNS));
    package(&[
        (
            "xl/workbook.xml",
            &format!(
                "<workbook xmlns:r=\"{RELATIONS}\"><sheets><sheet name=\"People\" sheetId=\"1\" \
                 r:id=\"r1\"/></sheets></workbook>"
            ),
        ),
        ("xl/_rels/workbook.xml.rels", &relations("worksheet", "worksheets/sheet1.xml")),
        ("xl/sharedStrings.xml", &format!("<sst>{strings}</sst>")),
        ("_rels/.rels", &relations("officeDocument", "xl/workbook.xml")),
        (
            "xl/worksheets/sheet1.xml",
            &format!("<worksheet><sheetData>{rows}{}</sheetData></worksheet>", row.repeat(ROWS)),
        ),
    ])
}
