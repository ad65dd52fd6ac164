//! What an address asks for after its question mark.

use form_urlencoded::parse;

/// The parameters of an address, in their order.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands after the question mark.
    pub fn of(text: &str) -> Self {
        Self(parse(text.as_bytes()).into_owned().collect())
    }

    /// The first value of this parameter, trimmed; `None` if it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.trim())?;
        (!value.is_empty()).then_some(value)
    }

    /// The address `path` with these parameters, of which `name` has another value; `None` leaves
    /// it out.
    pub fn address(&self, path: &str, name: &str, value: Option<&str>) -> String {
        let kept = self.0.iter().filter(|(own, value)| own != name && !value.trim().is_empty());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(kept);
        if let Some(value) = value {
            query.append_pair(name, value);
        }
        let query = query.finish();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_trimmed_and_absent_when_it_is_empty() {
        let query = Query::of("q=+caf%C3%A9+&status=&q=second");
        assert_eq!(query.get("q"), Some("café"));
        assert_eq!(query.get("status"), None);
        assert_eq!(query.get("other"), None);
    }

    #[test]
    fn an_address_keeps_its_filters_when_one_parameter_changes() {
        let query = Query::of("q=a b&cursor=1&status=");
        let next = query.address("/console/x", "cursor", Some("2&3"));
        assert_eq!(next, "/console/x?q=a+b&cursor=2%263");
        assert_eq!(query.address("/console/x", "cursor", None), "/console/x?q=a+b");
        assert_eq!(Query::default().address("/console/x", "cursor", None), "/console/x");
    }
}
