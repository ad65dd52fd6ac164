//! The pages of the console: who sees them, and what their forms need.

use poem::http::Method;

use crate::browser::{Browser, from_page};
use crate::conversation::{inbox, receive};
use crate::rig::{Ask, Reply, Rig, TOKEN};

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// A form that a page of this server sends.
fn form(rig: &Rig, path: &str, body: &str) -> Ask {
    let ask = from_page(&rig.client(None), Method::POST, path);
    ask.header(FORM.0, FORM.1).raw(body.to_owned())
}

/// Signs in by the form, and returns the cookie and where the answer leads.
async fn signed_in(rig: &Rig, key: &str, next: &str) -> (String, String) {
    sms_test_log::secret(key);
    let reply = form(rig, "/console/sign-in", &format!("key={key}&next={next}")).send().await;
    let reply = reply.assert(303);
    let cookie = reply.header("set-cookie").split(';').next().unwrap().to_owned();
    sms_test_log::secret(cookie.split_once('=').unwrap().1);
    (cookie, reply.header("location").to_owned())
}

async fn page(rig: &Rig, path: &str, cookie: &str) -> Reply {
    rig.client(None).ask_at(Method::GET, path).header("Cookie", cookie).send().await
}

/// The token that the forms of a page bring back.
fn csrf_of(page: &Reply) -> String {
    let text = page.text();
    let (_, after) = text.split_once("name=\"csrf\" value=\"").unwrap();
    let token = after.split('"').next().unwrap().to_owned();
    sms_test_log::secret(&token);
    token
}

#[tokio::test]
async fn signing_in_leads_back_to_the_requested_page() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let key = account.live.token.as_ref().unwrap();
    let asked = page(&rig, "/console/links?campaign_id=a", "").await.assert(303);
    let sign_in = asked.header("location").to_owned();
    assert_eq!(sign_in, "/console/sign-in?next=%2Fconsole%2Flinks%3Fcampaign_id%3Da");
    let shown = page(&rig, &sign_in, "").await.assert(200);
    assert!(shown.text().contains("value=\"/console/links?campaign_id=a\""), "{}", shown.text());
    let (cookie, next) = signed_in(&rig, key, "/console/links").await;
    assert_eq!(next, "/console/links");
    let links = page(&rig, &next, &cookie).await.assert(200);
    assert!(links.text().contains("<h1 tabindex=\"-1\">Tracked links</h1>"));
    assert_eq!(links.header("cache-control"), "no-store");
    assert!(!links.text().contains(key));
    let (_, elsewhere) = signed_in(&rig, key, "https://example.com/").await;
    assert_eq!(elsewhere, "/console");
}

#[tokio::test]
async fn an_unknown_key_is_refused_in_words() {
    let rig = Rig::new().await;
    for key in ["", "cc_live_wrong", &"x".repeat(2_000)] {
        let body = format!("key={key}&next=/console/links");
        let reply = form(&rig, "/console/sign-in", &body).send().await.assert(422);
        assert!(reply.text().contains("This key is not valid."), "{}", reply.text());
        assert!(key.is_empty() || !reply.text().contains(key));
        assert_eq!(reply.header("set-cookie"), "");
    }
}

#[tokio::test]
async fn a_form_from_elsewhere_or_of_another_session_does_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let (cookie, _) = signed_in(&rig, account.live.token.as_ref().unwrap(), "/console").await;
    let links = page(&rig, "/console/links", &cookie).await.assert(200);
    let csrf = csrf_of(&links);
    let body = format!("csrf={csrf}");
    let foreign = rig.client(None).ask_at(Method::POST, "/console/sign-out");
    let foreign = foreign.header("Origin", "https://example.com").header("Cookie", &cookie);
    let foreign = foreign.header(FORM.0, FORM.1).raw(body.clone()).send().await.assert(403);
    assert_eq!(foreign.header("content-type"), "text/html; charset=utf-8");
    let other = Browser::sign_in(&rig, TOKEN).await;
    for wrong in [String::new(), format!("csrf={}", other.csrf()), "csrf=0".to_owned()] {
        let reply = form(&rig, "/console/sign-out", &wrong).header("Cookie", &cookie).send().await;
        assert!(reply.assert(403).text().contains("Nothing was done."));
    }
    page(&rig, "/console/links", &cookie).await.assert(200);
    let out = form(&rig, "/console/sign-out", &body).header("Cookie", &cookie).send().await;
    let out = out.assert(303);
    assert_eq!(out.header("location"), "/console/sign-in?said=signed-out");
    assert!(out.header("set-cookie").starts_with("__Host-sms_console=; Path=/; Max-Age=0;"));
    page(&rig, "/console/links", &cookie).await.assert(303);
}

#[tokio::test]
async fn home_is_for_people_of_an_account_and_leads_the_operator_to_accounts() {
    let rig = Rig::new().await;
    let account = rig.account(1_204).await;
    account.send("07700 900123", "Your table is ready").await;
    let (cookie, _) = signed_in(&rig, account.live.token.as_ref().unwrap(), "/console").await;
    let home = page(&rig, "/console", &cookie).await.assert(200).text();
    assert!(home.contains("enough for 1,203 messages of one part"), "{home}");
    assert!(home.contains("aria-label=\"Messages by day: Sent "), "{home}");
    assert!(home.contains("<title>Home · SMS console</title>"), "{home}");
    let (operator, _) = signed_in(&rig, TOKEN, "/console").await;
    let leads = page(&rig, "/console", &operator).await.assert(303);
    assert_eq!(leads.header("location"), "/console/operator/accounts");
}

#[tokio::test]
async fn the_operator_does_not_see_the_pages_of_an_account() {
    let rig = Rig::new().await;
    let (operator, _) = signed_in(&rig, TOKEN, "/console").await;
    let reply = page(&rig, "/console/links", &operator).await.assert(404);
    assert!(reply.text().contains("No such page"), "{}", reply.text());
}

#[tokio::test]
async fn a_form_without_a_session_leads_to_the_sign_in() {
    let rig = Rig::new().await;
    let asked = form(&rig, "/console/links", "csrf=0").send().await.assert(303);
    let to = "/console/sign-in?expired=1&next=%2Fconsole%2Flinks";
    assert_eq!(asked.header("location"), to);
}

#[tokio::test]
async fn the_chosen_colours_are_kept_in_a_cookie_and_rendered_by_the_server() {
    let rig = Rig::new().await;
    let chosen = form(&rig, "/console/theme", "theme=dark&next=/console/sign-in").send().await;
    let chosen = chosen.assert(303);
    assert_eq!(chosen.header("location"), "/console/sign-in");
    let cookie = chosen.header("set-cookie").split(';').next().unwrap().to_owned();
    let shown = page(&rig, "/console/sign-in", &cookie).await.assert(200);
    assert!(shown.text().contains("data-theme=\"dark\""), "{}", shown.text());
    let plain = page(&rig, "/console/sign-in", "sms_console_theme=\"><script>").await;
    assert!(!plain.assert(200).text().contains("data-theme=\""));
}

#[tokio::test]
async fn an_address_without_a_page_shows_a_404_page_in_the_consoles_frame() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let asked = page(&rig, "/console/nowhere?a=b", "").await.assert(303);
    assert_eq!(asked.header("location"), "/console/sign-in");
    let (people, _) = signed_in(&rig, account.live.token.as_ref().unwrap(), "/console").await;
    let (operator, _) = signed_in(&rig, TOKEN, "/console").await;
    for (cookie, path, named) in [
        (&people, "/console/nowhere", "Tracked links"),
        (&people, "/console/messages/none/at/all", "Tracked links"),
        (&people, "/console/campaigns/none", "Tracked links"),
        (&operator, "/console/nowhere", "Sender review"),
    ] {
        let reply = page(&rig, path, cookie).await.assert(404);
        assert_eq!(reply.header("content-type"), "text/html; charset=utf-8");
        let text = reply.text();
        assert!(text.contains("No such page") && text.contains(named), "{path}: {text}");
        assert!(text.contains("href=\"/console\""), "{path} leads somewhere: {text}");
    }
}

/// Earlier versions made the pages in the browser. Links and bookmarks of theirs still lead to what
/// they led to, and so does a tab that an update left behind: it loads its address again.
#[tokio::test]
async fn addresses_of_earlier_versions_lead_to_the_same_pages() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    let sent = account.send("07700 900123", "Your table is ready").await;
    let message = format!("/console/messages/{}", sent["messages"][0]["id"].as_str().unwrap());
    let of_account = format!("/console/operator/accounts/{}", account.id);
    let (people, _) = signed_in(&rig, account.live.token.as_ref().unwrap(), "/console").await;
    let (operator, _) = signed_in(&rig, TOKEN, "/console").await;
    for (path, title) in [
        ("/console", "Home"),
        ("/console/inbox", "Inbox"),
        ("/console/inbox/%2B447700900123", "Inbox"),
        ("/console/compose?to=%2B447700900123", "Compose"),
        ("/console/messages?status=delivered&direction=outbound", "Messages"),
        (&*message, "Message"),
        ("/console/contacts", "Contacts"),
        ("/console/contacts/import", "Import contacts"),
        ("/console/lists", "Lists"),
        ("/console/campaigns", "Campaigns"),
        ("/console/campaigns/new", "Draft a campaign"),
        ("/console/templates", "Templates"),
        ("/console/keywords", "Keywords"),
        ("/console/opt-outs", "Opt-outs"),
        ("/console/senders", "Sender names"),
        ("/console/links", "Tracked links"),
        ("/console/developers", "Developers"),
        ("/console/design", "Design"),
    ] {
        titled(&page(&rig, path, &people).await.assert(200), title);
    }
    for (path, title) in [
        ("/console/operator/accounts", "Accounts"),
        (&*of_account, "Bookings"),
        ("/console/operator/senders", "Sender review"),
        ("/console/operator/numbers", "Numbers"),
        ("/console/operator/unrouted", "Unrouted messages"),
        ("/console/operator/routes", "Routes"),
        ("/console/operator/sandbox", "Sandbox"),
    ] {
        titled(&page(&rig, path, &operator).await.assert(200), title);
    }
    for (path, to) in [
        ("/console/", "/console"),
        ("/console/inbox/", "/console/inbox"),
        ("/console/messages/?status=sent&q=a%26b", "/console/messages?status=sent&q=a%26b"),
    ] {
        assert_eq!(page(&rig, path, &people).await.assert(303).header("location"), to);
    }
    // Its modules are gone; what it asks for then is answered, and it loads its address again.
    page(&rig, "/console/v-0123456789abcdef/page/inbox.js", &people).await.assert(404);
    page(&rig, "/console/session", &people).await.assert(200);
}

fn titled(page: &Reply, title: &str) {
    let text = page.text();
    assert!(text.contains(&format!("<title>{title} · SMS console</title>")), "{title}: {text}");
    // The content security policy allows neither, and the page would not work.
    for script in text.split("<script").skip(1) {
        let (attributes, rest) = script.split_once('>').unwrap();
        assert!(attributes.contains("src=") && rest.starts_with("</script>"), "{attributes}");
    }
    for inline in ["<style", " style=", " onclick=", " onload="] {
        assert!(!text.contains(inline), "{title}: {inline}");
    }
}

#[tokio::test]
async fn a_conversation_with_a_name_shows_it_and_offers_no_reply() {
    const WHY: &str = "Texts from a short code or a name cannot be answered.";
    let rig = Rig::new().await;
    let account = inbox(&rig, 5).await;
    let message = receive(&rig, "A/C & Co", "Your code is 1234").await;
    receive(&rig, "07700 900123", "Hello").await;
    let key = account.live.token.as_ref().unwrap();
    let (cookie, _) = signed_in(&rig, key, "/console").await;
    let path = "/console/inbox/A%2FC%20%26%20Co";
    let thread = page(&rig, path, &cookie).await.assert(200);
    let text = thread.text();
    assert!(text.contains("A/C &amp; Co") && text.contains("Your code is 1234"), "{text}");
    assert!(
        text.contains(WHY) && text.contains(&format!("href=\"{path}#conversation\"")),
        "{text}"
    );
    for absent in ["aria-label=\"Reply\"", "Add to contacts", "+999"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    let person = page(&rig, "/console/inbox/%2B447700900123", &cookie).await.assert(200).text();
    assert!(person.contains("aria-label=\"Reply\"") && !person.contains(WHY));
    for shown in [
        format!("/console/messages/{}", message["id"].as_str().unwrap()),
        "/console/messages".to_owned(),
        "/console/messages?q=A%2FC+%26+Co".to_owned(),
        "/console/inbox".to_owned(),
    ] {
        let text = page(&rig, &shown, &cookie).await.assert(200).text();
        assert!(text.contains("A/C &amp; Co") && !text.contains("+999"), "{shown}: {text}");
    }
    let form_of = |action: &str, fields: &str| {
        let body = format!("csrf={}&{fields}", csrf_of(&thread));
        form(&rig, &format!("{path}{action}"), &body).header("Cookie", &cookie)
    };
    let read = form_of("/read", "").send().await.assert(303);
    assert_eq!(read.header("location"), path);
    let answer = form_of("", "key=a-key-of-the-form&body=Hello").send().await;
    assert!(answer.text().contains("This number cannot be texted."), "{}", answer.text());
}
