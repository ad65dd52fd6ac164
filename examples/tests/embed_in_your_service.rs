//! Runs the example of the same name, with something else to stop it than Ctrl-C.

#[path = "../embed_in_your_service.rs"]
#[expect(dead_code, reason = "its `main` is the program's")]
mod program;

#[tokio::test]
async fn the_embedded_service_delivers_a_message_and_stops_in_order() {
    program::run(std::future::ready(())).await.unwrap();
}
