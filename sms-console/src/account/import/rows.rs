//! Rows of a file as contacts.

use serde::Deserialize;
use sms_core::Error;
use sms_core::idempotency::IdempotencyKey;
use sms_core::ids::ListId;
use sms_files::{Columns, Person};

use super::opened::SheetRow;
use super::report::{Read, Report};
use crate::visit::AccountVisit;

/// What rows are imported for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub key: IdempotencyKey,
    pub columns: Columns,
    pub list: Option<ListId>,
}

/// What a browser sends of a file at once.
#[derive(Debug, Deserialize)]
pub(super) struct Portion {
    pub rows: Vec<SheetRow>,
}

/// Imports rows, and adds to a report what became of each.
pub(super) async fn import(
    visit: &AccountVisit,
    asked: Asked,
    rows: Vec<SheetRow>,
    report: &mut Report,
) -> Result<(), Error> {
    let Asked { key, columns, list } = asked;
    let (mut contacts, mut read) = (Vec::new(), Vec::with_capacity(rows.len()));
    for row in rows {
        let (row, Person { contact, left_out }) = row.person(&columns);
        let refused = match contact {
            Ok(contact) => {
                contacts.push(contact);
                None
            }
            Err(problem) => Some(problem),
        };
        read.push(Read { row, refused, left_out });
    }
    let imported = visit.handle().keyed(Some(key)).contacts_import(contacts, list).await?.value;
    report.add(read, imported, &columns);
    Ok(())
}
