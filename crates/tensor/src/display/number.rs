//! Words for single values, all of one width.
//!
//! The digits are the fewest that identify the value among those of its dtype, so 0.1 stored as f16 prints as 0.1 and
//! not as 0.099975586; the layout rules (when to use an exponent, where to pad) are NumPy's.

use ziggurat_core::{DType, round_to};

const PRECISION: usize = 8;

/// One word per value, padded to a common width.
pub(super) fn words(dtype: DType, values: &[f64]) -> Vec<String> {
    if dtype.is_float() {
        return float_words(dtype, values);
    }
    let plain: Vec<String> = values.iter().map(|&value| whole(dtype, value)).collect();
    let width = plain.iter().map(String::len).max().unwrap_or(0);
    plain.iter().map(|word| format!("{word:>width$}")).collect()
}

fn whole(dtype: DType, value: f64) -> String {
    match (dtype.is_bool(), value != 0.0) {
        (true, true) => "True".to_owned(),
        (true, false) => "False".to_owned(),
        (false, _) => format!("{value:.0}"),
    }
}

fn float_words(dtype: DType, values: &[f64]) -> Vec<String> {
    let finite: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    let magnitudes = || {
        finite
            .iter()
            .map(|value| value.abs())
            .filter(|&value| value > 0.0)
    };
    let largest = magnitudes().fold(0.0, f64::max);
    let smallest = magnitudes().fold(f64::INFINITY, f64::min);
    let scientific =
        largest >= 1e8 || (largest > 0.0 && (smallest < 1e-4 || largest / smallest > 1000.0));
    let digits: Vec<Option<String>> = values
        .iter()
        .map(|&value| {
            value.is_finite().then(|| {
                if scientific {
                    String::new()
                } else {
                    positional(dtype, value)
                }
            })
        })
        .collect();
    let plain: Vec<String> = if scientific {
        scientific_words(dtype, values)
    } else {
        let tail = |word: &String| word.split('.').nth(1).map_or(0, str::len);
        let right = digits.iter().flatten().map(tail).max().unwrap_or(0);
        values
            .iter()
            .zip(&digits)
            .map(|(&value, word)| match word {
                Some(word) => format!("{word}{}", " ".repeat(right - tail(word))),
                None => special(value),
            })
            .collect()
    };
    let width = plain.iter().map(String::len).max().unwrap_or(0);
    plain.iter().map(|word| format!("{word:>width$}")).collect()
}

fn special(value: f64) -> String {
    match (value.is_nan(), value < 0.0) {
        (true, _) => "nan".to_owned(),
        (false, true) => "-inf".to_owned(),
        (false, false) => "inf".to_owned(),
    }
}

/// Fixed-point digits with a point and no trailing zeros: `1.`, `0.25`.
fn positional(dtype: DType, value: f64) -> String {
    let (mantissa, exponent) = shortest(dtype, value);
    let places = usize::try_from(mantissa.len() as i64 - 1 - exponent)
        .unwrap_or(0)
        .min(PRECISION);
    let mut text = if places == PRECISION || exponent < 0 {
        format!("{value:.places$}")
    } else {
        let decimal = format!(
            "{}{}e{}",
            if value.is_sign_negative() { "-" } else { "" },
            mantissa,
            exponent - (mantissa.len() as i64 - 1)
        );
        decimal.parse::<f64>().map_or_else(
            |_| format!("{value:.places$}"),
            |rounded| format!("{rounded:.places$}"),
        )
    };
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').len());
    } else {
        text.push('.');
    }
    text
}

fn scientific_words(dtype: DType, values: &[f64]) -> Vec<String> {
    let parts: Vec<Option<(String, i64)>> = values
        .iter()
        .map(|&value| value.is_finite().then(|| shortest(dtype, value)))
        .collect();
    let places = parts
        .iter()
        .flatten()
        .map(|(digits, _)| digits.len() - 1)
        .max()
        .unwrap_or(0)
        .min(PRECISION);
    values
        .iter()
        .zip(parts)
        .map(|(&value, part)| match part {
            None => special(value),
            Some((digits, exponent)) => {
                // Rounding to `places` digits may carry into the exponent, so format from the number.
                let sign = if value.is_sign_negative() { "-" } else { "" };
                let number = format!("{digits}e{}", exponent - (digits.len() as i64 - 1));
                let rounded = number.parse::<f64>().unwrap_or(value.abs());
                let text = format!("{rounded:.places$e}");
                let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
                let power: i64 = power.parse().unwrap_or(0);
                let point = if places == 0 { "." } else { "" };
                format!(
                    "{sign}{mantissa}{point}e{}{:02}",
                    if power < 0 { '-' } else { '+' },
                    power.abs()
                )
            }
        })
        .collect()
}

/// The fewest significant digits of |value| that name it among the values of its dtype, and its decimal exponent.
fn shortest(dtype: DType, value: f64) -> (String, i64) {
    let magnitude = value.abs();
    let text = match dtype {
        DType::F32 => format!("{:e}", magnitude as f32),
        _ => fewest(magnitude, |v| round_to(dtype, v)),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    (digits, exponent.parse().unwrap_or(0))
}

fn fewest(value: f64, through: impl Fn(f64) -> f64) -> String {
    (0..=PRECISION)
        .map(|places| format!("{value:.places$e}"))
        .find(|text| {
            text.parse::<f64>()
                .is_ok_and(|parsed| through(parsed) == value)
        })
        .unwrap_or_else(|| format!("{value:e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn joined(dtype: DType, values: &[f64]) -> String {
        words(dtype, values).join("|")
    }

    #[test]
    fn uses_the_digits_of_the_dtype() {
        let tenth = f64::from(0.1f32);
        assert_eq!(joined(DType::F32, &[tenth]), "0.1");
        assert_eq!(joined(DType::F16, &[f16::from_f32(0.1).to_f64()]), "0.1");
        assert_eq!(joined(DType::F32, &[f64::from(1.0f32 / 3.0)]), "0.33333334");
        assert_eq!(joined(DType::F32, &[0.0, -0.0]), " 0.|-0.");
        assert_eq!(joined(DType::F32, &[123_456.0]), "123456.");
    }

    #[test]
    fn prints_nan_and_infinities() {
        assert_eq!(
            joined(
                DType::F32,
                &[1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
            ),
            " 1.5| nan| inf|-inf"
        );
        assert_eq!(joined(DType::F32, &[f64::NAN]), "nan");
    }

    #[test]
    fn switches_to_exponents_when_magnitudes_differ() {
        assert_eq!(
            joined(DType::F32, &[1e10, f64::from(2.5e-5f32)]),
            "1.0e+10|2.5e-05"
        );
        assert_eq!(joined(DType::F32, &[1e9]), "1.e+09");
        assert_eq!(
            joined(DType::F32, &[-f64::from(1e-7f32), 0.0]),
            "-1.e-07| 0.e+00"
        );
        assert_eq!(joined(DType::F32, &[1000.0, 1.0]), "1000.|   1.");
    }

    #[test]
    fn prints_integers_and_bools() {
        assert_eq!(joined(DType::I8, &[-128.0, 127.0]), "-128| 127");
        assert_eq!(joined(DType::U32, &[4_294_967_295.0]), "4294967295");
        assert_eq!(joined(DType::Bool, &[0.0, 1.0]), "False| True");
    }
}
