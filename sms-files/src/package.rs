//! The zip file that a workbook is: looked through before it is opened, so that nothing in it takes
//! more memory than is allowed, however small the file is.

use std::io::{self, BufRead, BufReader, Read, Seek};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;

use crate::bad_file::BadFile;
use crate::maker::Maker;
use crate::weight::Weight;

/// The most parts of a workbook.
const MOST_PARTS: usize = 10_000;

/// Looks through a workbook. Every part of it is inflated once, and thrown away.
///
/// # Errors
///
/// [`BadFile::TooLarge`] if its parts have more than `most` bytes in all, or if what is made of
/// them would take more than four times as many; [`BadFile::Broken`] if a part cannot be read.
pub(crate) fn look_through(file: impl Read + Seek, most: u64) -> Result<Maker, BadFile> {
    let mut archive = ZipArchive::new(file).map_err(|_| BadFile::Broken)?;
    let maker = maker(&archive)?;
    if archive.len() > MOST_PARTS {
        return Err(BadFile::TooLarge);
    }
    let mut left = most;
    let mut weight = Weight::new(maker, most.saturating_mul(4));
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(|_| BadFile::Broken)?;
        let name = part.name().map_err(|_| BadFile::Broken)?.to_ascii_lowercase();
        // One byte more than is allowed shows that there is more.
        let mut bounded = BufReader::new(part.take(left.saturating_add(1)));
        let mut counted = Counted { inner: &mut bounded, count: 0 };
        let is_xml = [".xml", ".rels", ".vml"].iter().any(|end| name.ends_with(end));
        let looked =
            if is_xml { well_formed(&mut counted, &mut weight) } else { skip(&mut counted) };
        if counted.count > left {
            return Err(BadFile::TooLarge);
        }
        looked?;
        left -= counted.count;
    }
    weight.finish()?;
    Ok(maker)
}

fn maker(archive: &ZipArchive<impl Read + Seek>) -> Result<Maker, BadFile> {
    let has = |wanted: &str| {
        let mut names = archive.file_names().filter_map(Result::ok);
        names.any(|name| {
            let name = name.replace('\\', "/").to_ascii_lowercase();
            name.rsplit('/').next() == Some(wanted)
        })
    };
    if has("workbook.xml") {
        Ok(Maker::Excel)
    } else if has("content.xml") && has("mimetype") {
        Ok(Maker::OpenDocument)
    } else {
        Err(BadFile::NotAWorkbook)
    }
}

/// Counts the bytes that are read.
struct Counted<'a, R> {
    inner: &'a mut R,
    count: u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(room)?;
        self.count += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.count += count as u64;
        self.inner.consume(count);
    }
}

fn skip(part: &mut impl Read) -> Result<(), BadFile> {
    io::copy(part, &mut io::sink()).map(drop).map_err(|_| BadFile::Broken)
}

/// Reads a part to its end. Each element is closed, so that every search for its end succeeds.
fn well_formed(part: &mut impl BufRead, weight: &mut Weight) -> Result<(), BadFile> {
    let mut reader = Reader::from_reader(part);
    reader.config_mut().expand_empty_elements = true;
    let (mut buffer, mut depth) = (Vec::new(), 0_u64);
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(|_| BadFile::Broken)? {
            Event::Start(element) => {
                depth += 1;
                weight.begin(&element)?;
            }
            Event::End(element) => {
                depth = depth.checked_sub(1).ok_or(BadFile::Broken)?;
                weight.end(element.name().0)?;
            }
            Event::Text(text) => weight.text(text.len() as u64),
            Event::CData(text) => weight.text(text.len() as u64),
            // A character is never longer than the reference to it.
            Event::GeneralRef(name) => weight.text(name.len() as u64),
            Event::Eof if depth == 0 => return Ok(()),
            Event::Eof => return Err(BadFile::Broken),
            Event::Empty(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_) => {}
        }
    }
}
