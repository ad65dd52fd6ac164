//! What holds of any file.

use std::io::Cursor;

use proptest::prelude::*;
use sms_files::failures::Failures;
use sms_files::{Columns, Delimiter, Encoding, MOST_CELL_BYTES, MOST_COLUMNS, Options, Row, Sheet};

/// Bytes of which many have a meaning to the reader.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let meaning = prop::sample::select(b"\",;\t|\r\n'=\0\xEF\xBB\xBF\xFF\xFE\xEBePK07".to_vec());
    prop::collection::vec(prop_oneof![4 => meaning, 1 => any::<u8>()], 0..200)
}

fn options() -> impl Strategy<Value = Options> {
    let encoding = prop::option::of(prop::sample::select(Encoding::ALL.to_vec()));
    let delimiter = prop::sample::select(vec![None, Some(Delimiter::COMMA)]);
    (encoding, delimiter).prop_map(|(encoding, delimiter)| Options {
        encoding,
        delimiter,
        ..Options::default()
    })
}

proptest! {
    #[test]
    fn any_file_is_read_within_its_bounds(bytes in bytes(), options in options()) {
        let Ok(sheet) = Sheet::open(Cursor::new(bytes), &options) else { return Ok(()) };
        let header = sheet.header().to_vec();
        prop_assert!((1..=MOST_COLUMNS).contains(&header.len()));
        let columns = Columns::guessed(&header);
        prop_assert_eq!(columns.as_slice().len(), header.len());
        let mut line = 0;
        for row in sheet {
            let row = row.unwrap();
            prop_assert!(row.line > line, "rows come in their order");
            line = row.line;
            let most = if row.fault.is_some() { MOST_COLUMNS } else { header.len() };
            prop_assert!(row.cells.len() <= most);
            prop_assert!(row.cells.iter().all(|cell| cell.len() <= MOST_CELL_BYTES));
            let _ = columns.person(&row);
        }
    }

    #[test]
    fn failures_are_read_as_they_were(
        rows in prop::collection::vec(prop::collection::vec("[a-z07,;\"\n=+@ -]{0,6}x", 3), 1..5),
        delimiter in prop::sample::select(vec![",", ";", "\t", "|"]),
    ) {
        let header: Vec<String> = ["phone", "name", "notes"].map(str::to_owned).to_vec();
        let failures = Failures::of(&header, delimiter.parse().unwrap());
        let mut file = failures.header(&header);
        for cells in &rows {
            file.extend(failures.row(cells, 7, "no number; or two"));
        }
        let sheet = Sheet::open(Cursor::new(file), &Options::default()).unwrap();
        prop_assert_eq!(sheet.header(), ["phone", "name", "notes", "line", "problem"]);
        let read: Vec<Row> = sheet.map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), rows.len());
        for (read, cells) in read.iter().zip(&rows) {
            prop_assert_eq!(&read.cells[..3], &cells[..]);
        }
    }
}
