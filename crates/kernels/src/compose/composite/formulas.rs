//! Formulas whose operands have different dtypes, and so are no rows of the composed table: each written once, for any
//! [`Composer`].

use ziggurat_core::DType;

use super::Composer;
use super::formula::{Formula, Made};
use crate::fused::FusedOp;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::unary::Unary;

/// Which side of a diagonal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// What lies on the diagonal and below it.
    Lower,
    /// What lies on the diagonal and above it.
    Upper,
}

/// `x` on one side of the `k`-th diagonal, where `column - row` is `k`, and 0 on the other. The places are i32.
///
/// # Errors
/// Those of the composer.
pub fn triangle<C: Composer>(
    composer: &mut C,
    x: &C::Value,
    [row, column]: [&C::Value; 2],
    side: Triangle,
    k: i64,
) -> Made<C> {
    let mut f = Formula(composer);
    let distance = f.two(Binary::Sub, column, row)?;
    // No distance is beyond these: beyond them all diagonals are alike.
    let k = k.clamp(-(1 << 31), (1 << 31) - 1) as f64;
    let side = match side {
        Triangle::Lower => Compare::Le,
        Triangle::Upper => Compare::Ge,
    };
    let kept = f.is(side, &distance, k)?;
    let zero = f.beside(x, 0.0);
    f.choose(&kept, x, &zero)
}

/// `on` where `index` names `place` (i32) of `depth`, else `off`. Negative indices count from the end; an index outside names
/// nothing.
///
/// # Errors
/// Those of the composer; if the index is no integer.
pub fn one_hot<C: Composer>(
    composer: &mut C,
    [index, place]: [&C::Value; 2],
    depth: u32,
    [on, off]: [f64; 2],
    dtype: DType,
) -> Made<C> {
    let mut f = Formula(composer);
    let depth = f64::from(depth);
    let unsigned = !f.0.dtype(index).is_signed();
    let signed = f.cast(index, DType::I32)?;
    let wide = match f.0.dtype(index) {
        DType::U32 => index,
        _ => &signed,
    };
    let equal = Compare::Eq;
    let here = f.0.apply(FusedOp::Compare(equal), &[&signed, place])?;
    let hit = if unsigned {
        // A u32 index beyond i32 becomes negative and must not count from the end.
        let near = f.is(Compare::Lt, wide, depth)?;
        f.two(Binary::BitwiseAnd, &here, &near)?
    } else {
        let from_end = f.with(Binary::Add, &signed, depth)?;
        let from_end = f.0.apply(FusedOp::Compare(equal), &[&from_end, place])?;
        f.two(Binary::BitwiseOr, &here, &from_end)?
    };
    let (on, off) = (f.0.number(dtype, on), f.0.number(dtype, off));
    f.choose(&hit, &on, &off)
}

/// `(x - mean) / √(var + eps) · weight + bias` in f32.
///
/// # Errors
/// Those of the composer.
pub fn batch_norm<C: Composer>(
    composer: &mut C,
    x: &C::Value,
    [mean, var]: [&C::Value; 2],
    [weight, bias]: [Option<&C::Value>; 2],
    eps: f64,
) -> Made<C> {
    let mut f = Formula(composer);
    let wide = |f: &mut Formula<'_, C>, value: &C::Value| f.cast(value, DType::F32);
    let (x, mean, var) = (wide(&mut f, x)?, wide(&mut f, mean)?, wide(&mut f, var)?);
    let factor = f.with(Binary::Add, &var, eps)?;
    let factor = f.one(Unary::Rsqrt, &factor)?;
    let centred = f.two(Binary::Sub, &x, &mean)?;
    let mut y = f.two(Binary::Mul, &centred, &factor)?;
    if let Some(weight) = weight {
        let weight = wide(&mut f, weight)?;
        y = f.two(Binary::Mul, &y, &weight)?;
    }
    if let Some(bias) = bias {
        let bias = wide(&mut f, bias)?;
        y = f.two(Binary::Add, &y, &bias)?;
    }
    Ok(y)
}

/// `alpha · product + beta · addend` in the product's dtype, whole numbers for integers.
///
/// # Errors
/// Those of the composer.
pub fn scaled_sum<C: Composer>(
    composer: &mut C,
    product: &C::Value,
    addend: Option<&C::Value>,
    [alpha, beta]: [f64; 2],
) -> Made<C> {
    let mut f = Formula(composer);
    let mut sum = product.clone();
    if alpha != 1.0 {
        sum = f.with(Binary::Mul, &sum, alpha)?;
    }
    let Some(addend) = addend else {
        return Ok(sum);
    };
    let dtype = f.0.dtype(product);
    let mut addend = f.cast(addend, dtype)?;
    if beta != 1.0 {
        addend = f.with(Binary::Mul, &addend, beta)?;
    }
    f.two(Binary::Add, &sum, &addend)
}

/// Which mark an element is or follows, from 0, where `end` marks stand up to it (i32): 0 also before the first.
///
/// # Errors
/// Those of the composer.
pub fn place_of_mark<C: Composer>(composer: &mut C, end: &C::Value) -> Made<C> {
    let mut f = Formula(composer);
    let place = f.with(Binary::Sub, end, 1.0)?;
    f.with(Binary::Maximum, &place, 0.0)
}

/// Number `place` (f32, from 0) of `n` evenly spaced ones from `start` to `end`, counted from the nearer end so that both
/// ends are exact.
///
/// # Errors
/// Those of the composer.
pub fn linspace<C: Composer>(
    composer: &mut C,
    place: &C::Value,
    [start, end]: [f64; 2],
    n: usize,
) -> Made<C> {
    let mut f = Formula(composer);
    let step = f64::from(((end - start) / n.saturating_sub(1).max(1) as f64) as f32);
    let left = f.with(Binary::Mul, place, step)?;
    let left = f.with(Binary::Add, &left, start)?;
    let right = f.less(n.saturating_sub(1) as f64, place)?;
    let right = f.with(Binary::Mul, &right, step)?;
    let right = f.less(end, &right)?;
    let near = f.is(Compare::Lt, place, (n / 2) as f64)?;
    f.choose(&near, &left, &right)
}
