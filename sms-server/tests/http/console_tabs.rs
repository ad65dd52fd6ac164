//! Two people, or two tabs, that edit the same thing: neither undoes what the other saved.

use poem::http::StatusCode;
use regex::Regex;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::rig::{Client, Rig, TOKEN};

/// The fields of a form as a browser would send them.
type Fields = Vec<(String, String)>;

/// A page on which something is edited.
struct Edited<'a> {
    browser: &'a Browser,
    page: String,
    /// Where its form goes.
    action: String,
    /// Where the API shows what is saved.
    client: &'a Client,
    saved: String,
    /// Two fields of the form, with where the API shows them.
    one: (&'a str, &'a str),
    other: (&'a str, &'a str),
}

/// The fields of the form of a page that goes to `action`.
fn fields_of(page: &str, action: &str) -> Fields {
    let start = page.find(&format!("action=\"{action}\"")).unwrap_or_else(|| panic!("{page}"));
    let form = &page[start..];
    let form = &form[..form.find("</form>").unwrap()];
    let control = Regex::new(
        r"(?s)<input ([^>]*)>|<textarea ([^>]*)>(.*?)</textarea>|<select ([^>]*)>(.*?)</select>",
    );
    let chosen = Regex::new(r#"<option value="([^"]*)" selected"#).unwrap();
    let has = |tag: &str, name: &str| tag.split_whitespace().any(|word| word == name);
    let mut fields = Vec::new();
    for found in control.unwrap().captures_iter(form) {
        let part = |nth| found.get(nth).map_or("", |part| part.as_str());
        let tag = [part(1), part(2), part(4)].concat();
        let Some(name) = attribute(&tag, "name") else { continue };
        let is_box = attribute(&tag, "type").is_some_and(|kind| kind == "checkbox");
        let value = if is_box {
            if !has(&tag, "checked") {
                continue;
            }
            attribute(&tag, "value").unwrap_or_else(|| "on".to_owned())
        } else if found.get(4).is_some() {
            chosen.captures(part(5)).map_or(String::new(), |one| plain(&one[1]))
        } else if found.get(2).is_some() {
            // A line end that the text begins with is not part of it.
            plain(part(3).strip_prefix('\n').unwrap_or(part(3)))
        } else {
            attribute(&tag, "value").unwrap_or_default()
        };
        fields.push((name, value));
    }
    fields.retain(|(name, _)| name != "csrf");
    fields
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let attribute = Regex::new(&format!(r#"(?:^|\s){name}="([^"]*)""#)).unwrap();
    attribute.captures(tag).map(|found| plain(&found[1]))
}

fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn set(fields: &mut Fields, name: &str, value: &str) {
    match fields.iter_mut().find(|(own, _)| own == name) {
        Some((_, old)) => value.clone_into(old),
        None => fields.push((name.to_owned(), value.to_owned())),
    }
}

impl Edited<'_> {
    async fn open(&self) -> Fields {
        let page = self.browser.get(&self.page).await.assert(200);
        fields_of(&page.text(), &self.action)
    }

    async fn submit(&self, fields: &Fields) -> crate::rig::Reply {
        let fields: Vec<_> = fields.iter().map(|(name, text)| (&**name, &**text)).collect();
        self.browser.submit(&self.action, &fields).await
    }

    async fn now(&self, (_, pointer): (&str, &str)) -> Value {
        let saved = self.client.get(&self.saved).await.ok();
        saved.pointer(pointer).cloned().unwrap_or_default()
    }

    /// Two tabs change different fields, then a third one what the first has changed.
    async fn keeps_both(&self, [mine, theirs, late]: [&str; 3]) {
        let (mut first, mut second, mut third) =
            (self.open().await, self.open().await, self.open().await);
        let page = &self.page;
        set(&mut first, self.one.0, mine);
        set(&mut second, self.other.0, theirs);
        self.submit(&first).await.assert(303);
        self.submit(&second).await.assert(303);
        assert_eq!(self.now(self.one).await, mine, "{page}");
        assert_eq!(self.now(self.other).await, theirs, "{page}");
        set(&mut third, self.one.0, late);
        let refused = self.submit(&third).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{page}: {}", refused.text());
        let told = refused.text();
        assert!(told.contains("Somebody else saved this at"), "{page}: {told}");
        assert!(told.contains(&format!("now “{}”", markup(mine))), "{page}: {told}");
        assert_eq!(self.now(self.one).await, mine, "{page}");
        // Whoever has read that may replace it, and still leaves the other field alone.
        let again = fields_of(&told, &self.action);
        assert!(again.contains(&(self.one.0.to_owned(), late.to_owned())), "{page}: {again:?}");
        self.submit(&again).await.assert(303);
        assert_eq!(self.now(self.one).await, late, "{page}");
        assert_eq!(self.now(self.other).await, theirs, "{page}");
    }
}

#[tokio::test]
async fn what_another_tab_saved_is_not_undone_on_any_form() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let live = &account.live;
    let id_of = async |path: &str, input: Value| {
        let made = live.post(path, input).await.created();
        made["id"].as_str().unwrap().to_owned()
    };
    let person = json!({ "phone": "07700 900123", "custom": { "table": "4" } });
    let contact = id_of("/contacts", person).await;
    let list = id_of("/lists", json!({ "name": "Guests" })).await;
    let template = id_of("/templates", json!({ "name": "Ready", "body": "Now" })).await;
    let keyword = id_of("/keywords", json!({ "keyword": "MENU", "reply": "Soup" })).await;
    let draft = json!({ "name": "Roast", "body": "Hello", "list_id": list });
    let draft = id_of("/campaigns", draft).await;
    let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let endpoint = id_of("/webhooks", hook).await;
    let people = Browser::sign_in(&rig, live.token.as_ref().unwrap()).await;
    let as_operator = rig.operator();
    let operator = Browser::sign_in(&rig, TOKEN).await;
    let own = |page: String, saved: String, one, other| Edited {
        browser: &people,
        action: page.clone(),
        page,
        client: live,
        saved,
        one,
        other,
    };
    let cases = [
        own(
            format!("/console/contacts/{contact}/edit"),
            format!("/contacts/{contact}"),
            ("email", "/email"),
            ("custom.table", "/custom/table"),
        ),
        own(
            format!("/console/lists/{list}/edit"),
            format!("/lists/{list}"),
            ("name", "/name"),
            ("description", "/description"),
        ),
        own(
            format!("/console/templates/{template}"),
            format!("/templates/{template}"),
            ("body", "/body"),
            ("name", "/name"),
        ),
        own(
            format!("/console/keywords/{keyword}"),
            format!("/keywords/{keyword}"),
            ("reply", "/reply"),
            ("keyword", "/keyword"),
        ),
        own(
            format!("/console/campaigns/{draft}/edit"),
            format!("/campaigns/{draft}"),
            ("body", "/body"),
            ("name", "/name"),
        ),
        own(
            format!("/console/developers/webhooks/{endpoint}"),
            "/webhooks".to_owned(),
            ("description", "/0/description"),
            ("url", "/0/url"),
        ),
        Edited {
            browser: &operator,
            client: &as_operator,
            saved: format!("/accounts/{}", account.id),
            ..own(
                format!("/console/operator/accounts/{}/settings", account.id),
                String::new(),
                ("settings.opt_out_line", "/settings/opt_out_line"),
                ("name", "/name"),
            )
        },
    ];
    for case in cases {
        let values = match case.other.0 {
            "url" => ["a & b", "https://example.com/other", "c"],
            "keyword" => ["a & b", "PIE", "c"],
            _ if case.one.0 == "email" => ["a@example.com", "7", "b@example.com"],
            _ => ["Text \"STOP\" & go", "b", "Text STOP"],
        };
        case.keeps_both(values).await;
    }
}

#[tokio::test]
async fn a_form_that_a_tab_left_as_it_was_changes_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let hook = account.live.post("/webhooks", hook).await.created();
    let path = format!("/webhooks/{}", hook["id"].as_str().unwrap());
    let page = format!("/console/developers{path}");
    let browser = Browser::sign_in(&rig, account.live.token.as_ref().unwrap()).await;
    let fields = fields_of(&browser.get(&page).await.assert(200).text(), &page);
    let change = json!({ "enabled": false, "events": ["message.failed", "message.received"] });
    let changed = account.live.patch(&path, change).await.ok();
    let fields: Vec<_> = fields.iter().map(|(name, text)| (&**name, &**text)).collect();
    browser.submit(&page, &fields).await.assert(303);
    let now = &account.live.get("/webhooks").await.ok()[0];
    assert_eq!((&now["enabled"], &now["events"]), (&json!(false), &changed["events"]));
}
