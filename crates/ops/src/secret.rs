//! Secrets: tokens, sessions and passwords. Only hashes are stored.

use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};

/// The prefix of a personal access token.
pub const TOKEN_PREFIX: &str = "mcp_pat_";
/// The prefix of a session's secret.
pub const SESSION_PREFIX: &str = "spexus_session_";
/// How much of a token lists show.
pub const VISIBLE: usize = TOKEN_PREFIX.len() + 4;

/// A new secret: the prefix and 32 random bytes.
pub fn generate(prefix: &str) -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::InternalError, format!("no random bytes: {error}")))?;
    Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// The hash under which a secret of 32 random bytes is stored. It may be fast, because such a secret cannot be guessed.
pub fn hash(secret: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hash = String::with_capacity(64);
    for byte in Sha256::digest(secret.as_bytes()) {
        hash.push(DIGITS[usize::from(byte >> 4)].into());
        hash.push(DIGITS[usize::from(byte & 15)].into());
    }
    hash
}

/// Whether a text contains something like one of our tokens.
pub fn holds_token(text: &str) -> bool {
    [TOKEN_PREFIX, SESSION_PREFIX].iter().any(|prefix| {
        text.match_indices(prefix).any(|(start, _)| {
            let rest = &text.as_bytes()[start + prefix.len()..];
            rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)).count() >= 20
        })
    })
}

/// The hash under which a password is stored: slow, salted, argon2id.
pub fn hash_password(password: &str) -> Result<String> {
    let hash = Argon2::default().hash_password(password.as_bytes()).map_err(|error| {
        Error::new(ErrorKind::InternalError, format!("the password cannot be hashed: {error}"))
    })?;
    Ok(hash.to_string())
}

/// Whether a password matches a hash. Takes equally long without a hash, to hide which users exist.
pub fn verify_password(password: &str, hash: Option<&str>) -> bool {
    let Some(hash) = hash else {
        let _ = Argon2::default().hash_password_into(password.as_bytes(), b"nobody's salt", &mut [0; 32]);
        return false;
    };
    PasswordHash::new(hash)
        .is_ok_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
}

/// Whether a hash was made with outdated parameters.
pub fn is_outdated(hash: &str) -> bool {
    let current = (Algorithm::default().ident(), Some(Version::default().into()), Some(Params::default()));
    PasswordHash::new(hash).is_ok_and(|parsed| {
        (parsed.algorithm, parsed.version, Params::try_from(&parsed.params).ok()) != current
    })
}

#[cfg(test)]
mod tests {
    use super::{SESSION_PREFIX, TOKEN_PREFIX, generate, hash, hash_password, is_outdated, verify_password};

    #[test]
    fn a_token_is_its_prefix_and_43_characters() {
        let token = generate(TOKEN_PREFIX).unwrap();
        assert_eq!(token.len(), TOKEN_PREFIX.len() + 43);
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
        assert_ne!(generate(SESSION_PREFIX).unwrap(), generate(SESSION_PREFIX).unwrap());
        assert_eq!(hash("mcp_pat_").len(), 64);
    }

    #[test]
    fn passwords_are_verified() {
        let stored = hash_password("correct horse").unwrap();
        assert!(stored.starts_with("$argon2id$"));
        assert!(verify_password("correct horse", Some(&stored)));
        assert!(!verify_password("wrong horse", Some(&stored)));
        assert!(!verify_password("correct horse", None));
        assert!(!verify_password("correct horse", Some("damaged")));
    }

    #[test]
    fn hashes_of_other_parameters_are_outdated() {
        let current = hash_password("correct horse").unwrap();
        assert!(!is_outdated(&current), "{current}");
        for (from, to) in [("m=19456", "m=64"), ("t=2", "t=1"), ("v=19", "v=16"), ("argon2id", "argon2i")] {
            let other = current.replace(from, to);
            assert!(other != current && is_outdated(&other), "{other}");
        }
    }
}
