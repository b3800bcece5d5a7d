//! Numbers as text, without the formatting machinery: a benchmark asks the portal for millions of cells.

/// Appends a number, filled with zeros on the left to `width` digits.
pub(super) fn push_number(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

/// Appends a number with its thousands set apart by commas.
pub(super) fn push_grouped(out: &mut Vec<u8>, number: u64) {
    if number < 1000 {
        push_number(out, number, 1);
    } else {
        push_grouped(out, number / 1000);
        out.push(b',');
        push_number(out, number % 1000, 3);
    }
}

/// Appends ten-thousandths as a decimal without needless zeros: `849300` is `84.93`, `600000` is `60`.
pub(super) fn push_decimal(out: &mut Vec<u8>, ten_thousandths: u64) {
    push_number(out, ten_thousandths / 10_000, 1);
    let mut fraction = ten_thousandths % 10_000;
    if fraction != 0 {
        let mut width = 4;
        while fraction.is_multiple_of(10) {
            fraction /= 10;
            width -= 1;
        }
        out.push(b'.');
        push_number(out, fraction, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_portal_writes_them() {
        assert_eq!(text(|out| push_number(out, 0, 1)), "0");
        assert_eq!(text(|out| push_number(out, 7, 3)), "007");
        assert_eq!(text(|out| push_number(out, 1234, 2)), "1234");
        assert_eq!(text(|out| push_grouped(out, 999)), "999");
        assert_eq!(text(|out| push_grouped(out, 1_050)), "1,050");
        assert_eq!(text(|out| push_grouped(out, 1_000_001)), "1,000,001");
        assert_eq!(text(|out| push_decimal(out, 849_300)), "84.93");
        assert_eq!(text(|out| push_decimal(out, 600_000)), "60");
        assert_eq!(text(|out| push_decimal(out, 600_050)), "60.005");
    }
}
