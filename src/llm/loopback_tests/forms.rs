//! Servers that cannot hold an answer to a form.

use super::*;

fn held() -> ChatRequest {
    ChatRequest {
        format: OutputFormat::Schema(json!({"anyOf": [{"type": "object"}]})),
        ..request()
    }
}

fn refused() -> Reply {
    let error = json!({"error": {"message": "failed to parse grammar", "code": 400}});
    Reply::Whole(400, error.to_string())
}

#[actix::test]
async fn a_form_that_a_server_refuses_is_left_out_and_the_answer_is_the_one_without() {
    for (kind, pieces) in both(&["{\"a\": 1}"]) {
        let mut server = FakeServer::start(vec![refused(), Reply::Pieces(pieces)]);
        let asked = server
            .provider(kind)
            .chat(held(), DeltaSink::ignore())
            .await;
        assert_eq!(asked.expect("an answer").content, "{\"a\": 1}");
        let with_form = |body: &Value| {
            let keys = ["format", "response_format"];
            keys.iter().any(|key| body.get(key).is_some())
        };
        let (first, second) = (server.seen.recv().await, server.seen.recv().await);
        assert!(with_form(&first.unwrap().body));
        let second = second.unwrap().body;
        assert!(!with_form(&second), "{second}");
        assert_eq!(second["messages"][1]["content"], "hello");
    }
}

#[actix::test]
async fn what_is_refused_without_the_form_too_is_refused() {
    for kind in BOTH {
        let server = FakeServer::start(vec![refused(), refused()]);
        let asked = server
            .provider(kind)
            .chat(held(), DeltaSink::ignore())
            .await;
        assert_eq!(asked.unwrap_err().code(), "model_refused");
        // Without a form there is nothing to leave out.
        let server = FakeServer::start(vec![refused()]);
        assert_eq!(server.chat(kind).await.unwrap_err().code(), "model_refused");
    }
}
