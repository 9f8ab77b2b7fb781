//! `/install.lua` and `/lua/*`: what computers fetch to become part of the fleet, and to stay up to date.
//!
//! Players read these answers on a small screen, so errors are plain text. Nobody needs a token: a computer that
//! is not set up yet has none.

use super::embedded::answer;
use crate::lua_files::LuaFiles;
use actix_web::http::StatusCode;
use actix_web::http::header::{HOST, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

/// The installer's source; the address that it was asked at is put into it.
const INSTALLER: &str = "install.lua";

/// Stands in the installer for the server's address.
const SERVER_MARK: &str = "{{SERVER}}";

/// What one kind of computer alone can use: the file and the kind. Everything else is for all.
const ONLY_FOR: &[(&str, &str)] = &[
    ("ccfleet/position.lua", "turtle"),
    ("ccfleet/tools/turtle.lua", "turtle"),
];

/// One file as computers get it.
struct File {
    bytes: Cow<'static, [u8]>,
    sha256: String,
}

/// What computers may fetch: everything below `lua/` but the specs and the installer.
struct Library {
    version: String,
    files: BTreeMap<String, File>,
    manifest: String,
}

/// Read once, so that the manifest and the files always fit together, whatever happens to a folder on disk.
fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let wanted = LuaFiles::iter().filter(|path| is_for_computers(path));
        let files: BTreeMap<String, File> = wanted.filter_map(read).collect();
        let mut identity = blake3::Hasher::new();
        for (path, file) in &files {
            identity.update(format!("{} {path}\n", file.sha256).as_bytes());
        }
        // Semantic versioning's build part: the same release with other files is another version to a computer.
        let build = &identity.finalize().to_hex()[..8];
        let version = format!("{}+{build}", env!("CARGO_PKG_VERSION"));
        let manifest = manifest(&version, &files);
        Library {
            version,
            files,
            manifest,
        }
    })
}

fn is_for_computers(path: &str) -> bool {
    path.ends_with(".lua") && !path.starts_with("specs/") && path != INSTALLER
}

fn read(path: Cow<'static, str>) -> Option<(String, File)> {
    let file = LuaFiles::get(&path)?;
    let sha256 = hex(&file.metadata.sha256_hash());
    let bytes = file.data;
    Some((path.into_owned(), File { bytes, sha256 }))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn manifest(version: &str, files: &BTreeMap<String, File>) -> String {
    let entries = files.iter().map(|(path, file)| {
        let mut entry = json!({"path": path, "bytes": file.bytes.len(), "sha256": file.sha256});
        if let Some((_, kind)) = ONLY_FOR.iter().find(|(only, _)| path == only) {
            entry["only"] = json!(kind);
        }
        entry
    });
    json!({"version": version, "files": entries.collect::<Vec<_>>()}).to_string()
}

/// The version of the files that this server hands out: the release, and a build part that changes with any file.
pub fn library_version() -> &'static str {
    &library().version
}

/// `GET /lua/manifest.json`: version, and path, size and hash of every file.
pub(super) async fn list(request: HttpRequest) -> HttpResponse {
    let library = library();
    answer(
        &request,
        "application/json",
        &library.version,
        Cow::Borrowed(library.manifest.as_bytes()),
    )
}

/// `GET /lua/{path}`: one file. Only what the manifest lists is looked up, so no path can lead out of the folder.
pub(super) async fn file(request: HttpRequest, path: web::Path<String>) -> HttpResponse {
    match library().files.get(path.as_str()) {
        Some(file) => answer(
            &request,
            "text/x-lua; charset=utf-8",
            &file.sha256,
            file.bytes.clone(),
        ),
        None => plain(
            StatusCode::NOT_FOUND,
            format!(
                "There is no file {:?} for computers on this server.\n\
                 /lua/manifest.json lists all of them. To install: wget run http://HOST:PORT/install.lua\n",
                path.as_str()
            ),
        ),
    }
}

/// `GET /install.lua`: the installer, which knows the address that it was asked at.
pub(super) async fn installer(request: HttpRequest) -> HttpResponse {
    let Some(place) = asked_at(request.headers()) else {
        return plain(
            StatusCode::BAD_REQUEST,
            "The Host header of this request is no HOST or HOST:PORT, so the installer cannot know this server's \
             address.\n",
        );
    };
    let Some(source) = LuaFiles::get(INSTALLER) else {
        return plain(
            StatusCode::NOT_FOUND,
            "This server was built without its installer.\n",
        );
    };
    // What a proxy says of the outside is not believed: whoever asks directly could say it too.
    let scheme = if request.app_config().secure() {
        "https"
    } else {
        "http"
    };
    let source = String::from_utf8_lossy(&source.data);
    let text = source.replace(SERVER_MARK, &format!("{scheme}://{place}"));
    let tag = blake3::hash(text.as_bytes()).to_hex();
    answer(
        &request,
        "text/x-lua; charset=utf-8",
        &tag,
        Cow::Owned(text.into_bytes()),
    )
}

/// Every other method.
pub(super) async fn method_not_allowed(request: HttpRequest) -> HttpResponse {
    plain(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{} can only be read (GET).\n", request.path()),
    )
}

fn plain(status: StatusCode, text: impl Into<String>) -> HttpResponse {
    HttpResponse::build(status)
        .content_type("text/plain; charset=utf-8")
        .body(text.into())
}

/// The `Host` of a request if it is strictly `host` or `host:port`: it goes into a program.
fn asked_at(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST);
    let host = hosts.next()?.to_str().ok()?;
    (hosts.next().is_none() && is_place(host)).then_some(host)
}

fn is_place(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((ip, rest)) => (ip.parse::<Ipv6Addr>().is_ok(), rest),
        None => {
            let end = host.find(':').unwrap_or(host.len());
            (is_name(&host[..end]), &host[end..])
        }
    };
    name && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// A DNS name or an IPv4 address.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.parse::<Ipv4Addr>().is_ok() || (name.len() <= 253 && name.split('.').all(is_label))
}

#[cfg(test)]
mod tests;
