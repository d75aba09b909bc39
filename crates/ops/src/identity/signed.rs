//! Parses a signed token (JWS, compact) and verifies its signature.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::refused;
use crate::error::Result;

/// A token whose signature is not verified yet.
pub struct Signed<'a> {
    header: Header,
    payload: Vec<u8>,
    signature: Vec<u8>,
    /// The signed parts.
    message: &'a str,
    algorithm: Algorithm,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: String,
    /// Extensions that a reader must support. We support none, so such a token is rejected.
    crit: Option<Value>,
}

/// The accepted algorithms. With a shared secret or none, anybody could sign.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Es256,
}

impl Algorithm {
    const fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
        }
    }
}

/// The public key of an issuer, as far as needed here.
#[derive(Deserialize)]
struct Key {
    kty: String,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl<'a> Signed<'a> {
    /// Parses a token.
    pub fn parse(text: &'a str) -> Result<Signed<'a>> {
        let malformed =
            || refused("the identity token is malformed: expected a JWT, three parts with dots between them");
        let (message, signature) = text.rsplit_once('.').ok_or_else(malformed)?;
        let (header, payload) = message.split_once('.').ok_or_else(malformed)?;
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed());
        let (payload, signature) = (decoded(payload)?, decoded(signature)?);
        let header: Header = serde_json::from_slice(&decoded(header)?).map_err(|_| malformed())?;
        let algorithm = [Algorithm::Rs256, Algorithm::Es256].into_iter().find(|one| one.name() == header.alg);
        let Some(algorithm) = algorithm else {
            let found = crate::shortened(&header.alg);
            return Err(refused(format!(
                "the identity token is signed with {found:?}: expected RS256 or ES256"
            )));
        };
        if header.crit.is_some() {
            return Err(refused("the identity token has critical extensions, and none is supported"));
        }
        if header.kid.is_empty() {
            return Err(refused("the identity token does not say which key it is signed with (kid)"));
        }
        Ok(Signed { header, payload, signature, message, algorithm })
    }

    /// The payload. Untrusted before [`Signed::verify`].
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The id of the key.
    pub fn key_id(&self) -> &str {
        &self.header.kid
    }

    /// Verifies the signature.
    pub fn verify(&self, key: &Value) -> Result<()> {
        let algorithm = self.algorithm.name();
        let unfit = || {
            refused(format!(
                "the issuer's key {:?} is not one for {algorithm}",
                crate::shortened(self.key_id())
            ))
        };
        let key = Key::deserialize(key).map_err(|_| unfit())?;
        let is_for = |field: &Option<String>, name: &str| field.as_deref().is_none_or(|found| found == name);
        if !is_for(&key.alg, algorithm) || !is_for(&key.usage, "sig") {
            return Err(unfit());
        }
        let part = |part: &Option<String>| {
            part.as_ref().and_then(|part| URL_SAFE_NO_PAD.decode(part).ok()).ok_or_else(unfit)
        };
        let message = self.message.as_bytes();
        let verified = match self.algorithm {
            Algorithm::Rs256 if key.kty == "RSA" => {
                RsaPublicKeyComponents { n: part(&key.n)?, e: part(&key.e)? }.verify(
                    &RSA_PKCS1_2048_8192_SHA256,
                    message,
                    &self.signature,
                )
            }
            Algorithm::Es256 if key.kty == "EC" && key.crv.as_deref() == Some("P-256") => {
                let point = [vec![UNCOMPRESSED_POINT], part(&key.x)?, part(&key.y)?].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, &self.signature)
            }
            _ => return Err(unfit()),
        };
        verified.map_err(|_| refused("the signature of the identity token is wrong"))
    }
}

/// The first byte of an uncompressed point on a curve.
const UNCOMPRESSED_POINT: u8 = 4;
