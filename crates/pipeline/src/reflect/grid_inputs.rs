//! What an entry point looks at of its place in the grid.
//!
//! A kernel that knows only `x` of its id is right on one row of workgroups and wrong on several, without any error:
//! some elements are computed several times, others never. So a grid is folded over rows only for an entry point that
//! provably looks at what it needs. The rule errs on the side of the kernel: an id that is passed on as a whole counts as
//! looked at in all its components.

/// The components of the grid's built-in values that an entry point uses, in the order x, y, z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GridInputs {
    /// Of `workgroup_id` or `global_invocation_id`.
    pub id: [bool; 3],
    /// Of `num_workgroups`.
    pub num_workgroups: [bool; 3],
}

impl GridInputs {
    /// Whether the entry point can compute a linear index from such workgroup counts: for several rows it needs `y` of an
    /// id and the length of a row, for several planes also `z` and the number of rows.
    #[must_use]
    pub fn can_index(&self, workgroups: [u32; 3]) -> bool {
        let [_, rows, planes] = workgroups;
        let ([_, id_y, id_z], [row, column, _]) = (self.id, self.num_workgroups);
        (rows <= 1 || (id_y && row)) && (planes <= 1 || (id_z && row && (column || rows <= 1)))
    }
}
