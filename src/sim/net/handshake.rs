//! Opening a WebSocket: the HTTP/1.1 upgrade with ComputerCraft's headers and error texts.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::accept::{accept_for, base64};
use super::url::WsUrl;
use super::{HttpRules, look_up};
use crate::sim::version::CcVersion;

/// Largest answer to a handshake, in bytes.
const MAX_ANSWER: usize = 8192;
/// Read buffer of a connection, in bytes: small, because there may be thousands.
const READ_BUFFER: usize = 2048;
const COULD_NOT_CONNECT: &str = "Could not connect";

/// The two halves of an open connection.
pub(crate) type Halves = (BufReader<OwnedReadHalf>, OwnedWriteHalf);

/// What the mod's client offers; ours offers the same and, like an older Netty, takes none of it.
const EXTENSIONS: &str = "permessage-deflate;client_no_context_takeover;client_max_window_bits,\
                          deflate-frame,x-webkit-deflate-frame";

/// Connects and upgrades; the error is the text of `websocket_failure`.
pub(crate) async fn open(
    url: &WsUrl,
    headers: &[(String, String)],
    rules: &HttpRules,
    version: CcVersion,
) -> Result<Halves, String> {
    if url.secure {
        return Err("Could not connect (wss:// is not simulated: use ws://)".into());
    }
    let stream = connect(url, rules).await?;
    let _ = stream.set_nodelay(true);
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::with_capacity(READ_BUFFER, reader);
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|e| e.to_string())?;
    let key = base64(&nonce);
    let request = request(url, headers, &key, version);
    writer
        .write_all(request.as_bytes())
        .await
        .map_err(|_| COULD_NOT_CONNECT)?;
    let answer = read_answer(&mut reader).await?;
    check(&answer, headers, &key)?;
    Ok((reader, writer))
}

async fn connect(url: &WsUrl, rules: &HttpRules) -> Result<TcpStream, String> {
    let addresses = look_up(rules, &url.host, url.port).await?;
    for address in addresses {
        if let Ok(stream) = TcpStream::connect(address).await {
            return Ok(stream);
        }
    }
    Err(COULD_NOT_CONNECT.into())
}

fn request(url: &WsUrl, headers: &[(String, String)], key: &str, version: CcVersion) -> String {
    let mut own = vec![
        ("upgrade", "websocket".to_owned()),
        ("connection", "upgrade".to_owned()),
        ("sec-websocket-key", key.to_owned()),
        ("host", url.authority()),
        ("sec-websocket-version", "13".to_owned()),
        ("sec-websocket-extensions", EXTENSIONS.to_owned()),
        ("user-agent", format!("computercraft/{version}")),
    ];
    // A program may replace what it likes except the handshake itself.
    own.retain(|(name, _)| {
        !matches!(*name, "user-agent" | "host")
            || !headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
    });
    let mut text = format!("GET {} HTTP/1.1\r\n", url.path);
    for (name, value) in own
        .iter()
        .map(|(n, v)| (*n, v))
        .chain(headers.iter().map(|(n, v)| (n.as_str(), v)))
    {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "\r\n"
}

async fn read_answer(reader: &mut BufReader<OwnedReadHalf>) -> Result<Vec<String>, String> {
    let (mut lines, mut line, mut total) = (Vec::new(), Vec::new(), 0);
    loop {
        let block = reader.fill_buf().await.map_err(|_| COULD_NOT_CONNECT)?;
        if block.is_empty() {
            return Err(COULD_NOT_CONNECT.into());
        }
        let end = block.iter().position(|&b| b == b'\n');
        let used = end.map_or(block.len(), |at| at + 1);
        line.extend_from_slice(&block[..used]);
        reader.consume(used);
        total += used;
        if total > MAX_ANSWER {
            return Err(COULD_NOT_CONNECT.into());
        }
        if end.is_some() {
            let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            if text.is_empty() {
                return Ok(lines);
            }
            lines.push(text);
            line.clear();
        }
    }
}

fn check(answer: &[String], headers: &[(String, String)], key: &str) -> Result<(), String> {
    let status = answer
        .first()
        .and_then(|line| line.strip_prefix("HTTP/1.1 "))
        .ok_or(COULD_NOT_CONNECT)?;
    if !status.starts_with("101") {
        return Err(format!("Invalid handshake response getStatus: {status}"));
    }
    let field = |name: &str| {
        answer
            .iter()
            .filter_map(|l| l.split_once(':'))
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
    };
    let value = |name: &str| field(name).map(|(_, value)| value.trim());
    if value("sec-websocket-accept") != Some(&accept_for(key)) {
        return Err("Invalid challenge".into());
    }
    if value("sec-websocket-extensions").is_some() {
        return Err(COULD_NOT_CONNECT.into());
    }
    let wanted = headers
        .iter()
        .find(|(n, _)| n.eq_ignore_ascii_case("sec-websocket-protocol"));
    let actual = value("sec-websocket-protocol");
    match wanted {
        Some((_, offered)) if !offered.split(',').any(|p| Some(p.trim()) == actual) => {
            Err(format!(
                "Invalid subprotocol. Actual: {}. Expected one of: {offered}",
                actual.unwrap_or("null")
            ))
        }
        _ => Ok(()),
    }
}
