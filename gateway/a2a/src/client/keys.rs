//! Signatures, and the public keys that they can be checked with.

use std::{ops::RangeInclusive, sync::LazyLock};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use num_bigint::BigUint;
use ring::{
    agreement::{self, ECDH_P256, ECDH_P384, EphemeralPrivateKey},
    rand::SystemRandom,
    signature::{
        self, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, ED25519_PUBLIC_KEY_LEN,
        RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
    },
};
use serde_json::Value;

/// The sizes of a modulus of RSA that are taken, in bytes.
const RSA_BYTES: RangeInclusive<usize> = 256..=1024;

/// The exponents of RSA that are taken.
const RSA_EXPONENTS: RangeInclusive<u64> = 3..=(1 << 33) - 1;

/// The prime of Curve25519, 2²⁵⁵ − 19.
static P: LazyLock<BigUint> = LazyLock::new(|| (BigUint::from(1_u8) << 255) - 19_u8);

/// True if a signature is of this input, by this key.
///
/// # Errors
///
/// The algorithm is not known here, or the key is none of it, or of a size or form that is not taken.
pub(super) fn fits(
    algorithm: &str,
    key: &Value,
    input: &[u8],
    bytes: &[u8],
) -> Result<bool, String> {
    let member = |name: &str| {
        let text = key[name].as_str().and_then(decoded);
        text.ok_or_else(|| format!("the key is none of {algorithm}"))
    };
    // A verification says the same of a key that is unusable as of a signature that does not fit, so that the key is looked at first.
    let usable = |is_usable: bool| match is_usable {
        true => Ok(()),
        false => Err(format!("the key is none of {algorithm} that is taken here")),
    };
    let simple = |algorithm: &'static dyn VerificationAlgorithm, public: Vec<u8>| {
        let key = UnparsedPublicKey::new(algorithm, public);
        Ok(key.verify(input, bytes).is_ok())
    };
    let ecdsa = |algorithm, curve: &'static agreement::Algorithm| {
        // Uncompressed: 4, then both coordinates.
        let point = [vec![4], member("x")?, member("y")?].concat();
        usable(is_point(curve, &point))?;
        simple(algorithm, point)
    };
    let eddsa = || {
        let public = member("x")?;
        usable(is_ed25519(&public))?;
        simple(&ED25519, public)
    };
    let rsa = |parameters: &'static RsaParameters| {
        let (n, e) = (member("n")?, member("e")?);
        usable(is_rsa(&n, &e))?;
        let key = RsaPublicKeyComponents { n, e };
        Ok(key.verify(parameters, input, bytes).is_ok())
    };
    match (algorithm, key["kty"].as_str(), key["crv"].as_str()) {
        ("ES256", Some("EC"), Some("P-256")) => ecdsa(&ECDSA_P256_SHA256_FIXED, &ECDH_P256),
        ("ES384", Some("EC"), Some("P-384")) => ecdsa(&ECDSA_P384_SHA384_FIXED, &ECDH_P384),
        ("EdDSA", Some("OKP"), Some("Ed25519")) => eddsa(),
        ("RS256", Some("RSA"), _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
        ("RS384", Some("RSA"), _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
        ("RS512", Some("RSA"), _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
        ("PS256", Some("RSA"), _) => rsa(&signature::RSA_PSS_2048_8192_SHA256),
        ("PS384", Some("RSA"), _) => rsa(&signature::RSA_PSS_2048_8192_SHA384),
        ("PS512", Some("RSA"), _) => rsa(&signature::RSA_PSS_2048_8192_SHA512),
        (
            "ES256" | "ES384" | "EdDSA" | "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512",
            ..,
        ) => Err(format!("the key is none of {algorithm}")),
        _ => Err("its algorithm is not known here".to_owned()),
    }
}

/// Bytes in base64url; `None` if it is not.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// True if this is a point of the curve. A key agreement says so, whose secret is thrown away.
fn is_point(curve: &'static agreement::Algorithm, point: &[u8]) -> bool {
    let secret = EphemeralPrivateKey::generate(curve, &SystemRandom::new());
    let point = agreement::UnparsedPublicKey::new(curve, point);
    secret.is_ok_and(|secret| agreement::agree_ephemeral(secret, &point, |_| ()).is_ok())
}

/// True if this is a point of the curve of Ed25519, as RFC 8032 §5.1.3 decodes it: the y coordinate, whose highest bit is the sign of x.
fn is_ed25519(public: &[u8]) -> bool {
    let Ok(mut bytes) = <[u8; ED25519_PUBLIC_KEY_LEN]>::try_from(public) else {
        return false;
    };
    let is_negative = bytes[31] & 0x80 != 0;
    bytes[31] &= 0x7f;
    let y = BigUint::from_bytes_le(&bytes);
    if y >= *P {
        return false;
    }
    let one = BigUint::from(1_u8);
    let y2 = &y * &y % &*P;
    // x² = (y² − 1) / (dy² + 1) with d = −121665/121666. Its numerator times its denominator is a square when it is one, which Euler's
    // criterion says; both are multiplied by 121666, so that nothing is divided.
    let numerator = (&y2 + &*P - &one) * 121_666_u32;
    let denominator = &*P * 121_665_u32 + 121_666_u32 - &y2 * 121_665_u32;
    let square = numerator * denominator % &*P;
    let legendre = square.modpow(&((&*P - &one) >> 1), &P);
    // Where x is 0, there is none with the other sign.
    legendre == one || legendre == BigUint::ZERO && !is_negative
}

/// True if these are the modulus and the exponent of a key of RSA that has 2048 to 8192 bits.
fn is_rsa(n: &[u8], e: &[u8]) -> bool {
    let is_odd = |bytes: &[u8]| bytes.last().is_some_and(|last| last % 2 == 1);
    let starts = |bytes: &[u8]| bytes.first().is_some_and(|first| *first != 0);
    let exponent = e
        .iter()
        .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    is_odd(n)
        && starts(n)
        && RSA_BYTES.contains(&n.len())
        && is_odd(e)
        && starts(e)
        && e.len() <= 5
        && RSA_EXPONENTS.contains(&exponent)
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    /// Signatures of "input" by a key of RSA.
    const N: &str = "r0dI_pdN5aBORa751Y7GQjYymAEMWehRzsOBWNyqwRgFq6BVCwoZi-23Rxf-pWGsh1f2-g6SD8FbAcAch9yyHnzVTDh0f6tNYSWYxNq0acZnbt741CMDQdzd2sSWUE7jbv-G3Jrl9EjOhCRdvUpj0xLXSYXV8BaydnHxNrvae1diTznk4h1HeelXCIwMtUEQuhTQjveZlcLC9kBL-hufhzyb6Kc3LjQhc1aQd3vTNkMB6NmlFufOMxxvSzK7rVWbCRoifyUFsPud1f7IXTwTp4ggS49AdbWUS3vf5HMTb2prrpzSYgMo7wLJ2betsUQUbz66MDKEmsZEcwFds8hSwQ";
    const RS256: &str = "rm5Q4wY5-buXR7F8gmSykv5OI_UczXGwbMjukYxxiQN-J5aJpRGhrjNVjsoPHMiLhK13lo8GjeLMVKCtVY7MubXldKXbGq0lQBXd2SCZ6qaIaVU_WuPrPcV5g70xTfWSyGh2H0xXtDGcVQW-RYPNaDMIWni0EQP2OsdTxdnTeOiOkbB9Fi1n6g4zbF0WDugviqW010lb7xO_PfY56UbW_Cx2XVI7tkLGELy67SUu2L2YbhMXcRz3PwpgtpFu6GxG9QsvmD0wXtUlvmeaYTOqzbTyG-NLfFh0BqbU5aD0ETQPMSMqoNVVHNRBGcB7SXn0xm5D93XWL_lOmtN2Nr9yJA";
    const PS256: &str = "F_pv5Vkofdg2h4mhY-J-OwYqRm32Y0zY7nnqMnXj0YKL4iZAFXHzTdBPk3_z7cV--jD5w9LwBlFfQS7djVm0pPcPBeFZk4TvOb3OMprm4iNXE7_B7KWurjEEzystEuSRUWhUjdRPeVHJi7bIvJm_F-stVfIyvntpE8Mw8tj_mtg8Agk_Smgxl6ULRJ8Sc3ltpLKHUAbBo4IZQCHLHizYWcxZRHrkFdQDzJ_ic28e31PR-CLzcV_rTgbNQbsnrQIHhGUS466rUQ9rru3g7nLnqkBGEf2ded0DU8whPEmmvTal6jaxn5KtkC_E54Kt1Z_0M1sTkgz1kmmrHSXT477Skg";

    #[test]
    fn signatures_of_rsa_are_checked_by_their_algorithm() {
        let key = json!({"kty": "RSA", "n": N, "e": "AQAB"});
        let check = |algorithm: &str, input: &[u8], signature: &str| {
            fits(algorithm, &key, input, &decoded(signature).expect("base64"))
        };
        assert_eq!(check("RS256", b"input", RS256), Ok(true));
        assert_eq!(check("PS256", b"input", PS256), Ok(true));
        assert_eq!(check("RS256", b"output", RS256), Ok(false));
        assert_eq!(check("PS256", b"input", RS256), Ok(false));
        assert!(check("ES256", b"input", RS256).is_err());
        assert!(check("none", b"input", RS256).is_err());
        assert!(check("HS256", b"input", RS256).is_err());
    }

    /// Nothing can be said of a card by a key that is not taken: that it is another card's signature was not checked.
    #[test]
    fn a_key_that_is_not_taken_says_nothing_of_a_signature() {
        let n = decoded(N).expect("base64");
        let small = URL_SAFE_NO_PAD.encode(&n[128..]);
        let even = URL_SAFE_NO_PAD.encode([&n[..255], &[0]].concat());
        let padded = URL_SAFE_NO_PAD.encode([&[0], &n[..]].concat());
        let coordinate = URL_SAFE_NO_PAD.encode([7; 32]);
        let short = URL_SAFE_NO_PAD.encode([7; 31]);
        let rsa = |n: &str, e: &str| ("RS256", json!({"kty": "RSA", "n": n, "e": e}));
        let p256 = |x: &str, y: &str| {
            (
                "ES256",
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}),
            )
        };
        let ed25519 = |x: &str| ("EdDSA", json!({"kty": "OKP", "crv": "Ed25519", "x": x}));
        for (algorithm, key) in [
            rsa(&small, "AQAB"),
            rsa(&even, "AQAB"),
            rsa(&padded, "AQAB"),
            rsa("", "AQAB"),
            rsa(N, ""),
            rsa(N, "AQ"),
            rsa(N, "AQAA"),
            rsa(N, "AQAAAAAB"),
            p256(&coordinate, &coordinate),
            p256(&coordinate, &short),
            ed25519(&short),
            // No point of the curve: y = 2, for which x² is no square; and y = p, which is not reduced.
            ed25519(&URL_SAFE_NO_PAD.encode([&[2][..], &[0; 31]].concat())),
            ed25519(&URL_SAFE_NO_PAD.encode([&[0xed][..], &[0xff; 30], &[0x7f]].concat())),
        ] {
            let said = fits(algorithm, &key, b"input", &[0; 64]);
            let why = said.expect_err("nothing can be said");
            assert!(why.ends_with("that is taken here"), "{key}: {why}");
        }
    }

    #[test]
    fn keys_of_ed25519_are_points_of_its_curve() {
        for seed in 0..32 {
            let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a seed");
            assert!(is_ed25519(pair.public_key().as_ref()), "{seed}");
        }
        let y = |low: u8, high: u8| [&[low][..], &[0; 30], &[high]].concat();
        // Which small y are those of points is known from the equation of the curve.
        let points: Vec<u8> = (0..12).filter(|n| is_ed25519(&y(*n, 0))).collect();
        assert_eq!(points, [0, 1, 3, 4, 5, 6, 9, 10]);
        assert!(is_ed25519(&y(3, 0x80)));
        assert!(!is_ed25519(&y(1, 0x80)), "x is 0, which has no sign");
        let p = P.to_bytes_le();
        assert!(!is_ed25519(&p), "0 is to be written as 0");
        assert!(!is_ed25519(&p[..31]));
    }
}
