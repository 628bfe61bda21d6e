//! Digests: what is remembered of a secret or a body, so that it can be known again and not be read.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256. Secrets enter the kernel as digests only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Returns the digest that is written as `bytes`.
    pub const fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the digest that is written as `text`, in hexadecimal with small letters.
    pub fn from_hex(text: &str) -> Option<Digest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let &[high, low] = pair else { return None };
            *byte = digit(high)? << 4 | digit(low)?;
        }
        Some(Digest(bytes))
    }

    /// Returns it in hexadecimal.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Shows enough to tell two apart, and too little to look one up by.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{d:02x}…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_sha_256_of_what_it_is_of() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.as_bytes()[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert!(digest.hex().starts_with("ba7816bf") && digest.hex().len() == 64);
        assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
        assert_ne!(Digest::of(b"abd"), digest);
    }

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        let digest = Digest::of(b"abc");
        assert_eq!(Digest::from_hex(&digest.hex()), Some(digest));
        let long = format!("{}0", digest.hex());
        let capital = digest.hex().to_uppercase();
        let other = digest.hex().replace('a', "g");
        for text in ["", "ba", &long, &capital, &other, &"ä".repeat(32)] {
            assert_eq!(Digest::from_hex(text), None, "{text}");
        }
    }

    #[test]
    fn a_digest_that_is_shown_tells_its_first_bytes_only() {
        assert_eq!(format!("{:?}", Digest::of(b"abc")), "ba7816bf…");
        assert_eq!(format!("{:?}", Digest::from_bytes([7; 32])), "07070707…");
    }
}
