//! Numbers as providers write them, read without losing a digit.

/// Digits that every double keeps, and the most its shortest spelling has.
const ALWAYS_KEPT: usize = 15;
const EVER_KEPT: usize = 17;

/// A whole number of 64 bits; thousands may be grouped by commas, all of them or none.
pub fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = signed(text);
    if let Some(value) = short(digits) {
        return Some(if sign == Sign::Minus { -value } else { value });
    }
    let mut value: i64 = 0;
    for byte in ungrouped(digits)? {
        value = value.checked_mul(10)?;
        let digit = i64::from(byte - b'0');
        // Counted on the side of the sign, because the lowest integer has no positive twin.
        value = if sign == Sign::Minus { value.checked_sub(digit)? } else { value.checked_add(digit)? };
    }
    Some(value)
}

/// A number that survives a double unchanged: its shortest spelling as a double has the same digits.
///
/// An exponent is taken as a number, never as zeros to write out.
pub fn decimal(text: &str) -> Option<f64> {
    let (sign, unsigned) = signed(text);
    if let Some(value) = short_decimal(unsigned) {
        return Some(if sign == Sign::Minus && value != 0.0 { -value } else { value });
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], exponent(&unsigned[at + 1..])?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ungrouped_whole;
    let (whole, plain) = if whole.contains(',') {
        ungrouped(whole).map(drop)?;
        ungrouped_whole = unsigned.replace(',', "");
        let len = whole.len() - whole.matches(',').count();
        (&ungrouped_whole[..len], ungrouped_whole.as_str())
    } else {
        (whole, unsigned)
    };
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let written = Digits::of(whole, fraction, exponent);
    if written.len == 0 {
        return Some(0.0);
    }
    if written.len > EVER_KEPT {
        return None;
    }
    let double: f64 = plain.parse().ok()?;
    let is_kept =
        (double.is_normal() && written.len <= ALWAYS_KEPT) || (double.is_finite() && Digits::of_double(double) == written);
    is_kept.then_some(if sign == Sign::Minus { -double } else { double })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

fn signed(text: &str) -> (Sign, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (Sign::Minus, &text[1..]),
        Some(b'+') => (Sign::Plus, &text[1..]),
        _ => (Sign::Plus, text),
    }
}

/// Digits alone, and few enough that nothing can overflow or be rounded: what nearly every number is.
fn short(digits: &str) -> Option<i64> {
    let is_short = (1..=ALWAYS_KEPT).contains(&digits.len());
    let add = |value: i64, byte: u8| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'));
    if is_short { digits.bytes().try_fold(0, add) } else { None }
}

/// As [`short`], with a point. Both parts are whole numbers that a double holds, so their quotient is the nearest double.
fn short_decimal(unsigned: &str) -> Option<f64> {
    let Some((whole, fraction)) = unsigned.split_once('.') else { return short(unsigned).map(|value| value as f64) };
    if whole.len() + fraction.len() > ALWAYS_KEPT {
        return None;
    }
    let power = 10_i64.pow(fraction.len() as u32);
    let value = short(whole)? * power + short(fraction)?;
    Some(value as f64 / power as f64)
}

/// The digits without their commas: `1,000` but not `1,00`, `10,00,000` or `,100`.
fn ungrouped(text: &str) -> Option<impl Iterator<Item = u8> + '_> {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = match text.split_once(',') {
        None => is_digits(text),
        Some((first, rest)) => {
            first.len() <= 3 && is_digits(first) && rest.split(',').all(|group| group.len() == 3 && is_digits(group))
        }
    };
    is_number.then(|| text.bytes().filter(|byte| *byte != b','))
}

/// Larger exponents than any double has are cut, which leaves them too large.
fn exponent(text: &str) -> Option<i32> {
    let (sign, digits) = signed(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size: i32 = digits.parse().unwrap_or(i32::MAX).min(100_000);
    Some(if sign == Sign::Minus { -size } else { size })
}

/// Significant digits and where the point stands: equal for equal numbers, however written.
#[derive(PartialEq, Eq)]
struct Digits {
    kept: [u8; EVER_KEPT],
    /// May be above [`EVER_KEPT`]; then `kept` holds the first ones.
    len: usize,
    /// Power of ten of the first digit.
    power: i64,
}

impl Digits {
    fn of(whole: &str, fraction: &str, exponent: i32) -> Self {
        let digits = || whole.bytes().chain(fraction.bytes());
        let all = whole.len() + fraction.len();
        let leading = digits().take_while(|digit| *digit == b'0').count();
        if leading == all {
            return Self { kept: [0; EVER_KEPT], len: 0, power: 0 };
        }
        let trailing = digits().rev().take_while(|digit| *digit == b'0').count();
        let len = all - leading - trailing;
        let mut kept = [0; EVER_KEPT];
        for (kept, digit) in kept.iter_mut().zip(digits().skip(leading).take(len)) {
            *kept = digit;
        }
        Self { kept, len, power: whole.len() as i64 - 1 - leading as i64 + i64::from(exponent) }
    }

    fn of_double(double: f64) -> Self {
        let spelling = format!("{double:e}");
        let (mantissa, exponent) = spelling.split_once('e').expect("the spelling has an exponent");
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Self::of(whole, fraction, exponent.parse().expect("the exponent of a double is a small number"))
    }
}
