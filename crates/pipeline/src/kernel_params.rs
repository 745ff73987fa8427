//! Parameter structs of Rust whose bytes are those of a WGSL struct: offsets and padding are computed when the program is
//! compiled, and compared with the shader's when it is dispatched.
//!
//! Invariant: the text that [`KernelParams::wgsl`] gives declares exactly the offsets that [`KernelParams::to_bytes`] fills.

use std::sync::Arc;

use crate::error::{ArgumentError, PipelineError};
use crate::reflect::{ParamSpace, Params, Reflection};

/// One field of a [`KernelParams`] struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamField {
    /// Its name, in Rust and in WGSL.
    pub name: &'static str,
    /// Its type in WGSL.
    pub wgsl: &'static str,
    /// Its offset in bytes.
    pub offset: usize,
    /// Its bytes.
    pub bytes: usize,
    /// What its offset is a multiple of.
    pub align: usize,
}

impl ParamField {
    /// The fields of a struct, in order, each at the next offset that WGSL allows.
    #[must_use]
    pub const fn layout<const N: usize>(mut fields: [Self; N]) -> [Self; N] {
        let mut end = 0usize;
        let mut at = 0;
        while at < N {
            let align = fields[at].align;
            end = end.next_multiple_of(align);
            fields[at].offset = end;
            end += fields[at].bytes;
            at += 1;
        }
        fields
    }

    /// The field of a type, before it has a place.
    #[must_use]
    pub const fn of<T: ParamType>(name: &'static str) -> Self {
        Self {
            name,
            wgsl: T::WGSL,
            offset: 0,
            bytes: T::BYTES,
            align: T::ALIGN,
        }
    }

    /// Bytes of a struct of these fields.
    #[must_use]
    pub const fn struct_bytes(fields: &[Self]) -> usize {
        let (mut end, mut align, mut at) = (0, 1, 0);
        while at < fields.len() {
            let field = &fields[at];
            end = field.offset + field.bytes;
            if field.align > align {
                align = field.align;
            }
            at += 1;
        }
        end.next_multiple_of(align)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of a field: `f32`, `u32`, `i32`, an array of two to four of them (a vector), or `[[f32; R]; C]` (a matrix of `C`
/// columns and `R` rows).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of a kernel parameter",
    note = "use f32, u32, i32, an array of two to four of them (a vector), or [[f32; R]; C] (a matrix of C columns)"
)]
pub trait ParamType: sealed::Sealed {
    /// Its name in WGSL.
    const WGSL: &'static str;
    /// Its bytes in WGSL.
    const BYTES: usize;
    /// What its offset is a multiple of.
    const ALIGN: usize;

    /// Fills as many bytes as it has.
    fn fill(&self, bytes: &mut [u8]);
}

fn put(bytes: &mut [u8], offset: usize, word: [u8; 4]) {
    if let Some(place) = bytes.get_mut(offset..offset + 4) {
        place.copy_from_slice(&word);
    }
}

macro_rules! scalars {
    ($($ty:ident),*) => {$(
        impl sealed::Sealed for $ty {}
        impl ParamType for $ty {
            const WGSL: &'static str = stringify!($ty);
            const BYTES: usize = 4;
            const ALIGN: usize = 4;
            fn fill(&self, bytes: &mut [u8]) {
                put(bytes, 0, self.to_le_bytes());
            }
        }
        vectors!($ty: 2 8, 3 16, 4 16);
    )*};
}

macro_rules! vectors {
    ($ty:ident: $($lanes:literal $align:literal),*) => {$(
        impl sealed::Sealed for [$ty; $lanes] {}
        impl ParamType for [$ty; $lanes] {
            const WGSL: &'static str = concat!("vec", $lanes, "<", stringify!($ty), ">");
            const BYTES: usize = 4 * $lanes;
            const ALIGN: usize = $align;
            fn fill(&self, bytes: &mut [u8]) {
                for (at, lane) in self.iter().enumerate() {
                    put(bytes, 4 * at, lane.to_le_bytes());
                }
            }
        }
    )*};
}

macro_rules! matrices {
    ($($columns:literal x $rows:literal: $align:literal),*) => {$(
        impl sealed::Sealed for [[f32; $rows]; $columns] {}
        impl ParamType for [[f32; $rows]; $columns] {
            const WGSL: &'static str = concat!("mat", $columns, "x", $rows, "<f32>");
            const BYTES: usize = $align * $columns;
            const ALIGN: usize = $align;
            fn fill(&self, bytes: &mut [u8]) {
                for (column, rows) in self.iter().enumerate() {
                    for (row, value) in rows.iter().enumerate() {
                        put(bytes, $align * column + 4 * row, value.to_le_bytes());
                    }
                }
            }
        }
    )*};
}

scalars!(f32, u32, i32);
matrices!(2 x 2: 8, 2 x 3: 16, 2 x 4: 16, 3 x 2: 8, 3 x 3: 16, 3 x 4: 16, 4 x 2: 8, 4 x 3: 16, 4 x 4: 16);

/// A struct of parameters, by `#[derive(KernelParams)]`.
///
/// ```
/// use ziggurat_pipeline::KernelParams;
///
/// #[derive(KernelParams)]
/// struct Blur {
///     sigma: f32,
///     size: [u32; 2],
///     colour: [[f32; 4]; 4],
/// }
///
/// let blur = Blur { sigma: 1.5, size: [640, 480], colour: [[0.0; 4]; 4] };
/// // `size` is at byte 8 and `colour` at 16, as WGSL has it.
/// assert_eq!(blur.to_bytes().len(), 80);
/// assert_eq!(
///     Blur::wgsl("Blur"),
///     "struct Blur {\n    sigma: f32,\n    size: vec2<u32>,\n    colour: mat4x4<f32>,\n}\n"
/// );
/// ```
///
/// [`Arg::uniform`](crate::Arg::uniform) takes the bytes, and [`Reflection::check_params`] compares the fields with those of a
/// shader that declares the struct itself.
pub trait KernelParams {
    /// The fields, in order.
    const FIELDS: &'static [ParamField];

    /// The bytes, with the padding that WGSL wants, which is 0.
    fn to_bytes(&self) -> Vec<u8>;

    /// The declaration of the struct in WGSL, to be a part of a shader.
    #[must_use]
    fn wgsl(name: &str) -> String {
        let fields = Self::FIELDS.iter();
        let fields = fields.map(|field| format!("    {}: {},\n", field.name, field.wgsl));
        format!("struct {name} {{\n{}}}\n", fields.collect::<String>())
    }
}

impl Params {
    /// Compares a struct of Rust with the variable's: names, types and offsets, field by field. A variable that is no struct
    /// is compared with a struct of one field by its bytes.
    fn differs(&self, fields: &[ParamField]) -> Option<String> {
        let bytes = ParamField::struct_bytes(fields);
        if self.members.is_empty() {
            let alike = fields.len() == 1 && bytes == self.bytes as usize;
            return (!alike).then(|| format!("it is no struct and has {} bytes", self.bytes));
        }
        let count = fields.len().max(self.members.len());
        for index in 0..count {
            let declared = self.members.get(index);
            let (Some(field), Some(member)) = (fields.get(index), declared) else {
                let (in_wgsl, in_rust) = (self.members.len(), fields.len());
                return Some(format!(
                    "it has {in_wgsl} fields, the struct of Rust {in_rust}"
                ));
            };
            let same = field.name == member.name
                && field.offset == member.offset as usize
                && field.bytes == member.bytes as usize
                && field.wgsl.contains(&member.scalar.to_string());
            if !same {
                return Some(format!(
                    "field {index} is `{}` of {} ({} bytes at {}) here, and `{}: {}` ({} bytes at {}) in Rust",
                    member.name,
                    member.scalar,
                    member.bytes,
                    member.offset,
                    field.name,
                    field.wgsl,
                    field.bytes,
                    field.offset
                ));
            }
        }
        (bytes != self.bytes as usize)
            .then(|| format!("it has {} bytes, the struct of Rust {bytes}", self.bytes))
    }
}

impl Reflection {
    /// Compares `P` with the struct of the shader's parameters: the immediate variable, or the uniform of that name.
    ///
    /// # Errors
    ///
    /// [`ArgumentError::ParamsLayout`], which names the first field that differs; it also says if there is no such variable.
    pub fn check_params<P: KernelParams>(&self, variable: &str) -> Result<(), PipelineError> {
        let mut all = self.variables();
        let found = all.find(|params| params.name == variable);
        self.check_fields(variable, found, P::FIELDS)
    }

    /// [`Self::check_params`] for a variable by its number: the immediate variable first, then uniforms by group and binding.
    ///
    /// # Errors
    ///
    /// As [`Self::check_params`].
    pub fn check_params_at(
        &self,
        number: usize,
        fields: &[ParamField],
    ) -> Result<(), PipelineError> {
        let found = self.variables().nth(number);
        let name = found.map_or("parameters", |params| params.name.as_str());
        self.check_fields(name, found, fields)
    }

    fn variables(&self) -> impl Iterator<Item = &Params> {
        let immediate = self.params.iter();
        let immediate = immediate.filter(|params| params.space == ParamSpace::Immediate);
        immediate.chain(&self.uniforms)
    }

    fn check_fields(
        &self,
        name: &str,
        found: Option<&Params>,
        fields: &[ParamField],
    ) -> Result<(), PipelineError> {
        let detail = match found {
            None => Some("the shader has no such uniform or immediate".to_owned()),
            Some(params) => params.differs(fields),
        };
        detail.map_or(Ok(()), |detail| {
            Err(PipelineError::Argument(ArgumentError::ParamsLayout {
                kernel: self.kernel.clone(),
                place: Arc::clone(found.map_or(&self.place, |params| &params.place)),
                name: name.to_owned(),
                detail,
            }))
        })
    }
}
