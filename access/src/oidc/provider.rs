//! Checks of signatures with `ring`, for `jsonwebtoken`. Nothing is signed here.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(Error::from(ErrorKind::UnsupportedAlgorithm)),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has signatures checked with `ring`. A program that has chosen something else before keeps that.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

struct Ring {
    algorithm: Algorithm,
    key: DecodingKey,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(Ring {
        algorithm: *algorithm,
        key: key.clone(),
    }))
}

impl JwtVerifier for Ring {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Ring {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
        let simple = |algorithm: &'static dyn VerificationAlgorithm| match self.key.kind() {
            DecodingKeyKind::SecretOrDer(bytes) => {
                UnparsedPublicKey::new(algorithm, bytes).verify(message, signature)
            }
            DecodingKeyKind::RsaModulusExponent { .. } => Err(ring::error::Unspecified),
        };
        let rsa = |parameters: &'static RsaParameters| match self.key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            DecodingKeyKind::SecretOrDer(_) => Err(ring::error::Unspecified),
        };
        let fits = match self.algorithm {
            ES256 => simple(&ECDSA_P256_SHA256_FIXED),
            ES384 => simple(&ECDSA_P384_SHA384_FIXED),
            EdDSA => simple(&ED25519),
            RS256 => rsa(&RSA_PKCS1_2048_8192_SHA256),
            RS384 => rsa(&RSA_PKCS1_2048_8192_SHA384),
            RS512 => rsa(&RSA_PKCS1_2048_8192_SHA512),
            PS256 => rsa(&RSA_PSS_2048_8192_SHA256),
            PS384 => rsa(&RSA_PSS_2048_8192_SHA384),
            PS512 => rsa(&RSA_PSS_2048_8192_SHA512),
            _ => Err(ring::error::Unspecified),
        };
        fits.map_err(|_| signature::Error::new())
    }
}
