//! The samples of each case tell it apart from every case of the same operands and outputs, and from doing nothing: an op
//! with the arithmetic of another would fail. References against references, without a device.

use std::collections::HashMap;

use ziggurat_kernels::DType;

use crate::operands::{Arrangement, Expected, Random};
use crate::sweep::all_cases;
use crate::sweep::case::{Case, Extents, Given, Kind, Placed, Rule};

/// Problems on which the references are compared.
const KINDS: [Kind; 2] = [Kind::Views, Kind::Size(509)];

/// Two names of one thing on these dtypes, and why.
type Same = (&'static str, &'static str, &'static [DType], &'static str);

const UNSIGNED: &[DType] = &[DType::U32, DType::U8];
const BOOL: &[DType] = &[DType::Bool];

const SAME: &[Same] = &[
    ("abs", "relu", UNSIGNED, "no number is negative"),
    ("abs", "copy", UNSIGNED, "no number is negative"),
    ("abs", "cast", UNSIGNED, "no number is negative"),
    ("relu", "copy", UNSIGNED, "no number is negative"),
    ("relu", "cast", UNSIGNED, "no number is negative"),
    ("sum", "sum_abs", UNSIGNED, "no number is negative"),
    ("div", "floor_divide", UNSIGNED, "no quotient is negative"),
    ("fmod", "remainder", UNSIGNED, "no quotient is negative"),
    ("add", "maximum", BOOL, "both are or"),
    ("add", "bitwise_or", BOOL, "both are or"),
    ("maximum", "bitwise_or", BOOL, "both are or"),
    ("scatter_add", "scatter_max", BOOL, "both are or"),
    ("mul", "minimum", BOOL, "both are and"),
    ("mul", "bitwise_and", BOOL, "both are and"),
    ("minimum", "bitwise_and", BOOL, "both are and"),
    ("scatter_mul", "scatter_min", BOOL, "both are and"),
    ("bitwise_xor", "ne", BOOL, "both are exclusive or"),
    (
        "cast",
        "copy",
        &DType::ALL,
        "a cast to the own dtype is a copy",
    ),
    (
        "gelu",
        "gelu_tanh",
        &[DType::BF16],
        "in 8 bits the approximation is as good",
    ),
];

/// Ops that give back an operand, on some dtypes.
const IDLE: &[(&str, &[DType])] = &[
    ("abs", UNSIGNED),
    ("relu", UNSIGNED),
    ("copy", &DType::ALL),
    ("cast", &DType::ALL),
];

/// With one of two numbers a binary op is constant, or gives back the other operand, or is another op.
fn is_trivial(case: &Case, dtype: DType) -> bool {
    dtype.is_bool() && case.form.starts_with("a number")
}

/// Operands made for a case.
struct Sample {
    extents: Extents,
    values: Vec<Vec<f64>>,
}

fn sample(case: &Case, dtype: DType, kind: Kind, seed: u64) -> Option<Sample> {
    let extents = (case.extents)(kind).ok()?;
    let mut rng = Random(seed);
    let values = (case.roles.iter().zip(&extents.operands))
        .map(|(role, dims)| {
            Placed::new(role, dtype, dims, Arrangement::Contiguous, &mut rng).values
        })
        .collect();
    Some(Sample { extents, values })
}

fn results(case: &Case, dtype: DType, sample: &Sample) -> Vec<Expected> {
    let given = Given {
        dtype,
        values: &sample.values,
        dims: &sample.extents.operands,
        out: &sample.extents.outputs,
    };
    (case.expected)(&given).concat()
}

/// Whether some element is further apart than both are allowed to be off, with room.
fn differ(a: &[Expected], b: &[Expected]) -> bool {
    a.iter().zip(b).any(|(a, b)| {
        a.value.is_nan() != b.value.is_nan()
            || (a.value - b.value).abs() > 2.0 * (a.bound + b.bound)
    })
}

fn is_same(dtype: DType, a: &Case, b: &Case) -> bool {
    SAME.iter().any(|(one, other, dtypes, because)| {
        assert!(!because.is_empty());
        dtypes.contains(&dtype)
            && ([a.op, b.op] == [*one, *other] || [b.op, a.op] == [*one, *other])
    })
}

type Signature = (DType, Vec<Rule>, Vec<Rule>, Vec<Extents>);

#[test]
fn samples_tell_every_op_from_those_it_could_be_mistaken_for() {
    let cases = all_cases();
    let mut groups: HashMap<String, Vec<(&Case, DType)>> = HashMap::new();
    for case in &cases {
        for &dtype in &case.dtypes {
            let extents: Vec<Extents> = KINDS
                .iter()
                .filter_map(|&kind| (case.extents)(kind).ok())
                .collect();
            let of = |rule: Rule| Rule::Is(rule.of(dtype));
            let signature: Signature = (
                dtype,
                case.roles.iter().map(|role| of(role.rule)).collect(),
                case.outputs.iter().map(|&rule| of(rule)).collect(),
                extents,
            );
            let group = groups.entry(format!("{signature:?}")).or_default();
            group.push((case, dtype));
        }
    }
    let (mut pairs, mut alike) = (0, Vec::new());
    for group in groups.values() {
        for &(case, dtype) in group {
            let samples: Vec<Sample> = KINDS
                .iter()
                .flat_map(|&kind| (0..3).filter_map(move |seed| sample(case, dtype, kind, seed)))
                .collect();
            let own: Vec<_> = samples
                .iter()
                .map(|sample| results(case, dtype, sample))
                .collect();
            for &(other, _) in group {
                if std::ptr::eq(case, other)
                    || is_same(dtype, case, other)
                    || is_trivial(case, dtype)
                {
                    continue;
                }
                pairs += 1;
                let apart = samples
                    .iter()
                    .zip(&own)
                    .any(|(sample, own)| differ(own, &results(other, dtype, sample)));
                if !apart {
                    alike.push(format!("{dtype} {} and {}", case.name(), other.name()));
                }
            }
        }
    }
    assert!(
        alike.is_empty(),
        "the first's samples do not tell it from the second: {alike:#?}"
    );
    assert!(pairs > 10_000, "only {pairs} pairs were compared");
}

#[test]
fn samples_tell_every_op_from_doing_nothing() {
    for case in all_cases() {
        for &dtype in &case.dtypes {
            let idle = |(op, dtypes): &(&str, &[DType])| *op == case.op && dtypes.contains(&dtype);
            if IDLE.iter().any(idle) || is_trivial(&case, dtype) {
                continue;
            }
            let Some(sample) = sample(&case, dtype, Kind::Views, 23) else {
                continue;
            };
            let own = results(&case, dtype, &sample);
            for (i, values) in sample.values.iter().enumerate() {
                let passed: Vec<Expected> = values.iter().map(|&x| Expected::exact(x)).collect();
                assert!(
                    passed.len() != own.len() || differ(&own, &passed),
                    "{} of {dtype} gives back its operand {i}",
                    case.name()
                );
            }
        }
    }
}

#[test]
fn the_comparison_of_references_sees_a_difference_and_no_more() {
    let of = |value, bound| vec![Expected { value, bound }];
    assert!(differ(&of(1.0, 0.0), &of(1.0 + 1e-9, 0.0)));
    assert!(differ(&of(f64::NAN, 0.0), &of(1.0, 0.0)));
    assert!(differ(&of(f64::INFINITY, 0.0), &of(1.0, 0.0)));
    assert!(!differ(&of(1.0, 0.1), &of(1.1, 0.1)));
    assert!(!differ(&of(f64::NAN, 0.0), &of(f64::NAN, 0.0)));
}
