//! Which column of a file holds the mobile numbers, where its columns are not shown: the names say
//! it, or the form asks.

use maud::{Markup, html};
use sms_files::{Columns, NoNumberColumn};

use crate::part::field::Field;

/// The name of the field in forms.
pub(super) const NAME: &str = "phone_column";

/// The place of the column, as the person `said` or as the names have it; or what to ask.
pub(super) fn place(header: &[String], said: Option<&str>) -> Result<usize, String> {
    Columns::number_place(header, said).map_err(|why| match why {
        NoNumberColumn::NotAsSaid => {
            let said = said.unwrap_or_default();
            format!("This file has no column “{said}”. Choose one of these, and the file again.")
        }
        NoNumberColumn::Nowhere => "No column of this file is called mobile, phone or number. \
                                    Choose the one with the mobile numbers, and the file again."
            .to_owned(),
        NoNumberColumn::Several(places) => {
            format!("{} Choose one, and the file again.", may_hold(header, &places))
        }
    })
}

/// That several columns may hold the numbers, and which.
pub(super) fn may_hold(header: &[String], places: &[usize]) -> String {
    let names: Vec<String> =
        places.iter().map(|place| format!("“{}” (column {})", header[*place], place + 1)).collect();
    format!("More than one column may hold the mobile numbers: {}.", names.join(", "))
}

/// The choice of the column. Nothing is chosen: the next file may have other columns.
pub(super) fn field(header: &[String]) -> Markup {
    let columns = header.iter().enumerate().map(|(place, name)| {
        let same = header.iter().filter(|other| *other == name).count();
        match (name.as_str(), same) {
            ("", _) => ((place + 1).to_string(), format!("Column {}", place + 1)),
            (_, 1) => (name.clone(), name.clone()),
            _ => ((place + 1).to_string(), format!("{name} (column {})", place + 1)),
        }
    });
    let by_name = (String::new(), "Known by its name".to_owned());
    let options = std::iter::once(by_name).chain(columns);
    html! { (Field::select(NAME, "Column with the mobile numbers", options)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_names_tell_the_column_or_the_form_asks_for_it() {
        let several = "More than one column may hold the mobile numbers: “Phone” (column 1), \
                       “Mobile” (column 2). Choose one, and the file again.";
        for (names, said, expected) in [
            (&["Phone", "Mobile consent"][..], None, Ok(0)),
            (&["Phone", "Mobile"], None, Err(several)),
            (&["Phone", "Mobile"], Some("Mobile"), Ok(1)),
            (&["Phone", "Phone"], Some("2"), Ok(1)),
            (
                &["Name"],
                None,
                Err("No column of this file is called mobile, phone or number. Choose the one \
                     with the mobile numbers, and the file again."),
            ),
            (
                &["Name"],
                Some("Mobile"),
                Err("This file has no column “Mobile”. Choose one of these, and the file again."),
            ),
        ] {
            let found = place(&owned(names), said);
            assert_eq!(found.as_ref().map_err(String::as_str), expected.as_ref().map_err(|it| *it));
        }
    }

    #[test]
    fn each_choice_of_the_form_is_one_column() {
        let header = owned(&["Name", "Phone", "", "Phone"]);
        let shown = field(&header).into_string();
        for value in ["Name", "2", "3", "4"] {
            assert!(shown.contains(&format!("value=\"{value}\"")), "{shown}");
        }
        assert!(shown.contains("Phone (column 4)") && shown.contains("Column 3"), "{shown}");
    }
}
