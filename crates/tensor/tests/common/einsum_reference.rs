//! f64 reference of sums of products, by their definition.

use std::collections::BTreeMap;

/// An operand: dense, row-major, with a letter per axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor<'a> {
    /// A letter per axis; a repeated one takes the diagonal.
    pub(crate) letters: &'a str,
    /// The extents; 1 broadcasts.
    pub(crate) dims: &'a [usize],
    /// The values.
    pub(crate) values: &'a [f64],
}

/// For every assignment of the letters the product of the factors, added to the element of the result that the letters of
/// `output` name.
pub(crate) fn einsum(factors: &[Factor<'_>], output: &str) -> Vec<f64> {
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
    let mut out = vec![0.0; size];
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
        out[place(output, None, &at)] += product;
    }
    out
}
