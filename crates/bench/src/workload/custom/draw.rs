//! How the parameters of requests are drawn.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use plimsoll_engine::Value;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng as _;

use plimsoll_load::keys::{D1, Keys, Pieces, Zipf, below};

/// A whole number as a definition says it: a sum of products of numbers and variables, such as `100000 * scale + 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(Vec<Vec<Factor>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Factor {
    Number(i64),
    Variable(String),
}

impl Number {
    /// A plain number.
    pub fn plain(number: i64) -> Self {
        Self(vec![vec![Factor::Number(number)]])
    }

    /// Reads a sum of products.
    ///
    /// # Errors
    /// A sentence if it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let factor = |word: &str| match word.trim() {
            name if is_variable(name) => Some(Factor::Variable(name.to_owned())),
            number => number.replace('_', "").parse().ok().map(Factor::Number),
        };
        let product = |part: &str| part.split('*').map(factor).collect::<Option<Vec<_>>>();
        let terms = text.split('+').map(product).collect::<Option<Vec<_>>>();
        terms.map(Self).ok_or_else(|| {
            format!("'{text}' is no sum of products of whole numbers and variables, such as \"100000 * scale + 1\"")
        })
    }

    /// Names of the variables in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().filter_map(|factor| match factor {
            Factor::Variable(name) => Some(name.as_str()),
            Factor::Number(_) => None,
        })
    }

    /// Its value.
    ///
    /// # Errors
    /// A sentence if it has more than 64 bits.
    pub fn value(&self, variables: &BTreeMap<String, u64>) -> Result<i64, String> {
        let factor = |factor: &Factor| match factor {
            Factor::Number(number) => Some(*number),
            Factor::Variable(name) => i64::try_from(*variables.get(name)?).ok(),
        };
        let product =
            |factors: &Vec<Factor>| factors.iter().map(factor).try_fold(1_i64, |value, next| value.checked_mul(next?));
        let sum = self.0.iter().map(product).try_fold(0_i64, |value, next| value.checked_add(next?));
        sum.ok_or_else(|| "a number of the definition has more than 64 bits".to_owned())
    }
}

/// True for a word that may name a variable, as far as letters go.
pub fn is_variable(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_part)
}

/// A value that a definition names.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bit(bool),
    /// A text.
    Text(String),
}

impl Literal {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Integer(number) => Value::BigInt(*number),
            Self::Float(number) => Value::Float(*number),
            Self::Bit(bit) => Value::Bit(*bit),
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// How a parameter is drawn, as a definition says it.
#[derive(Debug, Clone, PartialEq)]
pub enum Draw {
    /// Whole numbers of a range, all alike.
    Uniform(Number, Number),
    /// The same, the higher the more often, by Zipf's law with this exponent.
    Zipf(Number, Number, f64),
    /// The same, 80 % of them from the highest twentieth (D1 of the reference).
    Newest(Number, Number),
    /// One of these, all alike.
    Choice(Vec<Literal>),
    /// One of the values that a column has, from a sample of its rows.
    Column {
        /// The table, with its schema where it needs one.
        table: String,
        /// The column.
        column: String,
    },
    /// A text of letters and digits of this length.
    Text(usize),
    /// A text in which `#` stands for a digit and `@` for a letter.
    Pattern(String),
    /// Whole numbers one after the other from this on, shared by all sessions.
    Sequence(Number),
    /// Another parameter and so much more.
    Plus(String, Number),
}

/// The keys by which a definition names them, with a sentence for the documentation.
pub const DRAWS: &[(&str, &str)] = &[
    ("uniform", "[low, high]: whole numbers, all equally likely. Ends may be texts such as \"100000 * scale\"."),
    ("zipf", "[low, high] and theta: Zipf's law with that exponent (0.99). High numbers are the most frequent."),
    ("newest", "[low, high]: 80 % of the draws come from the highest 5 % of the range."),
    ("choice", "A list of numbers or texts, all equally likely."),
    ("column", "\"table.column\": values of the column, from a sample of its rows at the start."),
    ("text", "Length of a text of random letters and digits."),
    ("pattern", "A text in which # stands for a random digit and @ for a random letter."),
    ("sequence", "First number of a rising sequence that all sessions share."),
    ("plus", "[\"other\", 99]: the value of another parameter plus this number."),
];

/// A parameter's values, ready to be drawn.
#[derive(Debug)]
pub(crate) enum Source {
    /// Whole numbers from `from` on, so many.
    Keys {
        keys: Keys,
        from: i64,
        count: u64,
    },
    Choice(Vec<Literal>),
    Text(usize),
    Pattern(String),
    Sequence(AtomicI64),
    /// Another parameter, by its position, and so much more.
    Plus(usize, i64),
}

/// A drawn value; texts that were made lie in the session's buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Value(Value<'a>),
    /// A part of the buffer.
    Text(usize, usize),
}

impl Source {
    /// Values as a definition wants them. `names` are the parameters of the request; samples of columns are given.
    ///
    /// # Errors
    /// A sentence if a range is empty or a number too large.
    pub fn new(
        draw: &Draw,
        names: &[&str],
        variables: &BTreeMap<String, u64>,
        sample: impl FnOnce(&str, &str) -> Result<Vec<Literal>, String>,
    ) -> Result<Self, String> {
        let range = |low: &Number, high: &Number, keys: Keys| {
            let (from, to) = (low.value(variables)?, high.value(variables)?);
            let count = i128::from(to) - i128::from(from) + 1;
            match u64::try_from(count) {
                Ok(count) if count > 0 => Ok(Self::Keys { keys, from, count }),
                _ => Err(format!("the range from {from} to {to} is empty or too large")),
            }
        };
        match draw {
            Draw::Uniform(low, high) => range(low, high, Keys::Uniform),
            Draw::Zipf(low, high, theta) => range(low, high, Keys::Zipf(Zipf::new(*theta)?)),
            Draw::Newest(low, high) => range(low, high, Keys::Table(Pieces::new(&D1)?)),
            Draw::Choice(literals) => Ok(Self::Choice(literals.clone())),
            Draw::Column { table, column } => match sample(table, column)? {
                values if values.is_empty() => Err(format!("{table}.{column} has no values to choose from")),
                values => Ok(Self::Choice(values)),
            },
            Draw::Text(length) => Ok(Self::Text(*length)),
            Draw::Pattern(pattern) => Ok(Self::Pattern(pattern.clone())),
            Draw::Sequence(start) => Ok(Self::Sequence(AtomicI64::new(start.value(variables)?))),
            Draw::Plus(other, more) => {
                let position = names.iter().position(|name| name == other).unwrap_or(0);
                Ok(Self::Plus(position, more.value(variables)?))
            }
        }
    }

    /// Draws a value. Texts go to the end of `buffer`; `drawn` are the request's other parameters.
    ///
    /// # Errors
    /// A sentence if a sequence or a sum has come to the end of the numbers.
    pub fn draw<'a>(
        &'a self,
        random: &mut Xoshiro256PlusPlus,
        buffer: &mut String,
        drawn: &[Cell<'a>],
    ) -> Result<Cell<'a>, String> {
        Ok(Cell::Value(match self {
            Self::Keys { keys, from, count } => {
                Value::BigInt(from.wrapping_add((keys.draw(*count, random) - 1) as i64))
            }
            Self::Choice(literals) => literals[below(random, literals.len() as u64) as usize].value(),
            Self::Sequence(next) => {
                // The last number stays for the sessions that come after it.
                let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(1));
                Value::BigInt(taken.map_err(|last| format!("its sequence has come to the highest number, {last}"))?)
            }
            Self::Plus(other, more) => match drawn[*other] {
                Cell::Value(Value::BigInt(value)) => {
                    let sum = value.checked_add(*more);
                    Value::BigInt(sum.ok_or_else(|| format!("{value} and {more} have more than 64 bits"))?)
                }
                _ => Value::Null,
            },
            Self::Text(length) => {
                let start = buffer.len();
                letters(*length, random, buffer);
                return Ok(Cell::Text(start, buffer.len()));
            }
            Self::Pattern(pattern) => {
                let start = buffer.len();
                shaped(pattern, random, buffer);
                return Ok(Cell::Text(start, buffer.len()));
            }
        }))
    }
}

/// 64 letters, so that six bits choose one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn letters(length: usize, random: &mut Xoshiro256PlusPlus, buffer: &mut String) {
    let (mut bits, mut left) = (0, 0);
    for _ in 0..length {
        if left == 0 {
            (bits, left) = (random.next_u64(), 10);
        }
        buffer.push(char::from(LETTERS[(bits & 63) as usize]));
        bits >>= 6;
        left -= 1;
    }
}

fn shaped(pattern: &str, random: &mut Xoshiro256PlusPlus, buffer: &mut String) {
    let (mut bits, mut left) = (0, 0);
    // Sixteen bits a character: their bias is below 1 in 2,000.
    let mut below = |bound: u64| {
        if left == 0 {
            (bits, left) = (random.next_u64(), 4);
        }
        let draw = ((bits & 0xffff) * bound) >> 16;
        bits >>= 16;
        left -= 1;
        draw as u8
    };
    for c in pattern.chars() {
        buffer.push(match c {
            '#' => char::from(b'0' + below(10)),
            '@' => char::from(b'a' + below(26)),
            c => c,
        });
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    const DRAWS: u32 = 100_000;

    /// Chi-square of draws in bins against their expected shares; it must not exceed its mean by six deviations.
    fn fits(draw: &Draw, bin: impl Fn(Value<'_>) -> usize, shares: &[f64]) {
        let source = source(draw);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut seen = vec![0_u32; shares.len()];
        for _ in 0..DRAWS {
            let mut buffer = String::new();
            let value = match source.draw(&mut random, &mut buffer, &[]).unwrap() {
                Cell::Value(value) => value,
                Cell::Text(start, end) => Value::Text(&buffer[start..end]),
            };
            seen[bin(value)] += 1;
        }
        let part = |(seen, share): (&u32, &f64)| {
            let wanted = share * f64::from(DRAWS);
            (f64::from(*seen) - wanted).powi(2) / wanted
        };
        let square: f64 = seen.iter().zip(shares).map(part).sum();
        let freedom = (shares.len() - 1) as f64;
        assert!(square < freedom + 6.0 * (2.0 * freedom).sqrt(), "chi-square {square} with {freedom}: {seen:?}");
    }

    fn source(draw: &Draw) -> Source {
        let variables = BTreeMap::from([("scale".to_owned(), 10)]);
        let sample = |_: &str, _: &str| Ok(vec![Literal::Integer(0), Literal::Integer(1)]);
        Source::new(draw, &["first"], &variables, sample).unwrap()
    }

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    fn integer(value: Value<'_>) -> i64 {
        let Value::BigInt(value) = value else { panic!("{value:?}") };
        value
    }

    #[test]
    fn draws_have_their_shares() {
        let tenth = [0.1; 10];
        let (low, high) = (number("-5"), number("4"));
        fits(&Draw::Uniform(low, high), |value| (integer(value) + 5) as usize, &tenth);
        let pieces = |value: Value<'_>| [50, 80, 95, 100].iter().position(|last| integer(value) <= *last).unwrap();
        fits(&Draw::Newest(number("1"), number("10 * scale")), pieces, &[0.05, 0.05, 0.10, 0.80]);
        let weights: Vec<f64> = (1..=10_i32).rev().map(|rank| f64::from(rank).powf(-0.8)).collect();
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        fits(&Draw::Zipf(number("11"), number("20"), 0.8), |value| (integer(value) - 11) as usize, &shares);
        let words = ["a", "b", "c", "d"];
        let literals = words.map(|word| Literal::Text(word.to_owned())).to_vec();
        fits(
            &Draw::Choice(literals),
            |value| words.iter().position(|word| value == Value::Text(word)).unwrap(),
            &[0.25; 4],
        );
        let column = Draw::Column { table: "t".to_owned(), column: "c".to_owned() };
        fits(&column, |value| integer(value) as usize, &[0.5; 2]);
        let digit = |place: usize| {
            move |value: Value<'_>| {
                let Value::Text(text) = value else { panic!("{value:?}") };
                assert!(text.len() == 7 && &text[2..3] == "-" && text.as_bytes()[6].is_ascii_lowercase());
                usize::from(text.as_bytes()[place] - b'0')
            }
        };
        for place in [0, 1, 3, 5] {
            fits(&Draw::Pattern("##-###@".to_owned()), digit(place), &tenth);
        }
        for place in [0, 9, 10, 24] {
            let letter = |value: Value<'_>| {
                let Value::Text(text) = value else { panic!("{value:?}") };
                assert_eq!(text.len(), 25);
                LETTERS.iter().position(|letter| *letter == text.as_bytes()[place]).unwrap()
            };
            fits(&Draw::Text(25), letter, &[1.0 / 64.0; 64]);
        }
    }

    #[test]
    fn sequences_and_sums_follow_what_they_are_of() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (sequence, sum) =
            (source(&Draw::Sequence(number("100 * scale + 1"))), source(&Draw::Plus("first".to_owned(), number("99"))));
        for expected in 1001..1010 {
            let first = sequence.draw(&mut random, &mut String::new(), &[]).unwrap();
            let Cell::Value(value) = first else { panic!("{first:?}") };
            assert_eq!(integer(value), expected);
            let second = sum.draw(&mut random, &mut String::new(), &[first]).unwrap();
            assert!(matches!(second, Cell::Value(Value::BigInt(value)) if value == expected + 99));
        }
    }

    #[test]
    fn a_sequence_and_a_sum_end_with_the_numbers() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let sequence = source(&Draw::Sequence(number("9223372036854775806")));
        let mut next = || sequence.draw(&mut random, &mut String::new(), &[]);
        assert!(matches!(next(), Ok(Cell::Value(Value::BigInt(9_223_372_036_854_775_806)))));
        for _ in 0..3 {
            assert_eq!(next().unwrap_err(), "its sequence has come to the highest number, 9223372036854775807");
        }
        let sum = source(&Draw::Plus("first".to_owned(), number("2")));
        let first = [Cell::Value(Value::BigInt(i64::MAX - 1))];
        assert!(sum.draw(&mut random, &mut String::new(), &first).is_err());
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let none = BTreeMap::new();
        for bad in ["", "a b", "1 -", "*", "A", "1.5", "99999999999999999999"] {
            assert!(Number::parse(bad).is_err(), "{bad}");
        }
        assert!(number("9223372036854775807 * 2").value(&none).is_err());
        assert!(number("9223372036854775807 + 1").value(&none).is_err());
        let empty = Draw::Uniform(number("2"), number("1"));
        assert!(Source::new(&empty, &[], &none, |_, _| Ok(Vec::new())).is_err());
        let column = Draw::Column { table: "t".to_owned(), column: "c".to_owned() };
        assert!(Source::new(&column, &[], &none, |_, _| Ok(Vec::new())).is_err());
    }
}
