//! Answers that break off, hang, are cancelled or never come.

use super::*;

#[actix::test]
async fn an_error_in_mid_stream_is_an_error() {
    let ollama = ndjson(&[ollama_piece("half"), json!({"error": "runner has stopped"})]);
    let openai = sse(&[
        delta(json!({"content": "half"})),
        json!({"error": {"code": 500, "message": "runner has stopped"}}),
    ]);
    for (kind, body) in BOTH.into_iter().zip([ollama, openai]) {
        let server = FakeServer::start(vec![Reply::Pieces(vec![body])]);
        let error = server.chat(kind).await.expect_err("error");
        assert_eq!(error.code(), "model_crashed", "{error}");
        assert!(error.retryable());
    }
}

#[actix::test]
async fn a_stream_that_ends_without_its_end_mark_is_cut_off() {
    for (kind, mut pieces) in both(&["a long answer", " that never ends"]) {
        // What is left holds some text, no end, and half a line.
        pieces.truncate(6);
        let server = FakeServer::start(vec![Reply::Pieces(pieces)]);
        let error = server.chat(kind).await.expect_err("cut off");
        assert_eq!((error.code(), error.retryable()), ("model_cut_off", true));
    }
}

#[actix::test]
async fn an_answer_that_repeats_itself_is_not_read_to_its_end() {
    let again =
        "Action: run_program\nAction Input:\npath=/hello.lua\nThis turn works on a later item.\n";
    for (kind, pieces) in both(&[again; 200]) {
        let server = FakeServer::start(vec![Reply::Pieces(pieces)]);
        let answer = server.chat(kind).await.expect("what there is");
        assert_eq!(answer.stop, StopReason::Length);
        assert!(answer.content.starts_with(again));
        assert!(answer.content.len() < again.len() * 100);
    }
}

#[actix::test]
async fn a_connection_that_breaks_in_mid_answer_is_cut_off() {
    for kind in BOTH {
        let server = SilentServer::start_and(BEGINNING, Then::HangUp).await;
        let answer = server
            .provider(kind)
            .chat(request(), DeltaSink::ignore())
            .await;
        assert_eq!(answer.expect_err("cut off").code(), "model_cut_off");
    }
}

#[actix::test]
async fn a_server_that_dies_before_it_answers_may_be_asked_again() {
    for kind in BOTH {
        let server = SilentServer::start_and("", Then::HangUp).await;
        let answer = server
            .provider(kind)
            .chat(request(), DeltaSink::ignore())
            .await;
        let error = answer.expect_err("gone");
        assert_eq!((error.code(), error.retryable()), ("model_crashed", true));
    }
}

#[actix::test]
async fn a_huge_line_is_no_problem() {
    let file = "x".repeat(3 * 1024 * 1024);
    for (kind, _) in both(&[]) {
        let body = match kind {
            ProviderKind::Ollama => ndjson(&[ollama_piece(&file), ollama_end()]),
            _ => sse(&[delta(json!({"content": file})), openai_end("stop")]) + DONE,
        };
        let pieces = body.as_bytes().chunks(60_000);
        let pieces = pieces
            .map(|p| String::from_utf8_lossy(p).into_owned())
            .collect();
        let server = FakeServer::start(vec![Reply::Pieces(pieces)]);
        let answer = server.chat(kind).await.expect("answer");
        assert_eq!(answer.content.len(), file.len());
    }
}

/// Headers and one empty line of the stream.
const BEGINNING: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n";

#[actix::test]
async fn cancelling_closes_the_connection_before_and_after_the_headers() {
    for kind in BOTH {
        for beginning in ["", BEGINNING] {
            let server = SilentServer::start(beginning).await;
            let provider = server.provider(kind);
            let (progress, mut progressed) = mpsc::unbounded_channel();
            let sink = DeltaSink::new(move |_| {
                let _ = progress.send(());
            });
            let call = actix_rt::spawn(async move { provider.chat(request(), sink).await });
            server.arrived.await.expect("arrived");
            if !beginning.is_empty() {
                progressed.recv().await.expect("headers and a piece");
            }
            call.abort();
            server.closed.await.expect("the server saw the close");
        }
    }
}

#[actix::test]
async fn a_silent_server_runs_into_its_deadline_and_the_connection_is_closed() {
    let short = Duration::from_millis(100);
    let hour = Duration::from_secs(3600);
    for kind in BOTH {
        for beginning in ["", BEGINNING] {
            let server = SilentServer::start(beginning).await;
            let provider = server.provider(kind);
            let (deadline, deadlines) = if beginning.is_empty() {
                (Deadline::FirstByte, (short, hour))
            } else {
                (Deadline::BetweenChunks, (hour, short))
            };
            let deadlines = Deadlines {
                first_byte: deadlines.0,
                between_chunks: deadlines.1,
            };
            let overall = (Instant::now() + hour, hour);
            let sink = DeltaSink::ignore();
            let answer =
                chat_with_deadlines(provider.as_ref(), request(), sink, deadlines, overall).await;
            let after = short;
            assert_eq!(answer, Err(LlmError::TimedOut { deadline, after }));
            server.closed.await.expect("the server saw the close");
        }
    }
}

#[actix::test]
async fn no_server_at_all_is_unreachable_and_says_how_to_start_one() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let url = format!("http://{}", free.local_addr().expect("address"));
    drop(free);
    for (kind, command) in BOTH.into_iter().zip(["`ollama serve`", "`llama-server -m"]) {
        let provider = set::build(&role(kind, &url), Duration::from_secs(5)).expect("provider");
        let error = provider
            .chat(request(), DeltaSink::ignore())
            .await
            .expect_err("nobody");
        assert_eq!(error.code(), "model_unreachable", "{error}");
        assert!(error.hint().contains(command));
        assert!(!format!("{error:?}").contains("s3cret"));
    }
}

#[actix::test]
async fn a_missing_model_names_the_command_that_fetches_it() {
    let ollama = json!({"error": "model 'm' not found"});
    let openai =
        json!({"error": {"message": "The model `m` does not exist", "code": "model_not_found"}});
    for (kind, body) in BOTH.into_iter().zip([ollama, openai]) {
        let server = FakeServer::start(vec![Reply::Whole(404, body.to_string())]);
        let error = server.chat(kind).await.expect_err("missing");
        assert_eq!(error.code(), "model_missing");
        let command = ["`ollama pull m`", "`llama-server -m m.gguf"];
        assert!(
            error
                .hint()
                .contains(command[usize::from(kind == ProviderKind::OpenAi)])
        );
    }
}

#[actix::test]
async fn a_loading_server_is_busy_and_then_answers() {
    for (kind, pieces) in both(&["ready"]) {
        let loading = json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}});
        let server = FakeServer::start(vec![
            Reply::Whole(503, loading.to_string()),
            Reply::Pieces(pieces),
        ]);
        let error = server.chat(kind).await.expect_err("loading");
        assert_eq!((error.code(), error.retryable()), ("model_busy", true));
        assert_eq!(server.chat(kind).await.expect("answer").content, "ready");
    }
}
