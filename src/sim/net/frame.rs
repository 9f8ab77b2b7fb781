//! WebSocket frames as ComputerCraft's client sees them.
//!
//! Written out here because no ordinary client library behaves like it: fragments are not joined, no `Close`
//! is ever sent, a frame over the limit kills the connection.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Largest message either way, in bytes.
pub(crate) const MAX_MESSAGE: usize = 131_072;

/// Bytes of a frame's payload that are asked for at once, so that a lying length reserves little memory.
const BLOCK: usize = 16 * 1024;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Why reading ended.
#[derive(Debug)]
pub(crate) enum ReadEnd {
    /// The connection is gone.
    Lost,
    /// A frame was over the limit or against the protocol.
    Broken,
}

/// Reads one frame; fragments are returned as they come.
pub(crate) async fn read_frame(
    reader: &mut (impl AsyncRead + Unpin),
) -> Result<(Opcode, Vec<u8>), ReadEnd> {
    let mut head = [0; 2];
    fill(reader, &mut head).await?;
    let opcode = match head[0] & 0x0F {
        0 => Opcode::Continuation,
        1 => Opcode::Text,
        2 => Opcode::Binary,
        8 => Opcode::Close,
        9 => Opcode::Ping,
        10 => Opcode::Pong,
        _ => return Err(ReadEnd::Broken),
    };
    let (reserved, masked) = (head[0] & 0x70 != 0, head[1] & 0x80 != 0);
    let length = match head[1] & 0x7F {
        126 => {
            let mut long = [0; 2];
            fill(reader, &mut long).await?;
            u64::from(u16::from_be_bytes(long))
        }
        127 => {
            let mut long = [0; 8];
            fill(reader, &mut long).await?;
            u64::from_be_bytes(long)
        }
        short => u64::from(short),
    };
    if reserved || masked || length > MAX_MESSAGE as u64 {
        return Err(ReadEnd::Broken);
    }
    let mut payload = Vec::new();
    while payload.len() < length as usize {
        let start = payload.len();
        payload.resize(start + (length as usize - start).min(BLOCK), 0);
        fill(reader, &mut payload[start..]).await?;
    }
    Ok((opcode, payload))
}

async fn fill(reader: &mut (impl AsyncRead + Unpin), into: &mut [u8]) -> Result<(), ReadEnd> {
    reader
        .read_exact(into)
        .await
        .map(drop)
        .map_err(|_| ReadEnd::Lost)
}

/// Writes one whole message as a single masked frame.
pub(crate) async fn write_frame(
    writer: &mut (impl AsyncWrite + Unpin),
    opcode: Opcode,
    payload: &[u8],
) -> std::io::Result<()> {
    let mut mask = [0; 4];
    getrandom::fill(&mut mask).map_err(std::io::Error::other)?;
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | opcode as u8);
    match payload.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        medium @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&mask);
    frame.extend(
        payload
            .iter()
            .zip(mask.iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
    writer.write_all(&frame).await
}
