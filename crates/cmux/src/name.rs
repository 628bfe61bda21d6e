//! Names for new things: nobody else has them.

use ulid::Ulid;

/// Returns a ULID of `millis`. Without chance, the process tells two of the same time apart.
pub(crate) fn ulid(millis: i64) -> Ulid {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        bytes[..4].copy_from_slice(&std::process::id().to_be_bytes());
    }
    Ulid::from_parts(u64::try_from(millis).unwrap_or(0), u128::from_be_bytes(bytes))
}
