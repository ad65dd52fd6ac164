//! A request to a page, once the server has let it in: who sent it, and what for.

use std::fmt;
use std::future::{Ready, ready};
use std::ops::Deref;
use std::sync::Arc;

use poem::http::Uri;
use sms_core::Sms;
use sms_core::account::{Account, Mode};
use sms_core::ids::{Id, Kind};
use sms_core::service::sandbox::SandboxClock;
use sms_core::service::{AccountHandle, Operator};
use sms_core::time::Timestamp;

use crate::form::Form;
use crate::query::Query;
use crate::reply::Trouble;

/// What every page may use. A server has one.
#[derive(Debug, Clone)]
pub struct Desk {
    /// The service of this server.
    pub sms: Sms,
    /// The path of the folder with the files of this version.
    pub folder: Arc<str>,
    /// The public base URL, without a slash at the end.
    pub public_url: Arc<str>,
    /// The clock of the sandbox, where there is one.
    pub sandbox: Option<Arc<dyn SandboxClock>>,
}

/// A request to a page.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The address that was asked for, with its query.
    pub uri: Uri,
    /// What the pattern of the path leaves open.
    pub params: Params,
    /// Who is signed in.
    pub session: Session,
    /// What every page may use.
    pub desk: Desk,
    /// The service of the desk.
    pub sms: Sms,
    /// Which colours the person has chosen on this device.
    pub theme: Theme,
    /// The path of the page. The answer to a form may be at an address that takes only forms; then
    /// this is the page above it.
    pub(crate) page: String,
    /// The address that a browser shows with the answer to a form. A reload, or a step back to it,
    /// then asks for this page: the form is not sent again. `None` for a page that was asked for.
    pub(crate) address: Option<String>,
    /// The number of unread messages, which the navigation shows.
    pub(crate) unread: u64,
    query: Query,
    form: Form,
}

/// The parameters in the path.
#[derive(Debug, Clone, Default)]
pub struct Params(Vec<(&'static str, String)>);

/// Who is signed in.
#[derive(Debug, Clone)]
pub enum Session {
    /// Somebody of an account.
    Account(Arc<Person>),
    /// The operator, who signed in with the operator's token.
    Operator(Arc<OperatorPerson>),
    /// There is no session, or it has ended.
    Nobody,
}

/// Somebody of an account.
pub struct Person {
    /// What belongs to the account.
    pub handle: AccountHandle,
    /// The account as the session found it.
    pub account: Account,
    /// Live or test, as their key is.
    pub mode: Mode,
    /// What every form brings back.
    pub csrf: String,
}

/// A person who signed in with the operator's token.
pub struct OperatorPerson {
    /// What belongs to the operator.
    pub operator: Operator,
    /// What every form brings back.
    pub csrf: String,
}

/// Which colours pages have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Those of the system.
    #[default]
    System,
    /// Light ones, whatever the system has.
    Light,
    /// Dark ones, whatever the system has.
    Dark,
}

/// A request to a page of an account.
#[derive(Debug, Clone)]
pub struct AccountVisit {
    visit: Visit,
    /// The person who sent it, with the handle on their account.
    pub person: Arc<Person>,
}

/// A request to a page of the operator.
#[derive(Debug, Clone)]
pub struct OperatorVisit {
    visit: Visit,
    /// The person who sent it, with the operator's handle.
    pub person: Arc<OperatorPerson>,
}

impl Visit {
    /// A request to `uri` in this session.
    pub fn new(desk: Desk, uri: Uri, session: Session) -> Self {
        let query = Query::of(uri.query().unwrap_or_default());
        let (sms, page) = (desk.sms.clone(), uri.path().to_owned());
        let (params, theme, form) = (Params::default(), Theme::default(), Form::default());
        let (address, unread) = (None, 0);
        Self { uri, params, session, desk, sms, theme, page, address, unread, query, form }
    }

    /// Adds the parameters of the path.
    #[must_use]
    pub fn with_params(mut self, params: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.params = Params(params.into_iter().collect());
        self
    }

    /// Shows the page in these colours.
    #[must_use]
    pub fn with_theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Adds what the form sent, after its token was checked.
    #[must_use]
    pub(crate) fn with_form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// The same with what its frame shows.
    pub(crate) async fn with_frame(mut self) -> Self {
        if let Session::Account(person) = &self.session {
            // A page without the number is worth more than none.
            self.unread = person.handle.unread_total().await.unwrap_or_default();
        }
        self
    }

    /// The value of a query parameter, trimmed; `None` if it is missing or empty.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name)
    }

    /// All query parameters of the address.
    pub fn queries(&self) -> &Query {
        &self.query
    }

    /// What the form sent. Its token was checked before the handler was called.
    pub fn form(&self) -> Ready<Result<Form, Trouble>> {
        ready(Ok(self.form.clone()))
    }

    /// The service's time, which a sandbox may have moved.
    pub fn now(&self) -> Timestamp {
        self.sms.now()
    }

    /// What forms of this page bring back; empty where nobody is signed in.
    pub fn csrf(&self) -> &str {
        self.session.csrf()
    }

    pub(crate) fn for_account(self) -> Result<AccountVisit, Trouble> {
        match &self.session {
            Session::Account(person) => {
                let person = Arc::clone(person);
                Ok(AccountVisit { visit: self, person })
            }
            Session::Operator(_) => Err(Trouble::OtherSession),
            Session::Nobody => Err(Trouble::SignedOut),
        }
    }

    pub(crate) fn for_operator(self) -> Result<OperatorVisit, Trouble> {
        match &self.session {
            Session::Operator(person) => {
                let person = Arc::clone(person);
                Ok(OperatorVisit { visit: self, person })
            }
            Session::Account(_) => Err(Trouble::OtherSession),
            Session::Nobody => Err(Trouble::SignedOut),
        }
    }
}

impl Session {
    /// What every form of this session brings back; empty where nobody is signed in.
    pub fn csrf(&self) -> &str {
        match self {
            Self::Account(person) => &person.csrf,
            Self::Operator(person) => &person.csrf,
            Self::Nobody => "",
        }
    }
}

impl Params {
    /// The parameter that the pattern calls `{name}`; empty if it has none.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(own, _)| *own == name);
        found.map(|(_, value)| &**value).unwrap_or_default()
    }

    /// The id in the path, called `{id}`. What is no id of this kind names nothing that is there.
    pub(crate) fn id<K: Kind>(&self) -> Result<Id<K>, Trouble> {
        self.get("id").parse().map_err(|_| Trouble::NotFound)
    }
}

impl AccountVisit {
    /// What belongs to the account.
    pub fn handle(&self) -> &AccountHandle {
        &self.person.handle
    }
}

impl OperatorVisit {
    /// What belongs to the operator.
    pub fn operator(&self) -> &Operator {
        &self.person.operator
    }
}

impl Deref for AccountVisit {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.visit
    }
}

impl Deref for OperatorVisit {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.visit
    }
}

impl Theme {
    /// The word for it in cookies and attributes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme with this word.
    pub fn of(word: &str) -> Self {
        match word {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }
}

/// Hides the token of the session's forms.
impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { handle: _, account, mode, csrf: _ } = self;
        let mut shown = f.debug_struct("Person");
        shown.field("account", &account.id).field("mode", mode).finish_non_exhaustive()
    }
}

/// Hides the token of the session's forms.
impl fmt::Debug for OperatorPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorPerson")
    }
}
