//! Transposed convolutions without the products that have no input: with stride 1 they are plain convolutions; else filters of each
//! phase are filters of one ([`subpixel`]), or the taps of a filter are filters of one ([`columns`]).

use super::geometry::Geometry;
use super::plan::{self, Method};
use super::{Images, Seen, chosen, steps_of};
use crate::limits::ability::Ability;
use crate::ops::ways::Ways;
use crate::run::error::KernelError;
use crate::run::plan::Planner;

pub(super) mod columns;
mod flipped;
pub(super) mod subpixel;

use flipped::Flipped;

/// Products of a kernel that looks for taps between inputs.
fn products(g: &Geometry) -> u64 {
    let outputs = [g.batch, g.groups, g.filters, g.plane()];
    outputs.into_iter().fold(g.depth() as u64, |n, extent| {
        n.saturating_mul(extent as u64)
    })
}

/// The ways to compute a transposed convolution on a device.
pub(super) fn ways(g: &Geometry, seen: Seen<'_>, ability: &Ability) -> Ways<Method> {
    let others = plan::ways(g, seen, ability);
    let phases = subpixel::fits(g, seen, ability).then_some(Method::SubPixel);
    let columns = columns::fits(g, seen, ability).then_some(Method::Columns);
    let paying = |method: Method| match method {
        Method::SubPixel => subpixel::pays(g),
        _ => columns::pays(g),
    };
    let own = || match columns::first(g, seen.dtype) {
        true => [columns, phases].into_iter().flatten(),
        false => [phases, columns].into_iter().flatten(),
    };
    let default = own().find(|&method| paying(method));
    let default = default.unwrap_or(others.default);
    let all = own().chain(others.all());
    Ways::new(default, all.filter(|&way| way != default))
}

/// Adds the dispatches of a transposed convolution, in the way that was chosen: what only that needs is not in programs that have
/// none.
pub(super) fn steps(p: &mut Planner<'_>, g: &Geometry) -> Result<(), KernelError> {
    let seen = Images::of(p.op, p.ends)?.seen(g);
    if let Some(flipped) = Flipped::new(g, seen) {
        return flipped.steps(p, seen);
    }
    match chosen(p, g, seen, |ability| ways(g, seen, ability)) {
        Method::SubPixel => subpixel::steps(p, g, seen),
        Method::Columns => columns::steps(p, g, seen),
        method => steps_of(p, g, seen, method),
    }
}

#[cfg(test)]
mod tests;
