//! What browsers may do on behalf of the console, and who may show it.

use poem::http::header::{
    CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use poem::http::{HeaderName, HeaderValue};

/// Scripts, styles, fonts and requests come from and go to this server alone, nothing stands in the
/// page itself, and no other page may hold it in a frame.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                              img-src 'self' data:; connect-src 'self'; font-src 'self'; \
                              form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The console needs none of what a browser asks people for.
const PERMISSIONS: &str = "accelerometer=(), camera=(), display-capture=(), geolocation=(), \
                           gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), \
                           publickey-credentials-get=(), usb=()";

/// The headers of every answer.
pub(super) fn headers() -> Vec<(HeaderName, HeaderValue)> {
    let headers = [
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    ];
    headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into()
}
