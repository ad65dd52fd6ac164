//! A long import as several short ones, for stores whose commands wait for one another.

use std::collections::BTreeMap;

use super::import::{ImportPlan, ImportRow, Imported, ImportedRow, RowOutcome};
use crate::ids::ContactId;
use crate::phone::E164;

/// An import that takes effect in portions. Together they do what the import would do at once, and
/// answer the same. What others change between two portions is seen by the later one.
#[derive(Debug, Clone)]
pub struct ImportPortions {
    /// What the portions share; it has no rows.
    shared: ImportPlan,
    /// The rows of each number that are still to come, with their places. The last one is next.
    waiting: Vec<Vec<(usize, ImportRow)>>,
    /// The result of each row so far.
    rows: Vec<Option<ImportedRow>>,
    added_to_list: usize,
}

/// Some rows of an import.
#[derive(Debug, Clone)]
pub struct Portion {
    /// The import of these rows.
    pub plan: ImportPlan,
    /// Where the rows stand in the whole import.
    places: Vec<usize>,
}

impl ImportPortions {
    /// The portions of an import. None has taken effect yet.
    pub fn of(mut plan: ImportPlan) -> Self {
        let rows = std::mem::take(&mut plan.rows);
        let count = rows.len();
        let mut by_number = BTreeMap::<E164, Vec<(usize, ImportRow)>>::new();
        let mut waiting = Vec::new();
        for (place, row) in rows.into_iter().enumerate() {
            match row {
                ImportRow::Contact(phone, _) => {
                    by_number.entry(phone).or_default().push((place, row));
                }
                ImportRow::Invalid { .. } => waiting.push(vec![(place, row)]),
            }
        }
        // Only the last row of a number counts, so all of them have to be in one portion. New
        // contacts get their ids in the order of these last rows, as in one import.
        waiting.extend(by_number.into_values());
        waiting
            .sort_unstable_by_key(|rows| std::cmp::Reverse(rows.last().map(|(place, _)| *place)));
        Self { shared: plan, waiting, rows: vec![None; count], added_to_list: 0 }
    }

    /// The next portion, of at least `rows` rows if there are as many; `None` after the last one.
    pub fn next(&mut self, rows: usize) -> Option<Portion> {
        let mut portion = Portion { plan: self.shared.clone(), places: Vec::new() };
        while portion.places.len() < rows.max(1)
            && let Some(of_number) = self.waiting.pop()
        {
            for (place, row) in of_number {
                portion.places.push(place);
                portion.plan.rows.push(row);
            }
        }
        (!portion.places.is_empty()).then_some(portion)
    }

    /// Whether no portion is to come.
    pub fn is_at_end(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes in the answer to a portion.
    pub fn answered(&mut self, portion: &Portion, answer: Imported) {
        // The next portion continues after the ids that this one used.
        for _ in 0..answer.count(RowOutcome::Created) {
            let _: ContactId = self.shared.ids.next();
        }
        self.added_to_list += answer.added_to_list;
        for (place, row) in portion.places.iter().zip(answer.rows) {
            if let Some(of_row) = self.rows.get_mut(*place) {
                *of_row = Some(row);
            }
        }
    }

    /// The answer to the whole import, after its last portion.
    pub fn imported(self) -> Imported {
        let Self { rows, added_to_list, shared: _, waiting: _ } = self;
        Imported { rows: rows.into_iter().flatten().collect(), added_to_list }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contact::book::{BookChange, BookFacts, BookPlan};
    use crate::contact::{Contact, ContactInput};
    use crate::samples::{account_id, ids, seconds};

    fn plan(rows: Vec<ImportRow>) -> ImportPlan {
        ImportPlan { account: account_id(), rows, list: None, ids: ids(), at: seconds(5) }
    }

    /// Runs an import on an address book without lists.
    fn run(book: &mut BTreeMap<E164, Contact>, plan: &ImportPlan) -> Imported {
        let facts =
            BookFacts { contacts: book.values().cloned().collect(), ..BookFacts::default() };
        let (BookChange { created, updated, .. }, imported) = plan.settle(&facts).unwrap();
        book.extend(created.into_iter().chain(updated).map(|contact| (contact.phone, contact)));
        imported
    }

    fn row() -> impl Strategy<Value = ImportRow> {
        (0_u32..12, 0_u8..3).prop_map(|(number, name)| {
            let phone =
                if number == 0 { "nobody".into() } else { format!("07700 9001{number:02}") };
            let first_name = Some(format!("Desk {name}"));
            ImportRow::of(ContactInput { first_name, ..ContactInput::new(phone) })
        })
    }

    proptest! {
        #[test]
        fn portions_do_what_the_whole_import_does_and_answer_the_same(
            rows in prop::collection::vec(row(), 0..60),
            sizes in prop::collection::vec(0_usize..9, 60),
        ) {
            let (mut at_once, mut in_portions) = (BTreeMap::new(), BTreeMap::new());
            let whole = run(&mut at_once, &plan(rows.clone()));
            let mut portions = ImportPortions::of(plan(rows));
            for size in sizes {
                let Some(portion) = portions.next(size) else { break };
                let answer = run(&mut in_portions, &portion.plan);
                portions.answered(&portion, answer);
            }
            prop_assert!(portions.is_at_end());
            prop_assert_eq!(portions.imported(), whole);
            prop_assert!(in_portions == at_once);
        }
    }
}
