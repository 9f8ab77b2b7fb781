//! The operator's key: whoever can read the data folder may show it, and only who shows it can consent to what a kind's
//! policy asks about. A computer cannot read it, though it may well reach this address.

/// The key's hash, which is compared in constant time.
#[derive(Debug, Clone)]
pub struct OperatorKey(blake3::Hash);

impl OperatorKey {
    /// None for a text that is too short to be a secret.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (key.len() >= 32).then(|| OperatorKey(blake3::hash(key.as_bytes())))
    }

    /// Whether this is the key.
    pub(super) fn is(&self, shown: &str) -> bool {
        blake3::hash(shown.trim().as_bytes()) == self.0
    }

    /// A word for the key in what is kept: another key has another one.
    pub(super) fn id(&self) -> String {
        let twice = blake3::hash(self.0.as_bytes()).to_hex();
        format!("key_{}", &twice[..12])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_is_the_key_and_a_short_one_is_none() {
        let key = "0123456789abcdef0123456789abcdef";
        let operator = OperatorKey::new(key).unwrap();
        assert!(operator.is(key) && operator.is(&format!(" {key}\n")));
        for wrong in ["", "x", &key[1..]] {
            assert!(!operator.is(wrong), "{wrong}");
        }
        assert!(OperatorKey::new("short").is_none());
        let other = OperatorKey::new(&key.replace('0', "1")).unwrap();
        assert_ne!(operator.id(), other.id());
        assert!(!operator.id().contains(key));
    }
}
