//! What is printed: a row for each measurement, ours beside the limit beneath.

/// One measurement.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) ours: f64,
    pub(crate) limit: Option<Limit>,
    /// Where it is not simply one figure by the other.
    pub(crate) ratio: Option<f64>,
    pub(crate) note: String,
}

/// What ours is measured by.
#[derive(Clone)]
pub(crate) struct Limit {
    pub(crate) name: &'static str,
    pub(crate) figure: f64,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, ours: f64) -> Self {
        Self { what: what.into(), ours, limit: None, ratio: None, note: String::new() }
    }

    pub(crate) fn beside(self, limit: &Limit) -> Self {
        Self { limit: Some(limit.clone()), ..self }
    }

    pub(crate) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

/// Prints a row of a Markdown table.
pub(crate) fn print(row: &Row) {
    let Row { what, ours, limit, ratio, note } = row;
    let (limit, ratio) = match limit {
        Some(Limit { name, figure }) => {
            let ratio = ratio.unwrap_or(ours / figure);
            (format!("{} {name}", thousands(*figure)), format!("{ratio:.2}"))
        }
        None => (String::new(), String::new()),
    };
    println!("| {what} | {} | {limit} | {ratio} | {note} |", thousands(*ours));
}

pub(crate) fn print_head() {
    println!("| what | ours | limit | ratio | beside |\n|---|---:|---:|---:|---|");
}

fn thousands(figure: f64) -> String {
    if figure < 100.0 {
        return format!("{figure:.2}");
    }
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
