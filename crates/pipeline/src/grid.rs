//! The grid planner: from an amount of work to legal workgroup counts.
//!
//! A dispatch may have at most 65,535 workgroups per dimension on every known adapter, and large tensors need more.
//! No code above this module computes workgroup counts by hand; it says how many elements there are, and how many
//! one invocation handles. Folded grids may hold a few workgroups too many, so every kernel tests its bounds.
//! Invariant: a planned grid has no zero and nothing above the limit, and covers all elements.

/// How much work a dispatch covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grid {
    /// Exactly these workgroup counts. Any zero means that there is no work.
    Workgroups([u32; 3]),
    /// Enough invocations for `len` elements at `per_invocation` elements each: one row of workgroups, and where that is
    /// not enough, folded over x, y and z.
    ///
    /// The shader's linear workgroup index is `wid.x + wid.y * nwg.x + wid.z * nwg.x * nwg.y`. For an entry point that
    /// does not look at these ([`GridInputs`](crate::GridInputs)), more than one row is
    /// [`PipelineError::GridNotFolded`](crate::PipelineError::GridNotFolded). The fold may dispatch up to `y · z − 1` workgroups too many: kernels must test their bounds, and a kernel that computes
    /// element indices in `u32` must not be given a `len` close to 2³².
    Elements {
        /// Elements to cover.
        len: u64,
        /// Elements that one invocation handles; 0 counts as 1.
        per_invocation: u32,
    },
    /// Like [`Grid::Elements`], but never more than one row of workgroups: the kernel loops with the stride of the
    /// whole grid.
    Stride {
        /// Elements to cover.
        len: u64,
        /// Elements that one invocation handles per step; 0 counts as 1.
        per_invocation: u32,
    },
}

/// The work needs more workgroups than the device can dispatch at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridOverflow {
    /// Workgroups wanted per dimension; one number in x when an element count was asked for.
    pub wanted: [u64; 3],
    /// The device's limit per dimension.
    pub limit: u32,
}

impl Grid {
    /// [`Grid::Elements`].
    pub const fn elements(len: u64, per_invocation: u32) -> Self {
        Self::Elements {
            len,
            per_invocation,
        }
    }

    /// [`Grid::Stride`].
    pub const fn stride(len: u64, per_invocation: u32) -> Self {
        Self::Stride {
            len,
            per_invocation,
        }
    }

    /// Workgroup counts for a kernel of this workgroup size, or `None` when there is nothing to do.
    ///
    /// # Errors
    ///
    /// [`GridOverflow`] when not even three dimensions hold the work, or an explicit count is over the limit.
    pub fn plan(
        self,
        workgroup_size: [u32; 3],
        limit: u32,
    ) -> Result<Option<[u32; 3]>, GridOverflow> {
        match self {
            Self::Workgroups(counts) => {
                if counts.contains(&0) {
                    Ok(None)
                } else if counts.iter().any(|&count| count > limit) {
                    Err(GridOverflow {
                        wanted: counts.map(u64::from),
                        limit,
                    })
                } else {
                    Ok(Some(counts))
                }
            }
            Self::Elements {
                len,
                per_invocation,
            } => {
                let groups = groups(len, per_invocation, workgroup_size);
                if groups == 0 {
                    return Ok(None);
                }
                fold(groups, limit).map(Some).ok_or(GridOverflow {
                    wanted: [groups, 1, 1],
                    limit,
                })
            }
            Self::Stride {
                len,
                per_invocation,
            } => {
                let groups = groups(len, per_invocation, workgroup_size);
                if groups > 0 && limit == 0 {
                    return Err(GridOverflow {
                        wanted: [groups, 1, 1],
                        limit,
                    });
                }
                let x = u32::try_from(groups).unwrap_or(limit).min(limit);
                Ok((x > 0).then_some([x, 1, 1]))
            }
        }
    }
}

/// Workgroups that cover `len` elements.
fn groups(len: u64, per_invocation: u32, workgroup_size: [u32; 3]) -> u64 {
    // A workgroup has at most a few thousand invocations, so the product of four u32 fits u128 with room.
    let per_group = workgroup_size
        .iter()
        .map(|&size| u128::from(size.max(1)))
        .product::<u128>()
        * u128::from(per_invocation.max(1));
    u64::try_from(u128::from(len).div_ceil(per_group)).unwrap_or(u64::MAX)
}

/// How many row counts are tried for a fold with less waste.
const TRIES: u64 = 512;

/// Spreads `groups` over the dimensions, `None` if it does not fit. `groups` is at least 1.
fn fold(groups: u64, limit: u32) -> Option<[u32; 3]> {
    let wide = u64::from(limit);
    if wide == 0 {
        return None;
    }
    if groups <= wide {
        return Some([u32::try_from(groups).ok()?, 1, 1]);
    }
    let z = groups.div_ceil(wide.checked_mul(wide)?);
    if z > wide {
        return None;
    }
    let plane = groups.div_ceil(z);
    let fewest = plane.div_ceil(wide);
    let waste = |y: u64| plane.div_ceil(y) * y - plane;
    let y = (fewest..=wide.min(fewest + TRIES))
        .take_while(|&y| y <= wide)
        .min_by_key(|&y| (waste(y), y))?;
    let x = plane.div_ceil(y);
    Some([
        u32::try_from(x).ok()?,
        u32::try_from(y).ok()?,
        u32::try_from(z).ok()?,
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use proptest::prelude::*;

    const LIMIT: u32 = 65_535;
    const WG: u32 = 256;

    fn total(counts: [u32; 3]) -> u128 {
        counts.iter().map(|&count| u128::from(count)).product()
    }

    fn check(len: u64, per_invocation: u32, size: [u32; 3], limit: u32) {
        let counts = Grid::elements(len, per_invocation)
            .plan(size, limit)
            .unwrap();
        let needed = groups(len, per_invocation, size);
        match counts {
            None => assert_eq!(len, 0),
            Some(counts) => {
                assert!(
                    counts.iter().all(|&count| (1..=limit).contains(&count)),
                    "{counts:?}"
                );
                let spare = total(counts) - u128::from(needed);
                let rows = u128::from(counts[1]) * u128::from(counts[2]);
                assert!(
                    total(counts) >= u128::from(needed),
                    "{len} is not covered by {counts:?}"
                );
                assert!(
                    spare < rows.max(1) + u128::from(counts[2]),
                    "{counts:?} wastes {spare}"
                );
            }
        }
    }

    #[test]
    fn no_elements_need_no_dispatch() {
        assert_eq!(Grid::elements(0, 4).plan([WG, 1, 1], LIMIT), Ok(None));
        assert_eq!(Grid::stride(0, 4).plan([WG, 1, 1], LIMIT), Ok(None));
        assert_eq!(
            Grid::Workgroups([4, 0, 1]).plan([WG, 1, 1], LIMIT),
            Ok(None)
        );
    }

    #[test]
    fn counts_around_one_workgroup() {
        for (len, groups) in [(1, 1), (255, 1), (256, 1), (257, 2), (512, 2), (513, 3)] {
            assert_eq!(
                Grid::elements(len, 1).plan([WG, 1, 1], LIMIT),
                Ok(Some([groups, 1, 1]))
            );
        }
        assert_eq!(
            Grid::elements(1025, 4).plan([WG, 1, 1], LIMIT),
            Ok(Some([2, 1, 1]))
        );
        assert_eq!(
            Grid::elements(65, 1).plan([8, 8, 1], LIMIT),
            Ok(Some([2, 1, 1]))
        );
    }

    #[test]
    fn folds_beyond_one_row() {
        let row = u64::from(LIMIT) * u64::from(WG);
        assert_eq!(
            Grid::elements(row - 1, 1).plan([WG, 1, 1], LIMIT),
            Ok(Some([LIMIT, 1, 1]))
        );
        assert_eq!(
            Grid::elements(row, 1).plan([WG, 1, 1], LIMIT),
            Ok(Some([LIMIT, 1, 1]))
        );
        assert_eq!(
            Grid::elements(row + 1, 1).plan([WG, 1, 1], LIMIT),
            Ok(Some([32_768, 2, 1]))
        );
    }

    #[test]
    fn powers_of_two_fold_without_waste() {
        let counts = Grid::elements(1 << 32, 1)
            .plan([WG, 1, 1], LIMIT)
            .unwrap()
            .unwrap();
        assert_eq!(total(counts), 1 << 24);
    }

    #[test]
    fn huge_counts_use_the_third_dimension() {
        for len in [1_u64 << 33, (1 << 40) + 1, 1 << 45, 1 << 55] {
            check(len, 1, [WG, 1, 1], LIMIT);
        }
        let counts = Grid::elements(1 << 45, 1)
            .plan([WG, 1, 1], LIMIT)
            .unwrap()
            .unwrap();
        assert!(counts[2] > 1, "{counts:?}");
    }

    #[test]
    fn more_than_three_dimensions_hold_is_an_error() {
        let error = Grid::elements(u64::MAX, 1)
            .plan([1, 1, 1], LIMIT)
            .unwrap_err();
        assert_eq!(error.wanted, [u64::MAX, 1, 1]);
        let error = Grid::Workgroups([1, 65_536, 1])
            .plan([1, 1, 1], LIMIT)
            .unwrap_err();
        assert_eq!(
            error,
            GridOverflow {
                wanted: [1, 65_536, 1],
                limit: LIMIT
            }
        );
        assert!(Grid::elements(28, 1).plan([1, 1, 1], 3).is_err());
        assert!(Grid::elements(1, 0).plan([1, 1, 1], 0).is_err());
        assert!(Grid::stride(1, 0).plan([1, 1, 1], 0).is_err());
        check(27, 1, [1, 1, 1], 3);
    }

    #[test]
    fn a_stride_grid_never_leaves_its_row() {
        assert_eq!(
            Grid::stride(1, 4).plan([WG, 1, 1], LIMIT),
            Ok(Some([1, 1, 1]))
        );
        assert_eq!(
            Grid::stride(u64::MAX, 1).plan([1, 1, 1], LIMIT),
            Ok(Some([LIMIT, 1, 1]))
        );
    }

    proptest! {
        #[test]
        fn every_plan_is_legal_and_covers_the_elements(
            len in 0_u64..1 << 47, per in 0_u32..9, x in 1_u32..512, y in 1_u32..5
        ) {
            check(len, per, [x, y, 1], LIMIT);
        }

        #[test]
        fn small_limits_are_kept(len in 0_u64..1000, limit in 10_u32..40) {
            check(len, 1, [1, 1, 1], limit);
        }
    }
}
