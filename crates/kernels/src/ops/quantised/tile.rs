//! How products with few rows lie over workgroups.

use ziggurat_core::{BlockFormat, DType};

use super::{BlockShape, LinearForm};
use crate::limits::ability::Ability;
use crate::num::saturated;

/// Invocations of a workgroup of a product.
pub(super) const GROUP: u32 = 128;
/// Bytes of workgroup memory that a product may take: what WebGPU promises, and less than many devices have, because several
/// workgroups share a processor.
const MEMORY: u32 = 16_384;
/// Bytes of 16 elements of an input in workgroup memory.
const RUN_BYTES: u32 = 64;
/// Rows of an input of that dtype up to which blocks are multiplied as they are, eight at a time. Numbers of f32 take twice the memory of
/// others, and products with them twice the time: on an H200 the products of 8 layers of 8B extents by Q4_K take 1.9 ms for each eight
/// rows, and, decoded first, 9.3 ms in f32 and 3.8 in f16 for 17 rows as for 64.
pub(super) const fn few_rows(x: DType) -> u64 {
    match x {
        DType::F32 => 32,
        _ => 16,
    }
}

/// How a product lies over workgroups: each has some tiles side by side along the rows of the blocks, and the invocations of a
/// tile share k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    /// Rows of the input.
    pub(super) lines: u32,
    /// Rows of the blocks.
    pub(super) rows: u32,
    /// Invocations: a power of two up to [`GROUP`].
    pub(super) lanes: u32,
    /// Whether the input goes through workgroup memory, so much at a time as the invocations of a tile multiply.
    pub(super) staged: bool,
}

impl Tile {
    /// The least that takes all `m` rows of an input at once, of those there are, with no more invocations than a row of blocks has
    /// units, and with enough workgroups. With gates it has as many rows of those as of others.
    pub(super) fn of(m: u64, weight: &BlockShape, form: LinearForm, busy_groups: u64) -> Self {
        let lines = [1, 2, 4].into_iter().find(|&lines| u64::from(lines) >= m);
        let lines = lines.unwrap_or(8);
        let rows = weight.rows as u64;
        let units = saturated(weight.units()).min(GROUP).next_power_of_two();
        // Several rows of the input are read so often that it pays to keep them near, if enough invocations have room for what they
        // multiply.
        let runs = runs(weight.format);
        if lines > 2 && runs <= 2 || lines == 2 && runs == 2 {
            let tile = Self::staged(lines, weight.format, units);
            let groups = tile.workgroups(rows).saturating_mul(m.div_ceil(8));
            let few = lines == 8 && groups.saturating_mul(10) < busy_groups;
            return if few {
                Self::staged(4, weight.format, units)
            } else {
                tile
            };
        }
        let tile = |rows, lanes: u32| Self {
            lines,
            rows,
            lanes: lanes.min(units),
            staged: false,
        };
        if lines > 2 {
            return tile(4, GROUP);
        }
        let enough = |tile: &Self, some: u64| tile.workgroups(rows) * some >= busy_groups;
        if lines == 1 {
            // More rows of the weight read x less often, fewer leave more workgroups: a third of what keeps a device busy is enough,
            // measured over seven formats.
            let (shapes, rows): (&[_], _) = if form.swiglu {
                (&[(8, GROUP / 4), (8, GROUP / 2)], 8)
            } else {
                (&[(8, GROUP / 4), (4, GROUP / 4), (4, GROUP / 2)], 4)
            };
            let mut tiles = shapes.iter().map(|&(rows, lanes)| tile(rows, lanes));
            return tiles
                .find(|tile| enough(tile, 3))
                .unwrap_or_else(|| tile(rows, GROUP));
        }
        let mut lanes = [GROUP / 4, GROUP / 2].into_iter();
        let lanes = lanes.find(|&lanes| enough(&tile(8, lanes), 2));
        let lanes = lanes.unwrap_or(GROUP);
        // Short rows of blocks leave few workgroups.
        let few = units < GROUP && !enough(&tile(8, lanes), 2);
        tile(if few { 4 } else { 8 }, lanes)
    }

    /// For one row of an input, with hardly more invocations than a row of blocks has units for: on a processor, more would take
    /// time and do nothing.
    pub(super) fn full(weight: &BlockShape, form: LinearForm) -> Self {
        let units = weight.units().max(1);
        let full = |lanes: &u32| {
            let lanes = u64::from(*lanes);
            units.div_ceil(lanes) * lanes * 7 <= units * 8
        };
        let lanes = [GROUP / 4, 16, 8, 4, 2].into_iter().find(full).unwrap_or(1);
        let tile = |rows| Self {
            lines: 1,
            rows,
            lanes,
            staged: false,
        };
        // As many workgroups as processors can share evenly.
        let many = tile(8).workgroups(weight.rows as u64) >= 16;
        tile(if many || form.swiglu { 8 } else { 4 })
    }

    /// With as many invocations, up to 32, as have room for their input twice: what is multiplied, and what comes next.
    fn staged(lines: u32, format: BlockFormat, units: u32) -> Self {
        let room = MEMORY / (2 * lines * runs(format) * RUN_BYTES);
        Self {
            lines,
            rows: 4,
            lanes: units.min(room).min(GROUP / 4),
            staged: true,
        }
    }

    /// Those of few and many rows of an input, or of one with a form, by few and many blocks in short and long rows, on a large
    /// GPU, and those of a processor.
    pub(super) fn all(format: BlockFormat, form: LinearForm) -> Vec<Self> {
        let shapes = [64, 4096, 6144, 1 << 17]
            .into_iter()
            .flat_map(|rows| [1, 128].map(|blocks| [rows, blocks * format.elements()]));
        let weights: Vec<_> = shapes
            .filter_map(|dims| BlockShape::new(format, dims).ok())
            .collect();
        let few = |m| {
            let tiles = weights.iter();
            tiles.map(move |weight| Self::of(m, weight, form, Ability::LARGE.busy_groups))
        };
        let full = weights.iter().map(|weight| Self::full(weight, form));
        let lines = if form.is_plain() { 5 } else { 1 };
        let mut all = Vec::new();
        for tile in [1, 2, 4, 8, 16]
            .into_iter()
            .take(lines)
            .flat_map(few)
            .chain(full)
        {
            if !all.contains(&tile) {
                all.push(tile);
            }
        }
        all
    }

    /// Of all of them one for each kind: how many invocations share a row is no more than a constant.
    pub(super) fn kinds(format: BlockFormat, form: LinearForm) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        for tile in Self::all(format, form) {
            let is_like = |other: &Self| {
                Self {
                    lanes: tile.lanes,
                    ..*other
                } == tile
            };
            if !kinds.iter().any(is_like) {
                kinds.push(tile);
            }
        }
        kinds
    }

    /// Workgroups that cover so many rows of blocks.
    pub(super) fn workgroups(self, rows: u64) -> u64 {
        rows.div_ceil(u64::from(self.rows * self.tiles()))
    }

    /// Tiles of a workgroup.
    const fn tiles(self) -> u32 {
        GROUP / self.lanes
    }

    /// Bytes of workgroup memory: of rows of the input, and then of sums.
    pub(super) fn workgroup_bytes(self, format: BlockFormat, form: LinearForm) -> u32 {
        let inputs = 2 * self.lines * self.lanes * runs(format) * RUN_BYTES;
        let squares = u32::from(form.rms_norm.is_some());
        let sums = (self.lines * self.rows + squares) * GROUP * 4;
        if self.staged { inputs.max(sums) } else { sums }
    }

    /// Whether invocations read what they multiply next while they multiply. For one row of an input others compute meanwhile, and more
    /// of them have registers: where they decode for long, or have many rows of blocks. By an H200 products of a model with 4 rows of Q8_0,
    /// Q3_K and Q4_1 take 2 to 20 % longer without, all of Q4_K, Q5_K and Q6_K 1 to 5 % less, and those with 8 rows of others 1 to 4 %.
    pub(super) const fn reads_ahead(self, format: BlockFormat) -> bool {
        let decodes_long = matches!(
            format,
            BlockFormat::Q4_K | BlockFormat::Q5_K | BlockFormat::Q6_K
        );
        self.lines > 1 || self.rows == 4 && !decodes_long
    }

    /// The name in labels, and the part for that many rows of the input.
    pub(super) const fn part(self) -> (&'static str, &'static str) {
        match self.lines {
            1 => ("rows_1", "quantised/lines_1.wgsl"),
            2 => ("rows_2", "quantised/lines_2.wgsl"),
            4 => ("rows_4", "quantised/lines_4.wgsl"),
            _ => ("rows_8", "quantised/lines_8.wgsl"),
        }
    }
}

/// Runs of 16 elements in a unit, which is 16 bytes of the first field.
pub(super) fn runs(format: BlockFormat) -> u32 {
    let first = format.fields().first();
    first.map_or(1, |first| {
        saturated((format.elements() / first.bytes) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_rows_has_a_kernel_that_fits_any_device() {
        let of = |m, dims: [usize; 2]| {
            let weight = BlockShape::new(BlockFormat::Q4_1, dims).expect("whole blocks");
            let tile = Tile::of(m, &weight, LinearForm::default(), 1056);
            [tile.lines, tile.rows, tile.lanes]
        };
        let lines = [1, 2, 3, 5, 9, 16, 17].map(|m| of(m, [1 << 14, 4096])[0]);
        assert_eq!(lines, [1, 2, 4, 8, 8, 8, 8]);
        // 256 workgroups of one tile, 512 of two, 384 of four, and 1,024 with more rows each.
        assert_eq!(of(1, [1024, 4096]), [1, 4, 128]);
        assert_eq!(of(1, [4096, 4096]), [1, 4, 64]);
        assert_eq!(of(1, [6144, 4096]), [1, 4, 32]);
        assert_eq!(of(1, [32_768, 4096]), [1, 8, 32]);
        // 18 units of a row, and 36 workgroups, or four thousand.
        assert_eq!(of(1, [576, 576]), [1, 4, 32]);
        assert_eq!(of(1, [1 << 17, 576]), [1, 8, 32]);
        let full = |dims: [usize; 2]| {
            let weight = BlockShape::new(BlockFormat::Q4_1, dims).expect("whole blocks");
            let tile = Tile::full(&weight, LinearForm::default());
            [tile.lines, tile.rows, tile.lanes]
        };
        // 18 units by 4 invocations are 5 steps, of which 2 of 20 units are not there; 48 are 3 steps of 16.
        assert_eq!(full([576, 576]), [1, 4, 4]);
        assert_eq!(full([49_152, 576]), [1, 8, 4]);
        assert_eq!(full([576, 1536]), [1, 4, 16]);
        assert_eq!(full([4096, 4096]), [1, 8, 32]);
        assert_eq!(full([64, 32]), [1, 4, 1]);
        assert_eq!(full([64, 96]), [1, 4, 1]);
        // 16 KiB hold eight rows of the input twice for eight invocations, which leaves 64 workgroups, or 128.
        assert_eq!(of(8, [4096, 4096]), [4, 4, 16]);
        assert_eq!(of(16, [4096, 4096]), [8, 4, 8]);
        for &format in BlockFormat::ALL {
            for tile in Tile::all(format, LinearForm::default()) {
                let bytes = tile.workgroup_bytes(format, LinearForm::default());
                assert!(bytes <= MEMORY, "{tile:?}");
            }
        }
    }
}
