//! What the columns of a file mean, together.

use std::collections::{BTreeSet, HashMap};

use crate::column::{BadColumns, Column, NoNumberColumn, Sure, custom_name};

/// What is kept of a name that gets a number.
const LONGEST_STEM: usize = 32;

/// What the columns of a file mean, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Vec<Column>);

impl Columns {
    /// Columns with these meanings.
    pub fn new(columns: Vec<Column>) -> Self {
        Self(columns)
    }

    /// What the columns of a file seem to mean, by their names. A column without a name is left
    /// out, and so are those in which a file of failures says what was wrong. None is the number
    /// if [several may be](Self::number_place).
    pub fn guessed(header: &[String]) -> Self {
        Self::with_number_at(header, Self::number_place(header, None).ok())
    }

    /// The place of the column with the mobile number. It is the one that the caller `said`: by its
    /// name, or counted from 1 if none has that name. Otherwise it is the one whose name says so
    /// most surely: `Phone` goes before `Mobile consent`.
    ///
    /// # Errors
    ///
    /// [`NoNumberColumn`] if that is no column, or several.
    pub fn number_place(header: &[String], said: Option<&str>) -> Result<usize, NoNumberColumn> {
        if let Some(said) = said {
            return Self::place_named(header, said).ok_or(NoNumberColumn::NotAsSaid);
        }
        let places = Self::candidates(header);
        match places[..] {
            [place] => Ok(place),
            [] => Err(NoNumberColumn::Nowhere),
            _ => Err(NoNumberColumn::Several(places)),
        }
    }

    /// The same, with the mobile number in the column at this place.
    pub fn with_number_at(header: &[String], place: Option<usize>) -> Self {
        let known = known(header, place);
        let mut taken = Taken::default();
        let columns = header.iter().zip(known).map(|(name, known)| match known {
            Some(column) => column,
            None => taken.free_custom(name),
        });
        Self(columns.collect())
    }

    /// The places of the columns whose names speak of the mobile number most surely.
    fn candidates(header: &[String]) -> Vec<usize> {
        let (mut surest, mut places) = (Sure::Barely, Vec::new());
        for (place, name) in header.iter().enumerate() {
            let Some((Column::Phone, sure)) = Column::spoken_of(name) else { continue };
            if sure > surest {
                (surest, places) = (sure, Vec::new());
            }
            if sure == surest {
                places.push(place);
            }
        }
        places
    }

    /// The place of the column that the caller names. `None` if there is no such column, or several
    /// of that name.
    fn place_named(header: &[String], said: &str) -> Option<usize> {
        let said = said.trim();
        let mut named = (0..header.len()).filter(|at| header[*at].trim() == said);
        match (named.next(), named.next()) {
            (Some(place), None) => Some(place),
            (Some(_), Some(_)) => None,
            _ => said
                .parse()
                .ok()
                .filter(|at| (1..=header.len()).contains(at))
                .map(|at: usize| at - 1),
        }
    }

    /// These columns, of which all that mean something else are left out.
    #[must_use]
    pub fn only(self, meanings: &[Column]) -> Self {
        let kept = |column| if meanings.contains(&column) { column } else { Column::LeftOut };
        Self(self.0.into_iter().map(kept).collect())
    }

    /// The meanings, in their order.
    pub fn as_slice(&self) -> &[Column] {
        &self.0
    }

    /// The place of the column that holds this field of a contact, such as `custom.table`.
    pub fn place_of(&self, field: &str) -> Option<usize> {
        self.0.iter().position(|column| column.field().as_deref() == Some(field))
    }

    /// Refuses columns without a number, and two with one meaning.
    pub fn check(&self) -> Result<(), BadColumns> {
        let used: Vec<&Column> = self.0.iter().filter(|one| **one != Column::LeftOut).collect();
        if !used.contains(&&Column::Phone) {
            return Err(BadColumns::NoNumber);
        }
        let different: BTreeSet<_> = used.iter().collect();
        if different.len() < used.len() { Err(BadColumns::Twice) } else { Ok(()) }
    }
}

/// The columns that are known by their names, each meaning at most once: where its name is surest.
fn known(header: &[String], number: Option<usize>) -> Vec<Option<Column>> {
    let mut best = HashMap::<Column, (Sure, usize)>::new();
    for (place, name) in header.iter().enumerate() {
        let Some((column, sure)) = Column::spoken_of(name) else { continue };
        if column == Column::Phone || Some(place) == number {
            continue;
        }
        let known = best.entry(column).or_insert((sure, place));
        if sure > known.0 {
            *known = (sure, place);
        }
    }
    let is_left_out = |name: &String| name.trim().is_empty() || Column::is_of_failures(name);
    let mut columns: Vec<Option<Column>> =
        header.iter().map(|name| is_left_out(name).then_some(Column::LeftOut)).collect();
    for (column, (_, place)) in best {
        columns[place] = Some(column);
    }
    if let Some(place) = number.and_then(|place| columns.get_mut(place)) {
        *place = Some(Column::Phone);
    }
    columns
}

/// The names of custom fields that the columns before this one have.
#[derive(Debug, Default)]
struct Taken {
    columns: BTreeSet<Column>,
    /// The number that was last given to each stem, so that equal names are not counted up again.
    next: HashMap<String, usize>,
    /// How many names were tried.
    #[cfg(test)]
    tried: usize,
}

impl Taken {
    /// A custom field that no column before it has.
    fn free_custom(&mut self, name: &str) -> Column {
        let name = custom_name(name);
        let stem = name.get(..LONGEST_STEM).unwrap_or(&name).trim_end_matches('_');
        let mut column = Column::Custom(name.clone());
        let number = self.next.entry(stem.to_owned()).or_insert(1);
        while self.columns.contains(&column) {
            *number += 1;
            column = Column::Custom(format!("{stem}_{number}"));
            #[cfg(test)]
            {
                self.tried += 1;
            }
        }
        self.columns.insert(column.clone());
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn guessed(names: &[&str]) -> Vec<String> {
        Columns::guessed(&header(names)).0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_meaning_of_a_column_is_guessed_from_its_name() {
        for (names, expected) in [
            (&["Mobile", "Given name", "Table"][..], &["phone", "first_name", "custom.table"][..]),
            (&["E-Mail", "Surname", "Comment"], &["email", "last_name", "notes"]),
            (&["First Name", "mobile", "e-mail"], &["first_name", "phone", "email"]),
            (&["Phone", "Phone 2"], &["phone", "custom.phone_2"]),
            (&["Phone", "Mobile"], &["custom.phone", "custom.mobile"]),
            (&["Phone", "Mobile consent"], &["phone", "custom.mobile_consent"]),
            (&["from", "to", "body"], &["custom.from", "phone", "custom.body"]),
            (&["Contact number", "Name"], &["phone", "custom.name"]),
            (&["Table number", "Mobile no."], &["custom.table_number", "phone"]),
            (&["", "number", "!"], &["left_out", "phone", "custom.field"]),
            (&["Hotel", "Last visit", "tel"], &["custom.hotel", "custom.last_visit", "phone"]),
            (&["Email consent", "Email"], &["custom.email_consent", "email"]),
            (&["Email consent", "tel"], &["custom.email_consent", "phone"]),
            (&["Loyalty tier", "loyalty-tier"], &["custom.loyalty_tier", "custom.loyalty_tier_2"]),
        ] {
            assert_eq!(guessed(names), expected, "{names:?}");
        }
    }

    #[test]
    fn the_columns_of_a_file_of_failures_are_left_out() {
        for names in [["line", "Mobile", "problem"], ["sms_row", "Mobile", "SMS_ERROR"]] {
            assert_eq!(guessed(&names), ["left_out", "phone", "left_out"]);
        }
    }

    #[test]
    fn naming_takes_about_one_try_for_each_column_whatever_their_names() {
        let cut = "x".repeat(60);
        let many = 4_000;
        for (case, name) in [
            ("empty", Box::new(|_| String::new()) as Box<dyn Fn(usize) -> String>),
            ("equal", Box::new(|_| "Table".to_owned())),
            ("cut", Box::new(move |number| format!("{cut}{number}"))),
            (
                "numbered before",
                Box::new(move |number| match number * 2 / many {
                    0 => format!("field_{}", number + 2),
                    _ => String::new(),
                }),
            ),
            ("cut to each other", Box::new(|number| format!("{}_{}", "y".repeat(38), number % 9))),
        ] {
            let mut taken = Taken::default();
            for number in 0..many {
                taken.free_custom(&name(number));
            }
            assert_eq!(taken.columns.len(), many, "{case}");
            assert!(taken.tried <= 3 * many, "{case}: {} tries", taken.tried);
        }
    }

    #[test]
    fn columns_need_a_number_and_differ() {
        use Column::{Custom, Email, LeftOut, Notes, Phone};
        for (columns, expected) in [
            (vec![Phone, LeftOut, LeftOut], Ok(())),
            (vec![Email, Phone, Custom("a".to_owned())], Ok(())),
            (vec![Email], Err(BadColumns::NoNumber)),
            (vec![], Err(BadColumns::NoNumber)),
            (vec![Phone, Notes, Notes], Err(BadColumns::Twice)),
            (vec![Phone, Phone], Err(BadColumns::Twice)),
        ] {
            assert_eq!(Columns::new(columns.clone()).check(), expected, "{columns:?}");
        }
    }

    #[test]
    fn the_column_with_the_number_is_the_one_that_somebody_said_or_the_names_tell() {
        use NoNumberColumn::{NotAsSaid, Nowhere, Several};
        for (names, said, expected) in [
            (&["Phone", "Mobile consent"][..], None, Ok(0)),
            (&["Name"], None, Err(Nowhere)),
            (&["Name", "Phone", "Mobile"], None, Err(Several(vec![1, 2]))),
            (&["Phone", "Mobile"], Some("Mobile"), Ok(1)),
            (&["Phone", "Handy"], Some("Handy"), Ok(1)),
            (&["Phone", "Phone"], Some("2"), Ok(1)),
            (&["Phone", "Phone"], Some("Phone"), Err(NotAsSaid)),
            (&["Phone"], Some("Mobile"), Err(NotAsSaid)),
        ] {
            assert_eq!(Columns::number_place(&header(names), said), expected, "{names:?} {said:?}");
        }
    }

    #[test]
    fn an_exact_name_goes_before_a_longer_one_and_equal_ones_are_a_question() {
        for (names, places) in [
            (&["name"][..], &[][..]),
            (&["phone", "mobile"], &[0, 1]),
            (&["Phone", "phone"], &[0, 1]),
            (&["number", "name", "To"], &[0, 2]),
            (&["Phone", "Phone 2"], &[0]),
            (&["Mobile consent", "Phone"], &[1]),
            (&["Mobile provider", "number"], &[1]),
            (&["Mobile network", "Mobile", "Mobile notes"], &[1]),
            (&["Mobile opt in", "to"], &[1]),
            (&["Phone type", "Work mobile"], &[1]),
            (&["Home phone", "Work phone"], &[0, 1]),
            (&["Home phone", "Work mobile"], &[1]),
            (&["Mobile 1", "Mobile 2"], &[0, 1]),
            (&["Home Phone", "Mobile Phone", "Business Fax"], &[1]),
            (&["Phone 1 - Label", "Phone 1 - Value", "Phone 2 - Value"], &[1, 2]),
            (&["Mobile consent"], &[0]),
            (&["name", "Mobile 1", "Table"], &[1]),
            (&["MOBILE-NO.", "Table no."], &[0]),
            (&["Tomato", "Total", "Hotel"], &[]),
        ] {
            assert_eq!(Columns::candidates(&header(names)), places, "{names:?}");
        }
    }

    #[test]
    fn a_column_is_chosen_by_its_name_or_its_place() {
        for (names, said, place) in [
            (&["Name", "Mobile 1"][..], " Mobile 1 ", Some(1)),
            (&["Name", "Mobile"], "2", Some(1)),
            (&["2", "Mobile"], "2", Some(0)),
            (&["Phone", "Phone"], "2", Some(1)),
            (&["Phone", "Phone"], "Phone", None),
            (&["Phone", "Phone"], "3", None),
            (&["Phone"], "0", None),
            (&["Phone"], "Mobile", None),
        ] {
            assert_eq!(Columns::place_named(&header(names), said), place, "{names:?} {said}");
        }
        let names = header(&["Phone", "Mobile 1"]);
        let chosen = Columns::with_number_at(&names, Some(0));
        assert_eq!(chosen.place_of("phone"), Some(0));
        assert_eq!(chosen.place_of("custom.mobile_1"), Some(1));
    }
}
