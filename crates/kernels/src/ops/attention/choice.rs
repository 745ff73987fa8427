//! The kernels of attention as choices of parts, and all of them for the catalogue.

use ziggurat_core::DType;

use super::OP;
use super::form::{Form, Problem};
use super::lanes::Lanes;
use super::params::AttentionParams;
use super::rules::ways;
use crate::limits::ability::Ability;
use crate::ops::elementwise::row::NAN_EACH;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::Params;
use crate::source::prelude;

/// What operands hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    /// The dtype of queries and results.
    pub(super) dtype: DType,
    /// Whether keys and values are i8 with factors, and not of that dtype too.
    pub(super) bytes: bool,
}

impl Kinds {
    /// All that there are.
    fn all() -> impl Iterator<Item = Self> {
        let dtypes = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
        dtypes.flat_map(|dtype| [false, true].map(|bytes| Self { dtype, bytes }))
    }

    /// f16 that an element is for matrix units, 0 where they do not compute with them. bf16 and f32 become f16 by a power of two
    /// for each head, which is found by its exponents: integers would have to become floats for that first.
    pub(super) const fn pieces(self) -> u32 {
        match (self.dtype, self.bytes) {
            (DType::F16, _) | (DType::BF16, false) => 1,
            (DType::F32, false) => 2,
            _ => 0,
        }
    }

    /// Exponents that the elements of a head differ by at most where f16 holds them.
    const fn spread(self) -> u32 {
        match self.dtype {
            DType::F32 => 27,
            _ => 31,
        }
    }

    /// How a form reads queries, keys and values.
    fn parts(self, form: Form, vec4: bool, heads: Heads) -> &'static [&'static str] {
        match (form, self.bytes) {
            (Form::Tile(_), false) if vec4 => &["attention/query_vec4.wgsl", "attention/vec4.wgsl"],
            (Form::Tile(_), true) if vec4 => {
                &["attention/query_vec4.wgsl", "attention/vec4_byte.wgsl"]
            }
            (Form::Tile(_), false) => &["attention/query_words.wgsl", "attention/words.wgsl"],
            (Form::Tile(_), true) => &["attention/query_words.wgsl", "attention/words_byte.wgsl"],
            (Form::Matrix(_), false) if heads == Heads::Every => &["attention/halves.wgsl"],
            (Form::Matrix(_), false) if matches!(self.dtype, DType::F32) => {
                &["attention/two_halves.wgsl"]
            }
            (Form::Matrix(_), false) => &["attention/scaled.wgsl"],
            (Form::Matrix(_), true) => &["attention/halves_byte.wgsl"],
            (Form::Few(_) | Form::Lanes(_), bytes) => match (prelude::is_packed(self.dtype), bytes)
            {
                (true, false) => &["attention/query_half.wgsl", "attention/octs_half.wgsl"],
                (true, true) => &["attention/query_half.wgsl", "attention/octs_byte.wgsl"],
                (false, false) => &["attention/query_word.wgsl", "attention/octs_word.wgsl"],
                (false, true) => &["attention/query_word.wgsl", "attention/octs_byte.wgsl"],
            },
        }
    }
}

/// How keys are hidden and scores bent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hiding {
    pub(super) mask: Option<DType>,
    pub(super) lengths: bool,
    pub(super) capped: bool,
}

/// What a workgroup leaves of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    /// The result, four elements at a time.
    Vec4,
    /// The result, element by element.
    Cells,
    /// The state, as others see the other keys.
    State,
}

impl Leaves {
    pub(super) const fn result(vec4: bool) -> Self {
        if vec4 { Self::Vec4 } else { Self::Cells }
    }
}

/// Which heads a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heads {
    Every,
    /// Those that f16 holds.
    Fitting,
    /// The others.
    Flagged,
}

/// Invocations of the merging kernel.
pub(super) const MERGE_WG: u32 = 256;
/// Invocations of the kernel that finds the ranges of exponents.
pub(super) const RANGES_WG: u32 = 256;
/// Words that it leaves for each key head: 16 for queries, keys and values each.
pub(super) const RANGES: u64 = 3 * 16;

fn result(choice: KernelChoice, dtype: DType, leaves: Leaves) -> KernelChoice {
    match leaves {
        Leaves::Vec4 => choice
            .store(dtype)
            .vec4()
            .part("attention/out_vec4.wgsl")
            .part("attention/whole.wgsl"),
        Leaves::Cells => choice
            .name("cells")
            .store(dtype)
            .cell(dtype)
            .part("attention/out_element.wgsl")
            .part("attention/whole.wgsl"),
        Leaves::State => choice
            .name("part")
            .part("attention/state.wgsl")
            .part("attention/part.wgsl"),
    }
}

/// The part that says how many keys of a batch count.
const fn lengths_part(some: bool) -> (&'static str, &'static str) {
    if some {
        ("some_keys", "attention/some_keys.wgsl")
    } else {
        ("all_keys", "attention/all_keys.wgsl")
    }
}

/// The kernel of a form; `vec4` says how its operands are read.
pub(super) fn kernel(
    kinds: Kinds,
    form: Form,
    vec4: bool,
    (hiding, heads): (Hiding, Heads),
    leaves: Leaves,
) -> KernelChoice {
    let (mask_name, mask) = match hiding.mask {
        None => ("no_mask", "attention/no_mask.wgsl"),
        Some(DType::Bool) => ("bool_mask", "attention/bool_mask.wgsl"),
        Some(_) => ("float_mask", "attention/float_mask.wgsl"),
    };
    let (lengths_name, lengths) = lengths_part(hiding.lengths);
    let (cap_name, cap): (_, &[_]) = if hiding.capped {
        let parts = &[
            "softmax/exp.wgsl",
            "functions/exp.wgsl",
            NAN_EACH,
            "elementwise/unary/tanh.wgsl",
            "attention/cap.wgsl",
        ];
        ("cap", parts)
    } else {
        ("no_cap", &["attention/no_cap.wgsl"])
    };
    let form_name = match form {
        Form::Tile(_) if vec4 => "tile",
        Form::Tile(_) => "tile/strided",
        Form::Matrix(_) => "matrix",
        Form::Few(_) => "few",
        Form::Lanes(Lanes { rows: 1, .. }) => "lanes",
        Form::Lanes(_) => "lanes/rows",
    };
    let dtype = kinds.dtype;
    let mut choice = KernelChoice::new(OP).name(dtype.name());
    if kinds.bytes {
        choice = choice.name(DType::I8.name());
    }
    choice = choice
        .name(form_name)
        .name(mask_name)
        .name(lengths_name)
        .name(cap_name)
        .part(prelude::FLOAT)
        .load(dtype);
    if kinds.bytes {
        choice = choice.load_of("i8", DType::I8);
    }
    if let Form::Lanes(_) = form {
        choice = choice.enable("enable/subgroups.wgsl");
    }
    if let Form::Matrix(_) = form {
        choice = choice
            .enable("enable/f16.wgsl")
            .enable("enable/subgroups.wgsl")
            .enable("enable/cooperative_matrix.wgsl");
    }
    if hiding.mask == Some(DType::Bool) {
        choice = choice.part(prelude::LOAD_COND);
    }
    choice = choice
        .params("attention/params.wgsl")
        .parts(&[
            "attention/weight.wgsl",
            "attention/sight.wgsl",
            mask,
            lengths,
        ])
        .parts(cap)
        .parts(&[
            "attention/scores.wgsl",
            "attention/share.wgsl",
            "attention/rows.wgsl",
        ]);
    if heads != Heads::Every {
        choice = choice
            .part("attention/exponents.wgsl")
            .constant("SPREAD", kinds.spread());
    }
    choice = match (form, heads) {
        (Form::Matrix(_), Heads::Every) => choice.part("attention/bases.wgsl"),
        (Form::Matrix(_), _) => choice.parts(&["attention/bases.wgsl", "attention/scales.wgsl"]),
        (Form::Tile(_), Heads::Flagged) => {
            choice.name("flagged").part("attention/flagged_heads.wgsl")
        }
        (Form::Tile(_), _) => choice.part("attention/every_head.wgsl"),
        _ => choice,
    };
    choice = choice.part(if kinds.bytes {
        "attention/factors.wgsl"
    } else {
        "attention/no_factors.wgsl"
    });
    choice = choice.parts(kinds.parts(form, vec4, heads));
    choice = match form {
        Form::Few(_) => choice.parts(&["attention/oct_pieces.wgsl", "attention/sums.wgsl"]),
        Form::Lanes(lanes) => {
            let both = choice.parts(&["attention/oct_pieces.wgsl", "attention/four_keys.wgsl"]);
            match lanes.rows {
                1 => both,
                _ => both.part("attention/sums.wgsl"),
            }
        }
        _ => choice,
    };
    choice = result(choice, dtype, leaves);
    if let Form::Matrix(_) = form {
        choice = choice.parts(&["attention/careful.wgsl", "attention/blocks.wgsl"]);
    }
    let constants: &[(&'static str, u32)] = match form {
        Form::Lanes(lanes) => &[("LANES", lanes.lanes)],
        Form::Matrix(matrix) if matrix.pieces == 2 => &[
            ("KEY_BLOCKS", matrix.key_blocks),
            ("VALUE_BLOCKS", matrix.value_blocks),
            ("LEN", matrix.len()),
            ("SHARED", u32::from(matrix.shared())),
        ],
        Form::Matrix(matrix) => &[
            ("ROW_BLOCKS", matrix.row_blocks),
            ("KEY_BLOCKS", matrix.key_blocks),
            ("VALUE_BLOCKS", matrix.value_blocks),
            ("LEN", matrix.len()),
            ("SHARED", u32::from(matrix.shared())),
        ],
        Form::Tile(tile) => &[
            ("ROWS", tile.rows),
            ("KEYS", tile.keys),
            ("STEPS", tile.steps),
            ("VALUES", tile.values),
            ("LEN", tile.len()),
        ],
        Form::Few(few) => &[
            ("KEY_LANES", few.key_lanes),
            ("KEY_OCTS", few.key_octs),
            ("VALUE_LANES", few.value_lanes),
            ("KEYS", few.keys),
            ("LEN", few.len()),
        ],
    };
    let body = match form {
        Form::Lanes(Lanes { rows: 1, .. }) => "attention/lanes.wgsl",
        Form::Lanes(_) => "attention/lanes_rows.wgsl",
        Form::Matrix(matrix) if matrix.pieces == 2 => "attention/pieces.wgsl",
        Form::Matrix(_) => "attention/matrix.wgsl",
        Form::Tile(_) => "attention/tile.wgsl",
        Form::Few(_) => "attention/few.wgsl",
    };
    let mut choice = choice
        .part(body)
        .constant("WG", form.invocations())
        .without_zeroed_memory()
        // A plan divides by counts that are not 0.
        .without_division_checks();
    for &(name, value) in constants {
        choice = choice.constant(name, value);
    }
    choice
}

/// The kernel that finds which exponents the operands of each key head have.
pub(super) fn ranges(dtype: DType, lengths: bool) -> KernelChoice {
    let (name, part) = lengths_part(lengths);
    let range = match dtype {
        DType::F32 => "attention/range_f32.wgsl",
        _ => "attention/range_bf16.wgsl",
    };
    KernelChoice::new(OP)
        .name(dtype.name())
        .name("ranges")
        .name(name)
        .part(prelude::FLOAT)
        .load(dtype)
        .params("attention/params.wgsl")
        .parts(&[part, range, "attention/ranges.wgsl"])
        .constant("WG", RANGES_WG)
        .without_zeroed_memory()
        .without_division_checks()
}

/// The kernel that merges the states of rows, with so many invocations along columns and along the splits of a row.
pub(super) fn merge(dtype: DType, [lanes, shares]: [u32; 2], leaves: Leaves) -> KernelChoice {
    let choice = KernelChoice::new(OP)
        .name(dtype.name())
        .name("merge")
        .part(prelude::FLOAT)
        .params("attention/params.wgsl")
        .parts(&[
            "attention/weight.wgsl",
            "attention/sight.wgsl",
            "attention/all_keys.wgsl",
            "attention/share.wgsl",
            "attention/state.wgsl",
        ]);
    result(choice, dtype, leaves)
        .part("attention/merge.wgsl")
        .constant("WG", MERGE_WG)
        .constant("LANES", lanes)
        .constant("SHARES", shares)
        .without_zeroed_memory()
        .without_division_checks()
}

/// Every float dtype, alone and with keys and values of bytes, with every mask, with and without lengths and cap; and every
/// form, with some of these parts, which are the same text in each.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for kinds in Kinds::all() {
        let dtype = kinds.dtype;
        for (form, vec4) in forms(kinds) {
            for mask in [None, Some(DType::Bool), Some(DType::F32)] {
                for (lengths, capped) in
                    [(false, false), (true, false), (false, true), (true, true)]
                {
                    let hiding = Hiding {
                        mask,
                        lengths,
                        capped,
                    };
                    let leaves = [Leaves::result(vec4), Leaves::State];
                    let matrix = matches!(form, Form::Matrix(_));
                    let heads: &[_] = match dtype {
                        DType::F32 | DType::BF16 if matrix => &[Heads::Fitting],
                        DType::F32 | DType::BF16
                            if vec4 && !kinds.bytes && matches!(form, Form::Tile(_)) =>
                        {
                            &[Heads::Every, Heads::Flagged]
                        }
                        _ => &[Heads::Every],
                    };
                    if !vec4 || lengths == capped && lengths == mask.is_some() {
                        let both = heads
                            .iter()
                            .flat_map(|&heads| leaves.map(|leaves| (heads, leaves)));
                        all.extend(both.map(|(heads, leaves)| {
                            let choice = kernel(kinds, form, vec4, (hiding, heads), leaves);
                            Candidate::new(choice, AttentionParams::FIELDS)
                        }));
                    }
                }
            }
        }
        if kinds.bytes {
            // What follows reads no keys and values as they are given.
            continue;
        }
        if dtype != DType::F16 {
            let choices = [false, true].map(|lengths| ranges(dtype, lengths));
            all.extend(choices.map(|choice| Candidate::new(choice, AttentionParams::FIELDS)));
        }
        for leaves in [Leaves::Vec4, Leaves::Cells] {
            let choice = merge(dtype, [8, 8], leaves);
            all.push(Candidate::new(choice, AttentionParams::FIELDS));
        }
    }
    all
}

/// Each form once, and how operands are read.
fn forms(kinds: Kinds) -> Vec<(Form, bool)> {
    let problem = |rows, vec4, octs| Problem {
        heads: 1,
        rows,
        keys: 1024,
        head_dim: 64,
        value_dim: 64,
        vec4,
        octs,
        pieces: kinds.pieces(),
        scaled: kinds.dtype != DType::F16,
    };
    let problems = [
        problem(1, true, true),
        problem(4, true, true),
        problem(4, false, false),
        problem(1024, true, true),
    ];
    let mut all = Vec::new();
    for ability in Ability::SAMPLES {
        for p in &problems {
            let form = (ways(p, &ability).default, p.vec4);
            if !all.contains(&form) {
                all.push(form);
            }
        }
    }
    all
}
