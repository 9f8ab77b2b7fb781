//! Addresses as `http.websocket` takes them.

/// A WebSocket address in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WsUrl {
    pub(crate) secure: bool,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query, at least `/`.
    pub(crate) path: String,
}

impl WsUrl {
    /// Reads an address; the error is the text ComputerCraft reports. Without a scheme it is `ws://`.
    pub(crate) fn parse(url: &str) -> Result<WsUrl, String> {
        let malformed = || "URL malformed".to_owned();
        if url.chars().any(|c| c.is_whitespace() || c.is_control()) || url.is_empty() {
            return Err(malformed());
        }
        let (scheme, rest) = url.split_once("://").unwrap_or(("ws", url));
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "ws" => false,
            "wss" => true,
            other => return Err(format!("Invalid scheme '{other}'")),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        let authority = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let (host, port) = split_port(authority).ok_or_else(malformed)?;
        if host.is_empty() {
            return Err(malformed());
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| malformed())?,
            None if secure => 443,
            None => 80,
        };
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(WsUrl {
            secure,
            host: host.to_owned(),
            port,
            path,
        })
    }

    /// Host and port as the `host` header has them.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == 80 {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

/// Host and port, if one is given; `None` for broken brackets.
fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(inner) = authority.strip_prefix('[') {
        let (host, rest) = inner.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None if rest.is_empty() => Some((host, None)),
            None => None,
        };
    }
    Some(match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    })
}

#[cfg(test)]
mod tests {
    use super::WsUrl;

    #[test]
    fn an_address_without_a_scheme_is_ws() {
        let url = WsUrl::parse("127.0.0.1:8080/ws?a=1").unwrap();
        assert_eq!(
            (url.host.as_str(), url.port, url.path.as_str()),
            ("127.0.0.1", 8080, "/ws?a=1")
        );
        assert_eq!(url.authority(), "127.0.0.1:8080");
        assert_eq!(WsUrl::parse("ws://[::1]?x").unwrap().authority(), "[::1]");
    }

    #[test]
    fn wrong_addresses_are_refused_with_computercrafts_texts() {
        assert_eq!(
            WsUrl::parse("http://a/b"),
            Err("Invalid scheme 'http'".into())
        );
        for url in ["not a url", "", "ws://", "ws://h:x/"] {
            assert_eq!(WsUrl::parse(url), Err("URL malformed".into()), "{url}");
        }
    }
}
