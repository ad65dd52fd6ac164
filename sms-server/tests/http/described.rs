//! Holds every answer that a test sees against the OpenAPI document: an answer that the document
//! does not describe fails the test that saw it.
//!
//! The part of JSON Schema that our documents use is small, so it is checked here. A keyword that
//! is not known here fails as well, so that none is passed over in silence.

use chrono::DateTime;
use poem::http::Method;
use regex::Regex;
use serde_json::{Number, Value};

use crate::rig::Reply;

/// Keywords that say nothing about what is valid.
const NOTES: [&str; 5] = ["description", "examples", "title", "default", "deprecated"];

/// The documents of both APIs, each behind its prefix.
pub(crate) struct Documents {
    pub api: Value,
    pub admin: Value,
}

impl Documents {
    /// What is wrong with an answer; nothing for paths that no document is about.
    pub(crate) fn violations(&self, method: &Method, path: &str, reply: &Reply) -> Vec<String> {
        let (document, rest) = if let Some(rest) = path.strip_prefix("/api/v1") {
            (&self.api, rest)
        } else if let Some(rest) = path.strip_prefix("/admin/v1") {
            (&self.admin, rest)
        } else {
            return Vec::new();
        };
        let rest = rest.split('?').next().unwrap_or_default();
        let mut found = Check { document, sender: Sender::Server, found: Vec::new() };
        match item_of(document, rest) {
            None => found.expect_error(reply, &[401, 404, 413]),
            Some(item) => found.against_item(item, method, reply),
        }
        found.found
    }
}

/// Whether what a client sends is what a document asks for.
pub(crate) fn accepts(document: &Value, schema: &Value, value: &Value) -> bool {
    let mut check = Check { document, sender: Sender::Client, found: Vec::new() };
    check.against_schema(schema, value, "$");
    check.found.is_empty()
}

/// The path item that a path belongs to; a literal goes before a parameter.
pub(crate) fn item_of<'d>(document: &'d Value, path: &str) -> Option<&'d Value> {
    let fits = |pattern: &str| {
        let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return true,
                (Some(want), Some(have)) if want == have => {}
                (Some(want), Some(have)) if want.starts_with('{') && !have.is_empty() => {}
                _ => return false,
            }
        }
    };
    let paths = document["paths"].as_object()?;
    let exact = paths.get(path);
    exact.or_else(|| paths.iter().find(|(pattern, _)| fits(pattern)).map(|(_, item)| item))
}

struct Check<'d> {
    document: &'d Value,
    sender: Sender,
    found: Vec<String>,
}

/// Who wrote the JSON that is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    /// A client: fields that are not described are ignored.
    Client,
    /// The server: nothing is said that is not described, and times have one form.
    Server,
}

impl<'d> Check<'d> {
    fn note(&mut self, what: impl Into<String>) {
        self.found.push(what.into());
    }

    fn against_item(&mut self, item: &'d Value, method: &Method, reply: &Reply) {
        let asked = if *method == Method::HEAD { "get" } else { &method.as_str().to_lowercase() };
        let Some(operation) = item.get(asked) else {
            self.expect_error(reply, &[401, 405, 413]);
            if reply.status == 405 {
                let allow = reply.header("allow");
                for name in item.as_object().into_iter().flatten().map(|(name, _)| name) {
                    if !allow.split(", ").any(|allowed| allowed.eq_ignore_ascii_case(name)) {
                        self.note(format!("Allow is {allow:?}, without {name}"));
                    }
                }
            }
            return;
        };
        let Some(response) = operation["responses"].get(reply.status.to_string()) else {
            return self.note(format!("status {} is not described", reply.status));
        };
        let response = self.resolved(response);
        if let Some(code) = reply.json["error"]["code"].as_str()
            && response["content"]["application/json"]["examples"].get(code).is_none()
        {
            self.note(format!("the code {code} is not among those of {}", reply.status));
        }
        for name in response["headers"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let is_conditional = ["Link", "X-Unknown-Fields"].contains(&name.as_str());
            if !is_conditional && reply.headers.get(name.as_str()).is_none() {
                self.note(format!("no header {name}"));
            }
        }
        if *method == Method::HEAD {
            if !reply.bytes.is_empty() {
                self.note("HEAD has a body");
            }
            return;
        }
        self.against_content(response, reply);
    }

    fn against_content(&mut self, response: &'d Value, reply: &Reply) {
        let Some(content) = response.get("content").and_then(Value::as_object) else {
            if !reply.bytes.is_empty() {
                self.note("a body where none is described");
            }
            return;
        };
        let sent = reply.header("content-type").split(';').next().unwrap_or_default().to_owned();
        let Some(media) = content.get(&sent) else {
            return self.note(format!("content type {sent:?} is not described"));
        };
        if sent == "application/json" {
            self.against_schema(&media["schema"], &reply.json, "$");
        }
    }

    /// An answer that is no operation's: one of these statuses, in the envelope of errors.
    fn expect_error(&mut self, reply: &Reply, statuses: &[u16]) {
        if !statuses.contains(&reply.status) {
            self.note(format!("status {} for a path or method without operation", reply.status));
        }
        if reply.method != Method::HEAD {
            let envelope = &self.document["components"]["schemas"]["ApiError"];
            self.against_schema(envelope, &reply.json, "$");
        }
    }

    fn resolved(&self, value: &'d Value) -> &'d Value {
        let reference = value.get("$ref").and_then(Value::as_str);
        reference.map_or(value, |reference| self.target(reference))
    }

    fn target(&self, reference: &str) -> &'d Value {
        let pointer = reference.strip_prefix('#').expect("a reference within the document");
        self.document.pointer(pointer).expect("a reference leads somewhere")
    }

    fn against_schema(&mut self, schema: &'d Value, value: &Value, at: &str) {
        let keywords = schema.as_object().expect("a schema is an object");
        for (keyword, rule) in keywords {
            self.against_keyword(keyword, rule, value, at);
        }
    }

    fn against_keyword(&mut self, keyword: &str, rule: &'d Value, value: &Value, at: &str) {
        match keyword {
            "$ref" => {
                let target = self.target(rule.as_str().expect("a reference"));
                self.against_schema(target, value, at);
            }
            "type" => {
                let fits = match rule {
                    Value::Array(kinds) => kinds.iter().any(|kind| is_of_type(value, kind)),
                    kind => is_of_type(value, kind),
                };
                if !fits {
                    self.note(format!("{at} is {value}, not {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().expect("an enum").contains(value) {
                    self.note(format!("{at} is {value}, none of {rule}"));
                }
            }
            "format" => self.against_format(rule, value, at),
            // Stands only where no properties are named.
            "additionalProperties" if rule.is_boolean() => {}
            "additionalProperties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    self.against_schema(rule, inner, &format!("{at}.{name}"));
                }
            }
            "maxProperties" => {
                let count = value.as_object().map(serde_json::Map::len);
                self.against_bound(false, rule, count, at);
            }
            "required" | "properties" | "items" => self.against_parts(keyword, rule, value, at),
            "anyOf" | "oneOf" => {
                let choices = rule.as_array().expect("choices");
                let fits = choices.iter().any(|choice| {
                    let mut trial = Check { found: Vec::new(), ..*self };
                    trial.against_schema(choice, value, at);
                    trial.found.is_empty()
                });
                if !fits {
                    self.note(format!("{at} is {value}, none of the choices"));
                }
            }
            "minimum" | "maximum" => {
                let (bound, number) = (rule.as_f64().expect("a bound"), value.as_f64());
                let out = |n: f64| if keyword == "minimum" { n < bound } else { n > bound };
                if number.is_some_and(out) {
                    self.note(format!("{at} is {value}, {keyword} {rule}"));
                }
            }
            "minLength" | "maxLength" => {
                let count = value.as_str().map(|text| text.chars().count());
                self.against_bound(keyword == "minLength", rule, count, at);
            }
            "minItems" | "maxItems" => {
                let count = value.as_array().map(Vec::len);
                self.against_bound(keyword == "minItems", rule, count, at);
            }
            "pattern" => {
                let pattern = Regex::new(rule.as_str().expect("a pattern")).unwrap();
                if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                    self.note(format!("{at} is {value}, not like {rule}"));
                }
            }
            _ if NOTES.contains(&keyword) => {}
            _ => panic!("{at}: add the keyword {keyword} to the checks of answers"),
        }
    }

    /// Keywords about what stands within a value.
    fn against_parts(&mut self, keyword: &str, rule: &'d Value, value: &Value, at: &str) {
        match (keyword, value) {
            ("required", Value::Object(object)) => {
                for name in rule.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if !object.contains_key(name) {
                        self.note(format!("{at} has no {name}"));
                    }
                }
            }
            ("properties", Value::Object(object)) => {
                for (name, inner) in object {
                    match rule.get(name) {
                        Some(schema) => {
                            self.against_schema(schema, inner, &format!("{at}.{name}"));
                        }
                        None if self.sender == Sender::Client => {}
                        None => self.note(format!("{at}.{name} is not described")),
                    }
                }
            }
            ("items", Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.against_schema(rule, item, &format!("{at}[{index}]"));
                }
            }
            // What is of another type is noted as that.
            _ => {}
        }
    }

    fn against_bound(&mut self, is_least: bool, bound: &Value, count: Option<usize>, at: &str) {
        let bound = bound.as_u64().and_then(|bound| usize::try_from(bound).ok()).expect("a bound");
        if count.is_some_and(|count| if is_least { count < bound } else { count > bound }) {
            self.note(format!("{at} is out of bounds"));
        }
    }

    fn against_format(&mut self, format: &Value, value: &Value, at: &str) {
        let Some(format) = format.as_str() else { return };
        let fits = match (format, value) {
            // The specification: UTC with milliseconds.
            ("date-time", Value::String(text)) => {
                let in_one_form =
                    text.len() == "2026-11-21T07:07:10.123Z".len() && text.ends_with('Z');
                DateTime::parse_from_rfc3339(text).is_ok()
                    && (in_one_form || self.sender == Sender::Client)
            }
            ("int32" | "int64", Value::Number(number)) => is_whole(number),
            // What is of another type is noted as that.
            ("date-time" | "double" | "int32" | "int64", _) => true,
            _ => panic!("{at}: add the format {format} to the checks of answers"),
        };
        if !fits {
            self.note(format!("{at} is {value}, no {format}"));
        }
    }
}

fn is_of_type(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_number().is_some_and(is_whole),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}

fn is_whole(number: &Number) -> bool {
    number.as_f64().is_some_and(|float| float.fract() == 0.0)
}
