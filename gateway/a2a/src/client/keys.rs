//! Public keys that signatures can be checked with. A verification says the same of a key that is none as of a signature that does not fit.

use std::{ops::RangeInclusive, sync::LazyLock};

use num_bigint::BigUint;
use ring::{
    agreement::{self, EphemeralPrivateKey},
    rand::SystemRandom,
    signature::ED25519_PUBLIC_KEY_LEN,
};

/// The sizes of a modulus of RSA that are taken, in bytes.
const RSA_BYTES: RangeInclusive<usize> = 256..=1024;

/// The exponents of RSA that are taken.
const RSA_EXPONENTS: RangeInclusive<u64> = 3..=(1 << 33) - 1;

/// The prime of Curve25519, 2²⁵⁵ − 19.
static P: LazyLock<BigUint> = LazyLock::new(|| (BigUint::from(1_u8) << 255) - 19_u8);

/// True if this is a point of the curve. A key agreement says so, whose secret is thrown away.
pub(super) fn is_point(curve: &'static agreement::Algorithm, point: &[u8]) -> bool {
    let secret = EphemeralPrivateKey::generate(curve, &SystemRandom::new());
    let point = agreement::UnparsedPublicKey::new(curve, point);
    secret.is_ok_and(|secret| agreement::agree_ephemeral(secret, &point, |_| ()).is_ok())
}

/// True if this is a point of the curve of Ed25519, as RFC 8032 §5.1.3 decodes it: the y coordinate, whose highest bit is the sign of x.
pub(super) fn is_ed25519(public: &[u8]) -> bool {
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
pub(super) fn is_rsa(n: &[u8], e: &[u8]) -> bool {
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

    use super::*;

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
