//! The operator's token: from the settings, from a file, or made.

use sms_core::random::{Random as _, SystemRandom};

use crate::banner::MadeToken;
use crate::settings::{Keeping, Settings};
use crate::start_failed::StartFailed;

/// The operator's token, and what the banner says of it. A generated token stays the same in one
/// folder.
///
/// # Errors
///
/// If the token cannot be read or kept.
pub fn operator_token(settings: &Settings) -> Result<(String, Option<MadeToken>), StartFailed> {
    if let Some(token) = &settings.secrets.admin_token {
        return Ok((token.0.clone(), None));
    }
    let Keeping::File(data) = settings.keeping() else {
        let token = made_token();
        return Ok((token.clone(), Some(MadeToken::ForThisRun(token))));
    };
    let file = data.token_file();
    let failed = |source| StartFailed::Token { file: file.display().to_string(), source };
    let token = if let Some(token) = data.token().map_err(failed)? {
        token
    } else {
        let token = made_token();
        data.keep_token(&token).map_err(failed)?;
        token
    };
    Ok((token, Some(MadeToken::InFile(file))))
}

fn made_token() -> String {
    [(); 3].map(|()| format!("{:016x}", SystemRandom.next_u64())).concat()
}
