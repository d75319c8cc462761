//! Exact fractions, from digits and into them.

use num_rational::Ratio;

/// Digits behind the point of a rounded result.
const ROUNDED_PLACES: u32 = 9;

/// Digits behind the point of an exact result, at most.
const EXACT_PLACES: u32 = 30;

/// A fraction. What does not fit has no result.
pub(super) type Fraction = Ratio<i128>;

/// Reads a number in digits. `None` where it may be none, as a code with a zero in front, or where its point may be one between thousands.
pub(super) fn read(text: &str) -> Option<Fraction> {
    let digits = text.strip_prefix(['-', '−']).unwrap_or(text);
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || behind.is_empty() || !is_digits(whole) || !is_digits(behind) {
        return None;
    }
    let is_padded = whole.len() > 1 && whole.starts_with('0');
    let is_of_thousands = behind.len() == 3 && whole.len() <= 3 && whole != "0";
    if is_padded || is_of_thousands {
        return None;
    }
    let places = u32::try_from(behind.len()).ok()?;
    let value: i128 = format!("{whole}{behind}").parse().ok()?;
    let sign = if digits.len() < text.len() { -1 } else { 1 };
    Some(Ratio::new(sign * value, 10_i128.checked_pow(places)?))
}

/// The number in digits; where those do not end, as a fraction, with its first digits unless it is too small for them.
pub(super) fn text(fraction: Fraction) -> String {
    if let Some(exact) = exact(fraction) {
        return exact;
    }
    match rounded(fraction) {
        Some(rounded) => format!("{fraction}, about {rounded}"),
        None => fraction.to_string(),
    }
}

fn exact(fraction: Fraction) -> Option<String> {
    let scale = |places| 10_i128.checked_pow(places);
    let is_enough = |places: &u32| scale(*places).is_some_and(|s| s % fraction.denom() == 0);
    let places = (0..=EXACT_PLACES).find(is_enough)?;
    let digits = fraction
        .numer()
        .checked_mul(scale(places)? / fraction.denom())?;
    Some(with_point(digits, places))
}

/// Rounded half away from zero; `None` if that leaves less than three digits of it.
fn rounded(fraction: Fraction) -> Option<String> {
    let scaled = fraction.numer().checked_mul(10_i128.pow(ROUNDED_PLACES))?;
    let half = fraction.denom() / 2 * scaled.signum();
    let digits = scaled.checked_add(half)? / fraction.denom();
    (digits.abs() >= 100).then(|| with_point(digits, ROUNDED_PLACES))
}

/// The digits with a point before the last `places`.
fn with_point(digits: i128, places: u32) -> String {
    let sign = if digits < 0 { "-" } else { "" };
    let width = places as usize + 1;
    let all = format!("{:0width$}", digits.unsigned_abs());
    let (whole, behind) = all.split_at(all.len() - places as usize);
    match behind {
        "" => format!("{sign}{whole}"),
        behind => format!("{sign}{whole}.{behind}"),
    }
}
