//! WebSockets and HTTP.

use std::sync::Arc;
use std::time::Duration;

use mlua::{AnyUserData, LuaString, Table};

use super::{Natives, fs};
use crate::sim::disk::FileHandle;
use crate::sim::net::{Opening, Request, Response, Socket, WsUrl};
use crate::sim::text::utf8_to_latin1;

pub(super) fn add(natives: &mut Natives<'_>) -> mlua::Result<()> {
    natives.add("ws_check", |_, url: LuaString| {
        WsUrl::parse(&url.to_string_lossy()).err()
    })?;
    // Returns a text if the address is wrong, false if four sockets are open, true if it is on its way.
    natives.add_lua(
        "ws_open",
        |_, c, (url, headers, timeout): (LuaString, Table, f64)| {
            let url = url.to_string_lossy();
            let target = match WsUrl::parse(&url) {
                Ok(target) => target,
                Err(reason) => return Ok((false, Some(reason))),
            };
            let opening = Opening {
                url,
                target,
                headers: header_list(&headers)?,
                timeout: seconds(timeout),
            };
            Ok((c.core().net.open_socket(c, opening), None))
        },
    )?;
    natives.add_lua(
        "ws_send",
        |_, _, (socket, message, binary): (AnyUserData, LuaString, bool)| {
            let sent = socket
                .borrow::<Arc<Socket>>()?
                .send(message.as_bytes().to_vec(), binary);
            Ok(sent.err().map(|e| e.to_string()))
        },
    )?;
    natives.add_lua("ws_close", |_, _, socket: AnyUserData| {
        socket.borrow::<Arc<Socket>>()?.close();
        Ok(())
    })?;
    natives.add_lua("ws_info", |_, _, socket: AnyUserData| {
        let socket = socket.borrow::<Arc<Socket>>()?;
        Ok((socket.url().to_owned(), socket.holds_place()))
    })?;
    natives.add_lua("http_request", |_, c, asked: Table| {
        let request = Request {
            url: text(&asked, "url")?.unwrap_or_default(),
            method: text(&asked, "method")?.unwrap_or_else(|| "GET".into()),
            headers: header_list(&asked.raw_get("headers")?)?,
            body: asked
                .raw_get::<Option<LuaString>>("body")?
                .map(|b| b.as_bytes().to_vec()),
            follow: asked.raw_get("redirect")?,
            binary: asked.raw_get("binary")?,
            timeout: seconds(asked.raw_get("timeout")?),
        };
        c.core().net.request(c, request);
        Ok(())
    })?;
    natives.add("http_check", |c, url: LuaString| {
        c.core().net.check_url(c, url.to_string_lossy());
    })?;
    natives.add_lua("response", |lua, c, response: AnyUserData| {
        let response = response.borrow::<Arc<Response>>()?;
        let headers = lua.create_table()?;
        for (name, value) in &response.headers {
            headers.raw_set(name.as_str(), lua.create_string(value)?)?;
        }
        let mut bytes = response.body.clone();
        if !response.binary && !c.config().cc_version.has_raw_text() {
            bytes = utf8_to_latin1(&bytes).into();
        }
        let body = fs::userdata(lua, FileHandle::memory(bytes, None))?;
        let (code, reason) = (response.code, response.reason.clone());
        Ok((body, code, reason, headers, response.binary))
    })
}

/// A list of pairs that the bios checked: no line breaks, strings only.
fn header_list(table: &Table) -> mlua::Result<Vec<(String, String)>> {
    let mut list = Vec::new();
    for pair in table.sequence_values::<Table>() {
        let pair = pair?;
        let (name, value): (LuaString, LuaString) = (pair.raw_get(1)?, pair.raw_get(2)?);
        list.push((name.to_string_lossy(), value.to_string_lossy()));
    }
    Ok(list)
}

fn text(table: &Table, key: &str) -> mlua::Result<Option<String>> {
    Ok(table
        .raw_get::<Option<LuaString>>(key)?
        .map(|s| s.to_string_lossy()))
}

/// Zero means no limit, as in ComputerCraft.
fn seconds(limit: f64) -> Option<Duration> {
    (limit > 0.0)
        .then(|| Duration::try_from_secs_f64(limit).ok())
        .flatten()
}
