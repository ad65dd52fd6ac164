//! Runs the example of the same name, with something else to stop it than Ctrl-C.

#[path = "../embed_in_your_service.rs"]
#[expect(dead_code, reason = "its `main` is the program's")]
mod program;

#[tokio::test]
async fn the_embedded_service_delivers_a_message_stops_in_order_and_starts_again() {
    let folder = std::env::temp_dir().join(format!("sms-embed-{}", std::process::id()));
    for _ in 0..2 {
        program::run(&folder.join("sms.db"), std::future::ready(())).await.unwrap();
    }
    std::fs::remove_dir_all(folder).unwrap();
}
