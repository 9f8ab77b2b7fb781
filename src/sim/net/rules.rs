//! Which addresses a computer may reach: the `http.rules` of the mod's configuration.

use std::net::IpAddr;
use std::str::FromStr;

/// The text of a refusal.
pub(crate) const NOT_PERMITTED: &str = "Domain not permitted";

/// Rules in order; the first that fits decides, and an address that none fits is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRules(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    what: Pattern,
    allow: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// `$private`: addresses of the own machine and of local networks.
    Private,
    /// Addresses that begin with these bits.
    Range(IpAddr, u8),
    /// A name or an address, with `*` for any run of characters.
    Name(String),
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no address for a rule: use a host name, an address, a range like 127.0.0.0/8, * or $private"
)]
pub struct RuleError(String);

impl HttpRules {
    /// Everything may be reached: what a server's admin sets up so that computers reach ccfleet at home.
    pub fn allow_all() -> HttpRules {
        HttpRules(vec![Rule {
            what: Pattern::Name("*".into()),
            allow: true,
        }])
    }

    /// The mod's default: private addresses are denied, the rest is allowed.
    pub fn deny_private() -> HttpRules {
        let mut rules = HttpRules::allow_all();
        rules.0.insert(
            0,
            Rule {
                what: Pattern::Private,
                allow: false,
            },
        );
        rules
    }

    /// Puts a rule in front of the others.
    ///
    /// # Errors
    /// A range with a wrong number of bits, or an empty text.
    pub fn first(mut self, what: &str, allow: bool) -> Result<HttpRules, RuleError> {
        let what = what.parse()?;
        self.0.insert(0, Rule { what, allow });
        Ok(self)
    }

    /// Whether `host`, which was looked up as `address`, may be reached.
    pub(crate) fn permit(&self, host: &str, address: IpAddr) -> bool {
        let fits = |rule: &&Rule| match &rule.what {
            Pattern::Private => is_private(address),
            Pattern::Range(start, bits) => in_range(address, *start, *bits),
            Pattern::Name(pattern) => {
                wildcard(pattern, &host.to_ascii_lowercase())
                    || wildcard(pattern, &address.to_string())
            }
        };
        self.0.iter().find(fits).is_some_and(|rule| rule.allow)
    }

    /// True if nothing has to be looked up to know the answer.
    pub(crate) fn allows_all(&self) -> bool {
        self.0
            .first()
            .is_some_and(|rule| rule.allow && rule.what == Pattern::Name("*".into()))
    }
}

impl FromStr for Pattern {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Pattern, RuleError> {
        let wrong = || RuleError(text.to_owned());
        if text == "$private" {
            return Ok(Pattern::Private);
        }
        if text.is_empty() || text.chars().any(char::is_whitespace) {
            return Err(wrong());
        }
        let Some((start, bits)) = text.split_once('/') else {
            return Ok(Pattern::Name(text.to_ascii_lowercase()));
        };
        let start: IpAddr = start.parse().map_err(|_| wrong())?;
        let most = if start.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.parse().map_err(|_| wrong())?;
        (bits <= most)
            .then_some(Pattern::Range(start, bits))
            .ok_or_else(wrong)
    }
}

fn in_range(address: IpAddr, start: IpAddr, bits: u8) -> bool {
    fn same(a: &[u8], b: &[u8], bits: u8) -> bool {
        let whole = usize::from(bits / 8);
        let mask = |byte: u8| u16::from(byte) >> (8 - bits % 8);
        a[..whole] == b[..whole] && (bits.is_multiple_of(8) || mask(a[whole]) == mask(b[whole]))
    }
    match (address, start) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(&a.octets(), &b.octets(), bits),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(&a.octets(), &b.octets(), bits),
        _ => false,
    }
}

/// The mod's `$private`.
fn is_private(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let general = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    general
        || match address {
            IpAddr::V4(a) => {
                let o = a.octets();
                let carrier = o[0] == 100 && (64..128).contains(&o[1]);
                a.is_link_local() || a.is_private() || carrier || o == [192, 0, 0, 192]
            }
            IpAddr::V6(a) => {
                let start = a.segments()[0];
                start & 0xFFC0 == 0xFE80 || start & 0xFFC0 == 0xFEC0 || start >> 8 == 0xFD
            }
        }
}

fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::HttpRules;

    fn permits(rules: &HttpRules, host: &str, address: &str) -> bool {
        rules.permit(host, address.parse().unwrap())
    }

    #[test]
    fn the_default_denies_private_addresses_whatever_their_name_is() {
        let rules = HttpRules::deny_private();
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.0.1",
            "100.64.0.1",
            "192.0.0.192",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd12::1",
            "ff02::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(!permits(&rules, "public.example", address), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606::1"] {
            assert!(permits(&rules, "public.example", address), "{address}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = HttpRules::deny_private()
            .first("127.0.0.0/8", true)
            .unwrap();
        assert!(permits(&rules, "localhost", "127.0.0.1") && !permits(&rules, "localhost", "::1"));
        let rules = HttpRules::allow_all()
            .first("*.Example.com", false)
            .unwrap();
        assert!(
            !permits(&rules, "a.example.COM", "1.1.1.1")
                && permits(&rules, "example.com", "1.1.1.1")
        );
        let odd = HttpRules::allow_all().first("10.0.0.0/9", false).unwrap();
        assert!(!permits(&odd, "x", "10.127.0.1") && permits(&odd, "x", "10.128.0.1"));
        for wrong in ["", "a b", "1.1.1.1/33", "x/8"] {
            assert!(
                HttpRules::allow_all().first(wrong, true).is_err(),
                "{wrong}"
            );
        }
    }
}
