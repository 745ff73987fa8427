//! f64 reference of sums of products, by their definition.

use std::collections::BTreeMap;

use super::reduce::Term;

/// An operand: dense, row-major, with a letter per axis.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    /// A letter per axis; a repeated one takes the diagonal.
    pub letters: &'a str,
    /// The extents; 1 broadcasts.
    pub dims: &'a [usize],
    /// The values.
    pub values: &'a [f64],
}

/// For every assignment of the letters the product of the factors, added to the element of the result that the letters of
/// `output` name; with the magnitudes that bound their rounding error.
#[must_use]
pub fn einsum(factors: &[Factor<'_>], output: &str) -> Vec<Term> {
    let mut extents: BTreeMap<char, usize> = BTreeMap::new();
    for factor in factors {
        for (letter, &dim) in factor.letters.chars().zip(factor.dims) {
            let known = extents.entry(letter).or_insert(1);
            if dim != 1 {
                *known = dim;
            }
        }
    }
    let place = |letters: &str, dims: Option<&[usize]>, at: &BTreeMap<char, usize>| -> usize {
        letters.chars().enumerate().fold(0, |i, (axis, letter)| {
            let dim = dims.map_or(extents[&letter], |dims| dims[axis]);
            i * dim + if dim == 1 { 0 } else { at[&letter] }
        })
    };
    let size: usize = output.chars().map(|letter| extents[&letter]).product();
    let zero = Term {
        value: 0.0,
        magnitude: 0.0,
    };
    let mut out = vec![zero; size];
    for n in 0..extents.values().product() {
        let mut rest = n;
        let at: BTreeMap<char, usize> = extents
            .iter()
            .map(|(&letter, &dim)| {
                let index = rest % dim;
                rest /= dim;
                (letter, index)
            })
            .collect();
        let product: f64 = factors
            .iter()
            .map(|factor| factor.values[place(factor.letters, Some(factor.dims), &at)])
            .product();
        let term = &mut out[place(output, None, &at)];
        term.value += product;
        term.magnitude += product.abs();
    }
    out
}
