//! [`Numerics`]: what an adapter makes of plain WGSL where the language promises nothing.
//!
//! No kernel depends on the answers: each rule of the contract is kept by code that asks nothing of the adapter (bits, integer
//! arithmetic, guards, own formulas). So this is a report, for people who write WGSL of their own and for those who look for the
//! cause of a difference between adapters. What kernels do use of an adapter where it has proved to be right is [`halves`].

use std::fmt;

use ziggurat_core::{DType, Shape};
use ziggurat_device::{DeviceError, once};
use ziggurat_pipeline::Grid;

use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};

pub(crate) mod halves;

params! {
    /// Parameters of the probe.
    pub(crate) struct ProbeParams {
        len: u32,
    }
}

/// The bits that the probe computes with, in the order that its shader says.
const INPUTS: [u32; 16] = [
    0x7fc0_0000,
    0x7fc0_0000,
    0x3f80_0000,
    0x0001_1111,
    0x7f61_b1e6,
    0,
    0x4020_0000,
    0x42c8_0000,
    0xc000_0000,
    0x4000_0000,
    0x3f80_0800,
    0xbf80_1000,
    7,
    0,
    0x8000_0000,
    0xffff_ffff,
];

/// How many words the probe writes.
const OUTPUTS: usize = 14;

/// Numbers between two f16, the least f16 and one beyond the greatest; and what they are as f16, rounded to even.
const HALVES: [(f32, u16); 4] = [
    (1.000_488_3, 0x3c00),
    (1.001_464_8, 0x3c02),
    (5.960_464_5e-8, 0x0001),
    (65_520.0, 0x7c00),
];

/// What an adapter makes of plain WGSL. `true` is what IEEE 754 and this project's contract ask for; ops of this project keep
/// the contract either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numerics {
    /// NaN differs from everything, and is neither below nor above anything.
    pub nan_compares: bool,
    /// `max` and `min` with NaN give NaN.
    pub nan_wins: bool,
    /// Subnormal numbers survive arithmetic.
    pub subnormals: bool,
    /// Overflow and division by 0 give infinity.
    pub infinity: bool,
    /// `round` takes halves to the even neighbour.
    pub round_to_even: bool,
    /// `tanh` of a large number is 1.
    pub tanh_saturates: bool,
    /// `pow` of a negative number by a whole one is defined.
    pub pow_of_negative: bool,
    /// A product that is added to something is rounded first: no fused multiply-add.
    pub products_are_rounded: bool,
    /// Integers: x / 0 is x, x % 0 is 0 and MIN / -1 is MIN.
    pub integer_division: bool,
    /// Numbers become f16 by rounding to even, and subnormal f16 survive. This asks of this project's own integer code, since
    /// plain WGSL has f16 on some adapters only; so a no is a mistake of the driver's.
    pub f16: bool,
}

impl Numerics {
    /// The answers in the words that the probe wrote.
    fn read(words: &[u32; OUTPUTS], f16: bool) -> Self {
        let is_nan = |bits: u32| bits & 0x7fff_ffff > 0x7f80_0000;
        let [
            compared,
            maximum,
            minimum,
            tiny,
            twice,
            huge,
            quotient,
            rounded,
            tanh,
            power,
            sum,
            by_zero,
            rest,
            lowest,
        ] = *words;
        Self {
            nan_compares: compared == 1,
            nan_wins: is_nan(maximum) && is_nan(minimum),
            subnormals: tiny == 0x0001_1111 && twice == 0x0002_2222,
            infinity: huge == 0x7f80_0000 && quotient == 0x7f80_0000,
            round_to_even: rounded == 0x4000_0000,
            tanh_saturates: tanh == 0x3f80_0000,
            pow_of_negative: power == 0x4080_0000,
            products_are_rounded: sum == 0,
            integer_division: by_zero == 7 && rest == 0 && lowest == 0x8000_0000,
            f16,
        }
    }

    /// Each question, its answer, and what keeps the contract where the answer is no.
    #[must_use]
    pub const fn answers(&self) -> [(&'static str, bool, &'static str); 10] {
        [
            (
                "NaN compares as in IEEE 754",
                self.nan_compares,
                "comparisons look at the bits",
            ),
            (
                "max and min keep NaN",
                self.nan_wins,
                "extremes look at the bits",
            ),
            (
                "subnormals survive",
                self.subnormals,
                "an f32 result may be 0 instead; f16 and bf16 are not affected",
            ),
            (
                "overflow and x / 0 give infinity",
                self.infinity,
                "functions give infinity from bits; sums, products and quotients are the adapter's",
            ),
            (
                "round takes halves to even",
                self.round_to_even,
                "own formula",
            ),
            ("tanh saturates", self.tanh_saturates, "own formula"),
            (
                "pow of a negative number is defined",
                self.pow_of_negative,
                "own formula",
            ),
            (
                "products are rounded before they are added",
                self.products_are_rounded,
                "fused kernels keep products by their bits",
            ),
            (
                "integer division by 0 and MIN / -1 are defined",
                self.integer_division,
                "divisors are guarded",
            ),
            (
                "f16 is rounded to even, with subnormals",
                self.f16,
                "an error of the driver: conversions are integer code",
            ),
        ]
    }
}

/// A line for each question.
impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (question, answer, otherwise)) in self.answers().iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            if *answer {
                write!(f, "yes: {question}")?;
            } else {
                write!(f, "no:  {question} ({otherwise})")?;
            }
        }
        Ok(())
    }
}

/// Whether the numbers of [`HALVES`] became these bytes as f16, and from there these as f32.
fn are_halves(narrow: &[u8], wide: &[u8]) -> bool {
    let narrow = narrow
        .as_chunks::<2>()
        .0
        .iter()
        .map(|x| u16::from_le_bytes(*x));
    let wide = wide
        .as_chunks::<4>()
        .0
        .iter()
        .map(|x| f32::from_le_bytes(*x));
    let halves = HALVES.map(|(_, half)| half);
    narrow.eq(halves) && wide.eq(halves.map(|half| half::f16::from_bits(half).to_f32()))
}

fn choose() -> KernelChoice {
    KernelChoice::new("numerics").part("elementwise/probe.wgsl")
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    let probe = Candidate::new(choose(), ProbeParams::FIELDS);
    [probe].into_iter().chain(halves::variants()).collect()
}

impl Executor {
    /// Asks the adapter what it makes of plain WGSL. Runs a small kernel.
    ///
    /// # Errors
    /// The errors of the layers below.
    pub fn numerics(&self) -> impl Future<Output = Result<Numerics, KernelError>> {
        once(self.asked(), || DeviceError::Finished.into())
    }

    async fn asked(&self) -> Result<Numerics, KernelError> {
        let inputs = INPUTS;
        let shape = |len: usize| Shape::new([len]).map_err(KernelError::shape("numerics"));
        let a = self.upload(&inputs, &shape(inputs.len())?)?;
        let out = self.alloc(&shape(OUTPUTS)?, DType::U32)?;
        let (source, target) = (
            self.bind_read("numerics", &a)?,
            self.bind_write("numerics", &out)?,
        );
        let params = ProbeParams {
            len: inputs.len() as u32,
        };
        self.launch(
            &choose(),
            &[source.arg, target.arg],
            &params,
            Grid::stride(1, 1),
        )?;
        let halves = self.upload(&HALVES.map(|(x, _)| x), &shape(HALVES.len())?)?;
        let narrow = self.alloc(halves.shape(), DType::F16)?;
        let wide = self.alloc(halves.shape(), DType::F32)?;
        let _narrowed = self.cast(&halves, &narrow)?;
        let _widened = self.cast(&narrow, &wide)?;
        let read = self.download_many(&[&out, &narrow, &wide])?.await?;
        let [bytes, narrow, wide] = read.as_slice() else {
            return Ok(Numerics::read(&[0; OUTPUTS], false));
        };
        let (words, _) = bytes.as_chunks::<4>();
        let mut answers = [0; OUTPUTS];
        for (answer, word) in answers.iter_mut().zip(words) {
            *answer = u32::from_le_bytes(*word);
        }
        Ok(Numerics::read(&answers, are_halves(narrow, wide)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an adapter that keeps every rule writes.
    const RIGHT: [u32; OUTPUTS] = [
        1,
        0x7fc0_0000,
        0xffc0_0001,
        0x0001_1111,
        0x0002_2222,
        0x7f80_0000,
        0x7f80_0000,
        0x4000_0000,
        0x3f80_0000,
        0x4080_0000,
        0,
        7,
        0,
        0x8000_0000,
    ];

    #[test]
    fn the_inputs_are_the_numbers_that_the_shader_names() {
        let float = |i: usize| f32::from_bits(INPUTS[i]);
        assert!(float(0).is_nan() && float(1).is_nan());
        assert!(float(3) > 0.0 && float(3) < f32::MIN_POSITIVE);
        assert_eq!(
            [2, 5, 6, 7, 8, 9].map(float),
            [1.0, 0.0, 2.5, 100.0, -2.0, 2.0]
        );
        assert!(float(4).is_finite() && (float(4) * float(4)).is_infinite());
        let product = f64::from(float(10)) * f64::from(float(10)) + f64::from(float(11));
        assert!(product != 0.0 && float(10) * float(10) + float(11) == 0.0);
        assert_eq!(
            [INPUTS[14].cast_signed(), INPUTS[15].cast_signed()],
            [i32::MIN, -1]
        );
        // Halfway between two f16, whose last bit is 2^-10, the least one, and beyond the greatest.
        let last = 2f32.powi(-11);
        let halfway = [1.0 + last, 1.0 + 3.0 * last, 2f32.powi(-24), 65_520.0];
        assert_eq!(HALVES.map(|(x, _)| x), halfway);
        let bytes = |halves: [u16; 4]| halves.map(u16::to_le_bytes).concat();
        let wide = |halves: [u16; 4]| {
            let wide = halves.map(|half| half::f16::from_bits(half).to_f32());
            wide.map(f32::to_le_bytes).concat()
        };
        let right = HALVES.map(|(_, half)| half);
        assert!(are_halves(&bytes(right), &wide(right)));
        for i in 0..4 {
            let mut wrong = right;
            wrong[i] ^= 1;
            assert!(!are_halves(&bytes(wrong), &wide(right)));
            assert!(!are_halves(&bytes(right), &wide(wrong)));
        }
        assert!(!are_halves(&[], &[]));
    }

    #[test]
    fn every_wrong_word_is_one_no() {
        let all = |words: &[u32; OUTPUTS]| {
            Numerics::read(words, true)
                .answers()
                .iter()
                .filter(|(_, yes, _)| *yes)
                .count()
        };
        assert_eq!(all(&RIGHT), 10);
        for i in 0..OUTPUTS {
            let mut words = RIGHT;
            words[i] ^= 0x40_0000;
            // The lowest bit of a NaN's mantissa does not matter, its size does.
            if i == 1 || i == 2 {
                words[i] = 0x3f80_0000;
            }
            assert_eq!(all(&words), 9, "word {i}");
        }
        let text = Numerics::read(&[0; OUTPUTS], false).to_string();
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("no:  "))
                .count(),
            9
        );
        assert!(text.contains("yes: products are rounded before they are added"));
    }
}
