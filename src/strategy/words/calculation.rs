//! What a calculation comes to, as a small model writes one down: it takes the right numbers and adds them up wrongly.

/// The longest calculation that is worked out, in bytes, and the deepest brackets of one.
const MOST_BYTES: usize = 400;
const DEEPEST: usize = 20;

/// The result of a text that is nothing but numbers, signs and brackets, as it is written; none for any other text, and where there is no
/// number as its result.
pub(in crate::strategy) fn worked_out(text: &str) -> Option<String> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let mut rest = Rest(text.trim());
    let value = rest.sum(0)?;
    if !rest.0.trim_start().is_empty() || !value.is_finite() {
        return None;
    }
    // What cannot be written exactly in twos is no part of the result.
    let value = match value.fract() == 0.0 || value.abs() > 1e6 {
        true => value,
        false => (value * 1e9).round() / 1e9,
    };
    Some((value + 0.0).to_string())
}

/// Lines of a name and a whole number each, with the sum of all others in the last one; none where they are not such lines, or it is that already.
pub(in crate::strategy) fn with_total(lines: &str) -> Option<String> {
    let parts = lines.trim_end().lines().map(|line| {
        let (name, number) = line.rsplit_once(' ')?;
        Some((name, number.parse::<i64>().ok()?))
    });
    let parts: Vec<(&str, i64)> = parts.collect::<Option<_>>()?;
    let ((name, told), others) = parts.split_last()?;
    let numbers = others.iter().map(|(_, number)| *number);
    let sum = numbers
        .reduce(i64::saturating_add)
        .filter(|_| others.len() > 1)?;
    let others: String = others
        .iter()
        .map(|(name, number)| format!("{name} {number}\n"))
        .collect();
    (sum != *told).then(|| format!("{others}{name} {sum}\n"))
}

/// Lines of which some end in a calculation behind a name, with its result in its place: "bread 12 * 2", "cake 5 * 15 = 75"; none where no line does.
pub(in crate::strategy) fn lines_worked_out(lines: &str) -> Option<String> {
    const SIGNS: [&str; 4] = ["*", " + ", " - ", " / "];
    let result = |line: &str| {
        let (told, _) = line.rsplit_once('=').unwrap_or((line, ""));
        let end = told.rfind(|c: char| c.is_alphabetic() || c == ':')?;
        let begin = end + told[end..].chars().next()?.len_utf8();
        let (name, calculation) = told.split_at(begin);
        // A date has no spaces, and a list's dash is no sign of a number.
        let begins = calculation
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit() || c == '(');
        let has_sign = SIGNS.iter().any(|sign| calculation.contains(sign));
        let is_one = calculation.starts_with(' ') && begins && has_sign;
        let value = worked_out(calculation).filter(|_| is_one)?;
        Some(format!("{name} {value}"))
    };
    let mut is_any = false;
    let mut worked = |line: &str| {
        let result = result(line);
        is_any |= result.is_some();
        format!("{}\n", result.as_deref().unwrap_or(line))
    };
    let all: String = lines.lines().map(&mut worked).collect();
    is_any.then_some(all)
}

/// What is still to be read.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    fn sum(&mut self, depth: usize) -> Option<f64> {
        let mut value = self.product(depth)?;
        while let Some(sign) = self.sign(&['+', '-']) {
            let next = self.product(depth)?;
            value += if sign == '+' { next } else { -next };
        }
        Some(value)
    }

    fn product(&mut self, depth: usize) -> Option<f64> {
        let mut value = self.number(depth)?;
        while let Some(sign) = self.sign(&['*', '/']) {
            let next = self.number(depth)?;
            value = if sign == '*' {
                value * next
            } else {
                value / next
            };
        }
        Some(value)
    }

    fn number(&mut self, depth: usize) -> Option<f64> {
        if depth > DEEPEST {
            return None;
        }
        if self.sign(&['-']).is_some() {
            return self.number(depth + 1).map(|value| -value);
        }
        if self.sign(&['(']).is_some() {
            let value = self.sum(depth + 1)?;
            return self.sign(&[')']).map(|_| value);
        }
        let text = self.0.trim_start();
        let is_of_it = |c: char| c.is_ascii_digit() || c == '.';
        let end = text.find(|c| !is_of_it(c)).unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        self.0 = rest;
        number.parse().ok()
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let text = self.0.trim_start();
        let sign = text.chars().next().filter(|sign| signs.contains(sign))?;
        self.0 = &text[sign.len_utf8()..];
        Some(sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_lines_is_the_sum_of_the_others() {
        let right = "anna 6\nben 4\ncleo 9\nall 19\n";
        assert_eq!(
            with_total("anna 6\nben 4\ncleo 9\nall 21\n").as_deref(),
            Some(right)
        );
        for other in [
            right,
            "anna 6\nall 7\n",
            "anna 6\nben\nall 7\n",
            "6\n4\n9\n",
            "",
        ] {
            assert_eq!(with_total(other), None, "{other}");
        }
    }

    #[test]
    fn a_calculation_behind_a_name_is_worked_out_in_its_line() {
        assert_eq!(
            lines_worked_out("bread 12 * 2\ntorch 64\ncake: 5*15 = 70\ntotal (24 + 64)").as_deref(),
            Some("bread 24\ntorch 64\ncake: 75\ntotal 88\n")
        );
        for other in [
            "Anna 2024-05-01",
            "Anna 3/4",
            "door - 1",
            "a * b",
            "12 * 2",
            "",
        ] {
            assert_eq!(lines_worked_out(other), None, "{other}");
        }
    }

    use proptest::prelude::*;

    #[test]
    fn a_calculation_comes_to_its_result() {
        for (text, result) in [
            ("12 + 70 + 64", "146"),
            ("12+\n70", "82"),
            ("3 * 4 + 2 * (5 - 1)", "20"),
            ("0.1 + 0.2", "0.3"),
            ("7 / 2", "3.5"),
            ("-3 - -4", "1"),
            ("146", "146"),
            ("3 - 3 * 1", "0"),
            ("123456789012.5 * 2", "246913578025"),
        ] {
            assert_eq!(worked_out(text).as_deref(), Some(result), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_calculation() {
        for text in [
            "",
            "1 / 0",
            "12 apples",
            "+",
            "(1",
            "1)",
            "1 2",
            "1..2",
            "a + b",
            "∞",
        ] {
            assert_eq!(worked_out(text), None, "{text}");
        }
        assert_eq!(worked_out(&"(".repeat(200)), None);
        assert_eq!(worked_out(&"1+".repeat(300)), None);
    }

    proptest! {
        #[test]
        fn sums_are_right_and_no_text_panics(numbers in proptest::collection::vec(-9_999_999_999i64..9_999_999_999, 1..12), noise in "[-+*/(). 0-9]{0,40}") {
            let text: Vec<String> = numbers.iter().map(i64::to_string).collect();
            let sum: i64 = numbers.iter().sum();
            prop_assert_eq!(worked_out(&text.join(" + ")), Some(sum.to_string()));
            let _ = worked_out(&noise);
        }
    }
}
