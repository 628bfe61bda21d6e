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
    fn a_digest_that_is_shown_tells_its_first_bytes_only() {
        assert_eq!(format!("{:?}", Digest::of(b"abc")), "ba7816bf…");
        assert_eq!(format!("{:?}", Digest::from_bytes([7; 32])), "07070707…");
    }
}
