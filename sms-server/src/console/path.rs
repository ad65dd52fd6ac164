//! Where the console is.

/// The prefix of all its paths, and the path of its cookie.
pub const PREFIX: &str = "/console";
/// Signing in and out.
pub(super) const SESSION: &str = "/console/session";
/// The API of an account: below it everything is as below `/api/v1`.
pub(super) const API: &str = "/console/api/v1";
/// The API, and what is not there beside it.
pub(super) const APIS: &str = "/console/api/";
/// The folders of files, one for each version.
pub(super) const FILES: &str = "/console/v-";
/// Signing out, by a form.
pub(super) const SIGN_OUT: &str = "/console/sign-out";
/// Choosing colours, by a form.
pub(super) const THEME: &str = "/console/theme";
/// What the API does not have.
pub(super) const OTHERS_OF_APIS: &str = "/console/api/{*path}";
/// The files, and what is neither a file nor a page.
pub(super) const PAGES: &str = "/console/{*path}";
