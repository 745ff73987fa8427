//! Tensors, or other things, that a call takes in order or by name.

use ziggurat_core::text::{list, shortened};

use crate::{Device, Tensor};

/// What a call was given: in the order of declaration, or each with its name.
#[derive(Clone, Debug)]
pub(crate) enum Listed<'a, T> {
    InOrder(Vec<T>),
    Named(Vec<(&'a str, T)>),
}

impl<T: Copy> Listed<'_, T> {
    /// All in the order of declaration. Of what is given in order the number is left to the caller to check.
    ///
    /// # Errors
    /// A name that is not declared, is given twice, or is missing, in words.
    pub(crate) fn by_declaration<'n>(
        &self,
        declared: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<Vec<T>, String> {
        let given = match self {
            Self::InOrder(all) => return Ok(all.clone()),
            Self::Named(given) => given,
        };
        let names = || list(&declared.clone().map(ticked).collect::<Vec<_>>(), 9);
        for (at, (name, _)) in given.iter().enumerate() {
            if !declared.clone().any(|own| own == *name) {
                let name = ticked(name);
                return Err(format!("there is no {name}; it has {}", names()));
            }
            if given.iter().take(at).any(|(before, _)| before == name) {
                return Err(format!("{} was given twice", ticked(name)));
            }
        }
        let find = |name: &'n str| {
            let found = given.iter().find(|(own, _)| *own == name);
            found
                .map(|(_, one)| *one)
                .ok_or_else(|| format!("{} was not given; it has {}", ticked(name), names()))
        };
        declared.clone().map(find).collect()
    }
}

impl<'a> Listed<'_, &'a Tensor> {
    /// The device of the first.
    pub(crate) fn device(&self) -> Option<&'a Device> {
        let first = match self {
            Self::InOrder(all) => all.first().copied(),
            Self::Named(all) => all.first().map(|(_, tensor)| *tensor),
        };
        first.map(Tensor::device)
    }
}

fn ticked(name: &str) -> String {
    format!("`{}`", shortened(name, 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_and_wrong_ones_are_said() {
        let declared = || ["x", "y"].into_iter();
        let order =
            |given: &[(&'static str, u8)]| Listed::Named(given.to_vec()).by_declaration(declared());
        assert_eq!(order(&[("x", 1), ("y", 2)]), Ok(vec![1, 2]));
        assert_eq!(order(&[("y", 2), ("x", 1)]), Ok(vec![1, 2]));
        for (given, words) in [
            (
                &[("x", 1), ("z", 2)][..],
                "there is no `z`; it has `x`, `y`",
            ),
            (&[("x", 1), ("x", 2)], "`x` was given twice"),
            (&[("y", 1)], "`x` was not given; it has `x`, `y`"),
        ] {
            assert_eq!(order(given), Err(words.to_owned()));
        }
        let in_order = Listed::InOrder(vec![2, 1]).by_declaration(declared());
        assert_eq!(in_order, Ok(vec![2, 1]), "names are not looked at");
    }
}
