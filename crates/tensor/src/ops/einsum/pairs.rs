//! Which two values are contracted next.
//!
//! The pair whose result adds least memory goes first, the first of equals: the greedy order of D. Smith and J. Gray,
//! "opt_einsum", JOSS 3(26), 2018. Each value knows its best partner among those behind it, so that a step looks at every
//! value once, and again only at the partners of those whose best one is gone.
//!
//! Invariant: what a pair of values costs does not change as long as both are there. A label of theirs that a third value
//! has is still needed when that one has been contracted, for then the product keeps it.

use std::collections::BTreeMap;

use super::equation::Label;
use super::plan::Term;

/// The values that are left.
pub(super) struct Pairs<'a> {
    output: &'a [Label],
    /// Ascending by number, with the best partner behind it and what that costs.
    left: Vec<(Term, Option<Partner>)>,
    /// How many of the values have a label.
    holders: BTreeMap<Label, usize>,
    /// The numbers of the pair that was taken last.
    taken: [usize; 2],
}

#[derive(Clone, Copy)]
struct Partner {
    /// The number of its value.
    value: usize,
    cost: f64,
}

impl<'a> Pairs<'a> {
    pub(super) fn new(terms: Vec<Term>, output: &'a [Label]) -> Self {
        let mut this = Self {
            output,
            left: Vec::with_capacity(terms.len()),
            holders: BTreeMap::new(),
            taken: [usize::MAX; 2],
        };
        for term in &terms {
            this.count(term);
        }
        this.left = terms.into_iter().map(|term| (term, None)).collect();
        for at in 0..this.left.len() {
            this.find_partner(at);
        }
        this
    }

    /// Takes the best pair out; `None` if there are not two.
    pub(super) fn take(&mut self) -> Option<(Term, Term)> {
        let mut best: Option<(usize, Partner)> = None;
        for (at, (_, partner)) in self.left.iter().enumerate() {
            if let Some(partner) = partner
                && best.is_none_or(|(_, best)| partner.cost < best.cost)
            {
                best = Some((at, *partner));
            }
        }
        let (i, partner) = best?;
        let j = self
            .left
            .iter()
            .position(|(term, _)| term.value == partner.value)?;
        // j > i, so taking j first leaves i where it is.
        let ((b, _), (a, _)) = (self.left.remove(j), self.left.remove(i));
        for label in a.labels.iter().chain(&b.labels) {
            if let Some(count) = self.holders.get_mut(label) {
                *count -= 1;
            }
        }
        self.taken = [a.value, b.value];
        Some((a, b))
    }

    /// Whether a label of a pair that was taken is in the result or in another value.
    pub(super) fn needs(&self, label: Label) -> bool {
        self.output.contains(&label) || self.holders.get(&label).is_some_and(|&count| count > 0)
    }

    /// Puts in what a pair gave; its number is higher than all before.
    pub(super) fn put(&mut self, product: Term) {
        self.count(&product);
        let last = self.left.len();
        self.left.push((product, None));
        for at in 0..last {
            let partner = self.left.get(at).and_then(|(_, partner)| *partner);
            match partner {
                Some(partner) if !self.taken.contains(&partner.value) => self.try_partner(at, last),
                _ => self.find_partner(at),
            }
        }
    }

    /// The value that is left, if it is one.
    pub(super) fn finish(mut self) -> Option<Term> {
        self.left.pop().map(|(term, _)| term)
    }

    fn count(&mut self, term: &Term) {
        for &label in &term.labels {
            *self.holders.entry(label).or_default() += 1;
        }
    }

    fn find_partner(&mut self, at: usize) {
        if let Some((_, partner)) = self.left.get_mut(at) {
            *partner = None;
        }
        for other in at + 1..self.left.len() {
            self.try_partner(at, other);
        }
    }

    /// Takes `other` for the partner of `at` if it is better than the one so far.
    fn try_partner(&mut self, at: usize, other: usize) {
        let (Some((a, partner)), Some((b, _))) = (self.left.get(at), self.left.get(other)) else {
            return;
        };
        let cost = self.cost(a, b);
        if partner.is_none_or(|partner| cost < partner.cost) {
            let value = b.value;
            if let Some((_, partner)) = self.left.get_mut(at) {
                *partner = Some(Partner { value, cost });
            }
        }
    }

    /// Elements of the result less those of the operands.
    fn cost(&self, a: &Term, b: &Term) -> f64 {
        let needed = |label: &Label| {
            let own = usize::from(a.labels.contains(label)) + usize::from(b.labels.contains(label));
            self.output.contains(label) || self.holders.get(label).is_some_and(|&count| count > own)
        };
        let fresh = b.labels.iter().zip(&b.dims);
        let result: f64 = (a.labels.iter().zip(&a.dims))
            .chain(fresh.filter(|(label, _)| !a.labels.contains(label)))
            .filter(|(label, _)| needed(label))
            .map(|(_, &dim)| dim as f64)
            .product();
        result - a.len() - b.len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// The pair that goes first, found by looking at all of them.
    fn best_of_all(terms: &[Term], output: &[Label]) -> (usize, usize) {
        let mut best = ((0, 1), f64::INFINITY);
        for (i, a) in terms.iter().enumerate() {
            for (j, b) in terms.iter().enumerate().skip(i + 1) {
                let others = (terms.iter().enumerate()).filter(|(k, _)| *k != i && *k != j);
                let needed: Vec<Label> = (others.flat_map(|(_, term)| &term.labels))
                    .chain(output)
                    .copied()
                    .collect();
                let mut result = 1.0;
                for (at, label) in a.labels.iter().chain(&b.labels).enumerate() {
                    let first = at < a.labels.len() || !a.labels.contains(label);
                    if first && needed.contains(label) {
                        let dims: Vec<usize> = [&a.dims[..], &b.dims].concat();
                        result *= dims[at] as f64;
                    }
                }
                let cost = result - a.len() - b.len();
                if cost < best.1 {
                    best = ((i, j), cost);
                }
            }
        }
        best.0
    }

    /// A product as the plan makes it: the labels that are needed, each once.
    fn product(value: usize, a: &Term, b: &Term, needs: impl Fn(Label) -> bool) -> Term {
        let mut product = Term {
            value,
            labels: Vec::new(),
            dims: Vec::new(),
        };
        for (&label, &dim) in (a.labels.iter().zip(&a.dims)).chain(b.labels.iter().zip(&b.dims)) {
            if needs(label) && !product.labels.contains(&label) {
                product.labels.push(label);
                product.dims.push(dim);
            }
        }
        product
    }

    #[test]
    fn each_pair_is_the_best_of_all() {
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let extent = |letter: usize| [1, 2, 3, 5, 7, 100][letter % 6];
        for round in 0..200 {
            let letters = 2 + random(8);
            let letter = |at: usize| Label::Letter(char::from(b'a' + at as u8));
            let mut terms = Vec::new();
            for value in 0..2 + random(10) {
                let own: Vec<usize> = (0..letters).filter(|_| random(3) == 0).collect();
                terms.push(Term {
                    value,
                    labels: own.iter().map(|&at| letter(at)).collect(),
                    dims: own.iter().map(|&at| extent(at)).collect(),
                });
            }
            let output: Vec<Label> = (0..letters)
                .filter(|_| random(4) == 0)
                .map(letter)
                .collect();
            let mut next = terms.len();
            let mut pairs = Pairs::new(terms.clone(), &output);
            while let Some((a, b)) = pairs.take() {
                let (i, j) = best_of_all(&terms, &output);
                let (right, left) = (terms.remove(j), terms.remove(i));
                assert_eq!(
                    (a.value, b.value),
                    (left.value, right.value),
                    "round {round}"
                );
                let made = product(next, &a, &b, |label| pairs.needs(label));
                terms.push(made.clone());
                pairs.put(made);
                next += 1;
            }
            assert_eq!(terms.len(), 1);
        }
    }
}
