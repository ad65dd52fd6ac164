//! The pages of documents and of errors.

use poem::http::Method;

use crate::rig::Rig;

#[tokio::test]
async fn the_pages_are_compressed_and_cached() {
    let rig = Rig::new().await;
    let client = rig.client(None);
    for path in ["/docs", "/docs/operator", "/docs/errors"] {
        let plain = client.ask_at(Method::GET, path).send().await.assert(200);
        let small = client.ask_at(Method::GET, path).header("Accept-Encoding", "br, gzip;q=0.5");
        let small = small.send().await.assert(200);
        assert_eq!(small.header("content-encoding"), "gzip");
        assert!(small.bytes.len() * 2 < plain.bytes.len(), "{path}");
        assert_eq!(plain.header("vary"), "accept-encoding");
        let refused = client.ask_at(Method::GET, path).header("Accept-Encoding", "gzip;q=0");
        assert_eq!(refused.send().await.header("content-encoding"), "");
        let again = client.ask_at(Method::GET, path).header("If-None-Match", plain.header("etag"));
        assert!(again.send().await.assert(304).bytes.is_empty());
    }
}
