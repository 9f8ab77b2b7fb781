//! A computer that only tells of events: it connects, says hello, tells one, and is gone. Nobody answers an event, so whoever rings
//! learns nothing.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long it may take in all.
const WITHIN: Duration = Duration::from_secs(3);
const NAME: &str = "bell";
/// Any sixteen bytes do; nobody else uses the connection.
const KEY: &str = "dG9ydHVyZSdzIGJlbGwuLg==";
/// More is no greeting.
const MOST_BYTES: usize = 256 * 1024;

/// What a task of this number waits for.
pub fn event(task: usize) -> String {
    format!("torture_bell_{task}")
}

/// Tells the server of an event with a number. It may come to nothing: then somebody rings again.
pub async fn ring(server: SocketAddr, event: &str, number: u64) {
    // What went wrong is the server's death, or will be told by tasks that never wake.
    let _ = tokio::time::timeout(WITHIN, tell(server, event, number)).await;
}

async fn tell(server: SocketAddr, event: &str, number: u64) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(server).await?;
    let request = format!(
        "GET /ws HTTP/1.1\r\nHost: {server}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let boot = format!("bell-{number}");
    let hello = json!({"type": "hello", "protocol": 1, "client_id": NAME, "boot_id": boot,
        "computer": {"id": 9999, "kind": "computer", "version": "1.20.1"}, "commands": [], "features": []});
    stream.write_all(&frame(&hello)).await?;
    until(&mut stream, b"\"welcome\"").await?;
    let told = json!({"type": "world_event", "name": event, "data": {"number": number}});
    stream.write_all(&frame(&told)).await?;
    // Said before the connection ends: goodbye, so that what came before it was read.
    stream.write_all(&[0x88, 0x80, 0, 0, 0, 0]).await?;
    until(&mut stream, b"\x88").await
}

/// Reads on until the server has said this.
async fn until(stream: &mut TcpStream, what: &[u8]) -> std::io::Result<()> {
    let mut heard = Vec::new();
    while !heard.windows(what.len()).any(|part| part == what) {
        let read = stream.read_buf(&mut heard).await?;
        if read == 0 || heard.len() > MOST_BYTES {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// A text in one frame, as a client sends it: masked, with a mask that changes nothing.
fn frame(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    let mut frame = vec![0x81];
    match u16::try_from(text.len()) {
        Ok(short @ 0..126) => frame.push(0x80 | short as u8),
        Ok(long) => {
            frame.push(0x80 | 126);
            frame.extend(long.to_be_bytes());
        }
        // None is that long.
        Err(_) => return Vec::new(),
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_how_long_it_is() {
        let short = frame(&json!({"a": 1}));
        assert_eq!(short[..6], [0x81, 0x87, 0, 0, 0, 0]);
        assert_eq!(&short[6..], br#"{"a":1}"#);
        let long = frame(&json!({"a": "x".repeat(200)}));
        assert_eq!(long[..4], [0x81, 0xfe, 0, 208]);
        assert_eq!(long.len(), 8 + 208);
    }
}
