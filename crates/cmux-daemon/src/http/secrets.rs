//! Secrets that cmux makes up: said once, to whoever is meant to have them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::http::problem::Oops;

/// Returns a new secret of 256 bits that begins with `prefix`. Without chance there is none.
pub(crate) fn secret(prefix: &str) -> Result<String, Oops> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Oops::internal("no-chance", &error))?;
    Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_secrets_are_alike_and_each_fits_into_a_url() {
        let (one, other) = (secret("x_").unwrap(), secret("x_").unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), "x_".len() + 43);
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }
}
