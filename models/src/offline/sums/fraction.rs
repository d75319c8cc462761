//! Exact fractions.

/// Digits behind the point of a rounded result.
const ROUNDED_PLACES: u32 = 9;

/// Digits behind the point of an exact result, at most.
const EXACT_PLACES: u32 = 30;

/// Fraction in lowest terms, with a denominator above 0. What does not fit is `None` in each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fraction {
    numerator: i128,
    denominator: i128,
}

impl Fraction {
    pub(super) const ZERO: Self = Self::whole(0);

    pub(super) const fn whole(numerator: i128) -> Self {
        Self {
            numerator,
            denominator: 1,
        }
    }

    /// Reads a number in digits. `None` where it may be none, as a code with a zero in front, or where its point may be one between thousands.
    pub(super) fn read(text: &str) -> Option<Self> {
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
        Self::of(sign * value, 10_i128.checked_pow(places)?)
    }

    /// In lowest terms; `None` for a denominator of 0.
    fn of(numerator: i128, denominator: i128) -> Option<Self> {
        let shared = i128::try_from(common(numerator.unsigned_abs(), denominator.unsigned_abs()));
        let shared = shared.ok()?.checked_mul(denominator.signum())?;
        Some(Self {
            numerator: numerator.checked_div(shared)?,
            denominator: denominator.checked_div(shared)?,
        })
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let one = self.numerator.checked_mul(other.denominator)?;
        let two = other.numerator.checked_mul(self.denominator)?;
        let denominator = self.denominator.checked_mul(other.denominator)?;
        Self::of(one.checked_add(two)?, denominator)
    }

    pub(super) fn times(self, other: Self) -> Option<Self> {
        Self::of(
            self.numerator.checked_mul(other.numerator)?,
            self.denominator.checked_mul(other.denominator)?,
        )
    }

    /// `None` if the other is 0.
    pub(super) fn over(self, other: Self) -> Option<Self> {
        Self::of(
            self.numerator.checked_mul(other.denominator)?,
            self.denominator.checked_mul(other.numerator)?,
        )
    }

    pub(super) fn negative(self) -> Option<Self> {
        let numerator = self.numerator.checked_neg()?;
        Some(Self { numerator, ..self })
    }

    /// The number in digits; where those do not end, as a fraction, with its first digits unless it is too small for them.
    pub(super) fn told(self) -> String {
        if let Some(exact) = self.exact() {
            return exact;
        }
        let fraction = format!("{}/{}", self.numerator, self.denominator);
        match self.rounded() {
            Some(rounded) => format!("{fraction}, about {rounded}"),
            None => fraction,
        }
    }

    fn exact(self) -> Option<String> {
        let scale = |places| 10_i128.checked_pow(places);
        let is_enough = |places: &u32| scale(*places).is_some_and(|s| s % self.denominator == 0);
        let places = (0..=EXACT_PLACES).find(is_enough)?;
        let digits = self
            .numerator
            .checked_mul(scale(places)? / self.denominator)?;
        Some(with_point(digits, places))
    }

    /// Rounded half away from zero; `None` if that leaves less than three digits of it.
    fn rounded(self) -> Option<String> {
        let scaled = self.numerator.checked_mul(10_i128.pow(ROUNDED_PLACES))?;
        let half = self.denominator / 2 * scaled.signum();
        let digits = scaled.checked_add(half)? / self.denominator;
        (digits.abs() >= 100).then(|| with_point(digits, ROUNDED_PLACES))
    }
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

/// The greatest common divisor.
fn common(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
