//! Streams of changes: so many for a user and an address, and none for whom it is over.

use serde_json::json;

use crate::backend::{on_sqlite, send};
use crate::mcp_http::token_of;

#[test]
fn a_user_has_so_many_streams() {
    on_sqlite(&[], &[("SPEXUS_STREAM_LIMIT", "3")], |backend, _| {
        let open =
            |token: &str| backend.anonymous("GET", "/events").bearer_auth(token).send().expect("an answer");
        let streams: Vec<_> = (0..3).map(|_| open(&backend.token)).collect();
        assert!(streams.iter().all(|stream| stream.status() == 200));
        let refused = send(backend.request("GET", "/events"));
        assert_eq!((refused.status, refused.code()), (429, "RATE_LIMITED"), "{}", refused.text);
        assert!(refused.header("retry-after").parse::<u64>().is_ok());
        // Those of agents count along.
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
        let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
        let agent = send(
            backend
                .request("POST", "/mcp")
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", "subscriptions/listen")
                .body(listen.to_string()),
        );
        assert_eq!(agent.status, 429, "{}", agent.text);
        let other = token_of(backend, "ann", "User");
        let others: Vec<_> = (0..3).map(|_| open(&other)).collect();
        assert!(others.iter().all(|stream| stream.status() == 200), "others are not kept out");
        drop(streams);
        crate::server::wait_until("room", || open(&backend.token).status() == 200);
    });
}
