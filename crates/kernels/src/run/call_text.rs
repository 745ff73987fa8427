//! Calls and elementwise ops as text, for programs that write down what ran and run it again elsewhere.
//!
//! A text is one line of words: the op, then `option=value`. Floats are the hexadecimal digits of their bits.
//!
//! Invariants: what was written reads back as an equal call; a word that is missing or unknown is an error that names it.

mod words;

use std::fmt::{self, Display, Write as _};

use ziggurat_core::DType;

use crate::fused::FusedOp;
use crate::ops::arg_reduce::ArgReduce;
use crate::ops::attention::AttentionOptions;
use crate::ops::conv::{ConvOptions, ConvTransposeOptions};
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::predicate::Predicate;
use crate::ops::elementwise::unary::Unary;
use crate::ops::matmul::precision::MatmulPrecision;
use crate::ops::norm::{Channels, Norm};
use crate::ops::quantised::{BlockShape, LinearForm};
use crate::ops::reduce::Reduce;
use crate::ops::rope::{RopeOptions, RopeRows};
use crate::ops::softmax::SoftmaxKind;
use crate::run::call::{Call, CallKind, F32Bits, ReduceOp};

use words::Words;

#[cfg(test)]
mod tests;

/// A text that is no call: see [`Call::from_text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTextError(String);

impl Display for CallTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CallTextError {}

fn wrong(text: impl Into<String>) -> CallTextError {
    CallTextError(text.into())
}

/// Numbers with commas between.
fn list(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    numbers.join(",")
}

fn bits(number: F32Bits) -> String {
    format!("{:08x}", number.get().to_bits())
}

fn blocks(blocks: &BlockShape) -> String {
    let ([rows, cols], format) = (blocks.dims(), blocks.format().id());
    format!(
        "format={format} rows={rows} cols={cols} f16={}",
        blocks.fits_f16()
    )
}

impl Call {
    /// The call in one line; `None` for a reduction by a user's operator, which is not known elsewhere.
    ///
    /// ```
    /// use ziggurat_kernels::{Call, Reduce};
    ///
    /// let call = Call::reduce(Reduce::Sum, &[1]);
    /// assert_eq!(call.to_text().as_deref(), Some("reduce op=sum argument=00000000 axes=1"));
    /// assert_eq!(Call::from_text("reduce op=sum argument=00000000 axes=1"), Ok(call));
    /// ```
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        Some(match self.kind() {
            CallKind::Reduce { op, .. } if op.user.is_some() => return None,
            CallKind::Reduce { op, axes } => {
                let (name, argument) = (op.op.name(), bits(op.argument));
                format!(
                    "reduce op={name} argument={argument} axes={}",
                    list(axes.as_slice())
                )
            }
            CallKind::VarMean { correction, axes } => {
                let axes = list(axes.as_slice());
                format!("var_mean correction={} axes={axes}", bits(*correction))
            }
            CallKind::Search {
                op,
                axes,
                select_last,
            } => {
                let (name, axes) = (op.name(), list(axes.as_slice()));
                format!("search op={name} axes={axes} last={select_last}")
            }
            CallKind::Softmax { kind, axis } => format!("softmax op={} axis={axis}", kind.name()),
            CallKind::Norm {
                op,
                axes,
                eps,
                channels,
            } => {
                let channels = list(&[channels.period, channels.step, channels.span]);
                let (name, eps) = (op.name(), bits(*eps));
                format!("norm op={name} axes={axes} eps={eps} channels={channels}")
            }
            CallKind::Rope { options, rows } => {
                let RopeOptions {
                    interleaved,
                    positions_before_heads,
                } = options;
                let rows = match rows {
                    RopeRows::From(row) => row.to_string(),
                    RopeRows::PerBatch => "batch".to_owned(),
                    RopeRows::Given => "given".to_owned(),
                };
                format!(
                    "rope interleaved={interleaved} before={positions_before_heads} rows={rows}"
                )
            }
            CallKind::Matmul { precision } => format!("matmul precision={}", precision.name()),
            CallKind::QuantizedLinear { weight, form } => {
                let norm = form.rms_norm.map(|eps| format!(" rms_norm={}", bits(eps)));
                let (blocks, norm) = (blocks(weight), norm.unwrap_or_default());
                format!("quantized_linear{norm} {blocks} swiglu={}", form.swiglu)
            }
            CallKind::Dequantize {
                blocks: shape,
                rows: [first, count],
            } => format!("dequantize {} first={first} count={count}", blocks(shape)),
            CallKind::QuantizedEmbedding { table } => {
                format!("quantized_embedding {}", blocks(table))
            }
            CallKind::QuantizeRows => "quantize_rows".to_owned(),
            CallKind::Attention { options } => attention(options),
            CallKind::Conv { axes, options: o } => format!(
                "conv axes={axes} stride={} begin={} end={} dilation={} groups={} same={}",
                list(&o.stride),
                list(&o.padding_begin),
                list(&o.padding_end),
                list(&o.dilation),
                o.groups,
                o.same
            ),
            CallKind::ConvTranspose { axes, options: o } => format!(
                "conv_transpose axes={axes} stride={} begin={} end={} dilation={} out={} groups={}",
                list(&o.stride),
                list(&o.padding_begin),
                list(&o.padding_end),
                list(&o.dilation),
                list(&o.output_padding),
                o.groups
            ),
        })
    }

    /// The call of a text.
    ///
    /// # Errors
    /// If it is no text of [`Call::to_text`]: what is missing, or not known.
    pub fn from_text(text: &str) -> Result<Self, CallTextError> {
        let words = Words::of(text)?;
        Ok(Self::new(match words.op {
            "reduce" => CallKind::Reduce {
                op: ReduceOp {
                    argument: words.float("argument")?,
                    ..words.named("op", &Reduce::ALL, |op| op.name())?.into()
                },
                axes: words.axes()?,
            },
            "var_mean" => CallKind::VarMean {
                correction: words.float("correction")?,
                axes: words.axes()?,
            },
            "search" => CallKind::Search {
                op: words.named("op", &ArgReduce::ALL, |op| op.name())?,
                axes: words.axes()?,
                select_last: words.get("last")?,
            },
            "softmax" => CallKind::Softmax {
                kind: words.named("op", &SoftmaxKind::ALL, |op| op.name())?,
                axis: words.get("axis")?,
            },
            "norm" => {
                let [period, step, span] = words.three("channels")?;
                CallKind::Norm {
                    op: words.named("op", &Norm::ALL, |op| op.name())?,
                    axes: words.get("axes")?,
                    eps: words.float("eps")?,
                    channels: Channels { period, step, span },
                }
            }
            "rope" => CallKind::Rope {
                options: RopeOptions {
                    interleaved: words.get("interleaved")?,
                    positions_before_heads: words.get("before")?,
                },
                rows: match words.word("rows")? {
                    "batch" => RopeRows::PerBatch,
                    "given" => RopeRows::Given,
                    _ => RopeRows::From(words.get("rows")?),
                },
            },
            "matmul" => CallKind::Matmul {
                precision: words.named("precision", &MatmulPrecision::ALL, |precision| {
                    precision.name()
                })?,
            },
            "quantized_linear" => CallKind::QuantizedLinear {
                weight: words.blocks()?,
                form: LinearForm {
                    rms_norm: words.given_float("rms_norm")?,
                    swiglu: words.get("swiglu")?,
                },
            },
            "dequantize" => CallKind::Dequantize {
                blocks: words.blocks()?,
                rows: [words.get("first")?, words.get("count")?],
            },
            "quantized_embedding" => CallKind::QuantizedEmbedding {
                table: words.blocks()?,
            },
            "quantize_rows" => CallKind::QuantizeRows,
            "attention" => CallKind::Attention {
                options: AttentionOptions {
                    scale: words.float("scale")?.get(),
                    softcap: words.float("softcap")?.get(),
                    causal: words.get("causal")?,
                    shift: words.get("shift")?,
                    left_window: words.given("left")?,
                    right_window: words.given("right")?,
                    zero_masked_rows: words.get("zero")?,
                },
            },
            "conv" => CallKind::Conv {
                axes: words.get("axes")?,
                options: ConvOptions {
                    stride: words.three("stride")?,
                    padding_begin: words.three("begin")?,
                    padding_end: words.three("end")?,
                    dilation: words.three("dilation")?,
                    groups: words.get("groups")?,
                    same: words.get("same")?,
                },
            },
            "conv_transpose" => CallKind::ConvTranspose {
                axes: words.get("axes")?,
                options: ConvTransposeOptions {
                    stride: words.three("stride")?,
                    padding_begin: words.three("begin")?,
                    padding_end: words.three("end")?,
                    dilation: words.three("dilation")?,
                    output_padding: words.three("out")?,
                    groups: words.get("groups")?,
                },
            },
            op => return Err(wrong(format!("there is no call `{op}`"))),
        }))
    }
}

fn attention(o: &AttentionOptions) -> String {
    let (scale, softcap) = (bits(o.scale.into()), bits(o.softcap.into()));
    let mut text = format!(
        "attention scale={scale} softcap={softcap} causal={} shift={} zero={}",
        o.causal, o.shift, o.zero_masked_rows
    );
    for (name, window) in [("left", o.left_window), ("right", o.right_window)] {
        if let Some(window) = window {
            // Writing to a string cannot fail.
            let _written = write!(text, " {name}={window}");
        }
    }
    text
}

impl FusedOp {
    /// The op in one line; `None` for a user's own.
    ///
    /// ```
    /// use ziggurat_kernels::{Binary, FusedOp};
    ///
    /// let add = FusedOp::Binary(Binary::Add);
    /// assert_eq!(add.to_text().as_deref(), Some("binary op=add"));
    /// assert_eq!(FusedOp::from_text("binary op=add"), Ok(add));
    /// ```
    #[must_use]
    pub fn to_text(self) -> Option<String> {
        Some(match self {
            Self::Unary(op) => format!("unary op={}", op.spec().name),
            Self::Binary(op) => format!("binary op={}", op.spec().name),
            Self::Compare(op) => format!("compare op={}", op.spec().name),
            Self::Predicate(op) => format!("predicate op={}", op.spec().name),
            Self::Where => "where".to_owned(),
            Self::Cast(to) => format!("cast to={}", to.name()),
            Self::User(_) => return None,
        })
    }

    /// The op of a text.
    ///
    /// # Errors
    /// If it is no text of [`FusedOp::to_text`].
    pub fn from_text(text: &str) -> Result<Self, CallTextError> {
        let words = Words::of(text)?;
        Ok(match words.op {
            "unary" => Self::Unary(words.named("op", Unary::ALL, |op| op.spec().name)?),
            "binary" => Self::Binary(words.named("op", Binary::ALL, |op| op.spec().name)?),
            "compare" => Self::Compare(words.named("op", Compare::ALL, |op| op.spec().name)?),
            "predicate" => Self::Predicate(words.named("op", Predicate::ALL, |op| op.spec().name)?),
            "where" => Self::Where,
            "cast" => Self::Cast(words.named("to", &DType::ALL, |dtype| dtype.name())?),
            op => return Err(wrong(format!("there is no elementwise op `{op}`"))),
        })
    }
}
