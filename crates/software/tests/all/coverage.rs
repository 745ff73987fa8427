//! The constructs of naga's that the rows of `differential/constructs.txt` contain, against all that there
//! are: what is in no row is refused, or is named here with its test.
//!
//! A new version of naga's with a new construct does not compile here until it has a place.

use std::collections::BTreeSet;

use crate::differential::rows::rows;
use naga::{Block, Expression, Function, Module, Statement};

const DOCS: &str = include_str!("../../../../docs/software-device.md");

/// For each enum: a name for each of its variants, which is complete by the compiler's word, and the list
/// of the names.
macro_rules! variants {
    ($($ty:ident {$($name:ident)*})*) => {
        trait Named {
            fn named(&self) -> String;
        }
        $(impl Named for naga::$ty {
            fn named(&self) -> String {
                let name = match self {
                    $(Self::$name { .. } => stringify!($name),)*
                };
                format!("{}::{name}", stringify!($ty))
            }
        })*
        const ALL: &[&str] = &[$($(concat!(stringify!($ty), "::", stringify!($name)),)*)*];
    };
}

variants! {
    AddressSpace {
        Function Private WorkGroup Uniform Storage Handle Immediate TaskPayload RayPayload
        IncomingRayPayload
    }
    BuiltIn {
        PrimitiveIndex Position ViewIndex BaseInstance BaseVertex ClipDistances CullDistance
        InstanceIndex PointSize VertexIndex DrawIndex FragDepth PointCoord FrontFacing Barycentric
        SampleIndex SampleMask GlobalInvocationId LocalInvocationId LocalInvocationIndex WorkGroupId
        WorkGroupSize NumWorkGroups NumSubgroups SubgroupId SubgroupSize SubgroupInvocationId
        MeshTaskSize CullPrimitive PointIndex LineIndices TriangleIndices VertexCount Vertices
        PrimitiveCount Primitives RayInvocationId NumRayInvocations InstanceCustomData GeometryIndex
        WorldRayOrigin WorldRayDirection ObjectRayOrigin ObjectRayDirection RayTmin RayTCurrentMax
        ObjectToWorld WorldToObject HitKind
    }
    TypeInner {
        Scalar Vector Matrix CooperativeMatrix Atomic Pointer ValuePointer Array Struct Image
        Sampler AccelerationStructure RayQuery BindingArray
    }
    Literal {
        F64 F32 F16 U16 I16 U32 I32 U64 I64 Bool AbstractInt AbstractFloat
    }
    UnaryOperator {
        Negate LogicalNot BitwiseNot
    }
    BinaryOperator {
        Add Subtract Multiply Divide Modulo Equal NotEqual Less LessEqual Greater GreaterEqual And
        ExclusiveOr InclusiveOr LogicalAnd LogicalOr ShiftLeft ShiftRight
    }
    AtomicFunction {
        Add Subtract And ExclusiveOr InclusiveOr Min Max Exchange
    }
    RelationalFunction {
        All Any IsNan IsInf
    }
    MathFunction {
        Abs Min Max Clamp Saturate Cos Cosh Sin Sinh Tan Tanh Acos Asin Atan Atan2 Asinh Acosh Atanh
        Radians Degrees Ceil Floor Round Fract Trunc Modf Frexp Ldexp Exp Exp2 Log Log2 Pow Dot
        Dot4I8Packed Dot4U8Packed Outer Cross Distance Length Normalize FaceForward Reflect Refract
        Sign Fma Mix Step SmoothStep Sqrt InverseSqrt Inverse Transpose Determinant QuantizeToF16
        CountTrailingZeros CountLeadingZeros CountOneBits ReverseBits ExtractBits InsertBits
        FirstTrailingBit FirstLeadingBit Pack4x8snorm Pack4x8unorm Pack2x16snorm Pack2x16unorm
        Pack2x16float Pack4xI8 Pack4xU8 Pack4xI8Clamp Pack4xU8Clamp Unpack4x8snorm Unpack4x8unorm
        Unpack2x16snorm Unpack2x16unorm Unpack2x16float Unpack4xI8 Unpack4xU8
    }
    GatherMode {
        BroadcastFirst Broadcast Shuffle ShuffleDown ShuffleUp ShuffleXor QuadBroadcast QuadSwap
    }
    SubgroupOperation {
        All Any Add Mul Min Max And Or Xor
    }
    CollectiveOperation {
        Reduce InclusiveScan ExclusiveScan
    }
    Expression {
        Literal Constant Override ZeroValue Compose Access AccessIndex Splat Swizzle
        FunctionArgument GlobalVariable LocalVariable Load ImageSample ImageLoad ImageQuery Unary
        Binary Select Derivative Relational Math As CallResult AtomicResult
        WorkGroupUniformLoadResult ArrayLength RayQueryVertexPositions RayQueryProceedResult
        RayQueryGetIntersection SubgroupBallotResult SubgroupOperationResult CooperativeLoad
        CooperativeMultiplyAdd
    }
    Statement {
        Emit Block If Switch Loop Break Continue Return Kill ControlBarrier MemoryBarrier Store
        ImageStore Atomic ImageAtomic WorkGroupUniformLoad Call RayQuery RayPipelineFunction
        SubgroupBallot SubgroupGather SubgroupCollectiveOperation CooperativeStore
    }
}

/// Refused when a pipeline or its module is made; the table in the documentation names the group.
const REFUSED: [(&str, &[&str]); 5] = [
    ("binding arrays", &["TypeInner::BindingArray"]),
    ("`Inverse`", &["MathFunction::Inverse"]),
    ("`discard`", &["Statement::Kill"]),
    ("derivatives", &["Expression::Derivative"]),
    (
        "ray queries",
        &[
            "AddressSpace::RayPayload",
            "AddressSpace::IncomingRayPayload",
            "TypeInner::AccelerationStructure",
            "TypeInner::RayQuery",
            "Expression::RayQueryVertexPositions",
            "Expression::RayQueryProceedResult",
            "Expression::RayQueryGetIntersection",
            "Statement::RayQuery",
            "Statement::RayPipelineFunction",
        ],
    ),
];

/// Built-in values that compute shaders have; the rest belongs to other stages.
const BUILT_IN: [&str; 9] = [
    "GlobalInvocationId",
    "LocalInvocationId",
    "LocalInvocationIndex",
    "WorkGroupId",
    "NumWorkGroups",
    "NumSubgroups",
    "SubgroupId",
    "SubgroupSize",
    "SubgroupInvocationId",
];

/// Where textures are compared with computed values.
const TEXTURES: &str = "crates/pipeline/tests/adapter/textures.rs";

/// In no row, since WGSL has no way to say it or another test runs it.
const ELSEWHERE: [(&str, &str); 27] = [
    ("AddressSpace::Handle", TEXTURES),
    ("TypeInner::Image", TEXTURES),
    ("TypeInner::Sampler", TEXTURES),
    ("Expression::ImageSample", TEXTURES),
    ("Expression::ImageLoad", TEXTURES),
    ("Expression::ImageQuery", TEXTURES),
    ("Statement::ImageStore", TEXTURES),
    ("Statement::ImageAtomic", TEXTURES),
    ("BinaryOperator::LogicalAnd", "an if once WGSL is read"),
    ("BinaryOperator::LogicalOr", "an if once WGSL is read"),
    ("MathFunction::Outer", "not in WGSL"),
    ("Expression::Constant", "its value once WGSL is read"),
    ("Statement::MemoryBarrier", "not in WGSL"),
    ("AddressSpace::Uniform", "tests/all/backend/running.rs"),
    ("AddressSpace::Immediate", "tests/all/backend/passes.rs"),
    ("AddressSpace::TaskPayload", "of another stage"),
    ("BuiltIn::WorkGroupSize", "not in WGSL"),
    ("BuiltIn::NumSubgroups", "src/engine/tests/parallel.rs"),
    (
        "TypeInner::CooperativeMatrix",
        "src/engine/tests/parallel.rs",
    ),
    ("TypeInner::ValuePointer", "of expressions only"),
    ("Literal::AbstractInt", "gone once WGSL is read"),
    ("Literal::AbstractFloat", "gone once WGSL is read"),
    ("RelationalFunction::IsNan", "not in WGSL"),
    ("RelationalFunction::IsInf", "not in WGSL"),
    (
        "Expression::CooperativeLoad",
        "src/engine/tests/parallel.rs",
    ),
    (
        "Expression::CooperativeMultiplyAdd",
        "src/engine/tests/parallel.rs",
    ),
    (
        "Statement::CooperativeStore",
        "src/engine/tests/parallel.rs",
    ),
];

/// Collects the names of what a module holds.
#[derive(Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    fn note(&mut self, named: &impl Named) {
        self.0.insert(named.named());
    }

    fn module(&mut self, module: &Module) {
        for (_, ty) in module.types.iter() {
            self.note(&ty.inner);
        }
        for (_, variable) in module.global_variables.iter() {
            self.note(&variable.space);
        }
        for (_, expression) in module.global_expressions.iter() {
            self.expression(expression);
        }
        for (_, function) in module.functions.iter() {
            self.function(function);
        }
        for point in &module.entry_points {
            for argument in &point.function.arguments {
                if let Some(naga::Binding::BuiltIn(value)) = &argument.binding {
                    self.note(value);
                }
            }
            self.function(&point.function);
        }
    }

    fn function(&mut self, function: &Function) {
        if !function.local_variables.is_empty() {
            self.note(&naga::AddressSpace::Function);
        }
        for (_, expression) in function.expressions.iter() {
            self.expression(expression);
        }
        self.block(&function.body);
    }

    fn expression(&mut self, expression: &Expression) {
        self.note(expression);
        match expression {
            Expression::Literal(literal) => self.note(literal),
            Expression::Unary { op, .. } => self.note(op),
            Expression::Binary { op, .. } => self.note(op),
            Expression::Relational { fun, .. } => self.note(fun),
            Expression::Math { fun, .. } => self.note(fun),
            _ => {}
        }
    }

    fn block(&mut self, block: &Block) {
        for statement in block.iter() {
            self.note(statement);
            match statement {
                Statement::Block(block) => self.block(block),
                Statement::If { accept, reject, .. } => {
                    self.block(accept);
                    self.block(reject);
                }
                Statement::Switch { cases, .. } => {
                    for case in cases {
                        self.block(&case.body);
                    }
                }
                Statement::Loop {
                    body, continuing, ..
                } => {
                    self.block(body);
                    self.block(continuing);
                }
                Statement::Atomic { fun, .. } => self.note(fun),
                Statement::SubgroupGather { mode, .. } => self.note(mode),
                Statement::SubgroupCollectiveOperation {
                    op, collective_op, ..
                } => {
                    self.note(op);
                    self.note(collective_op);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_construct_has_a_row_or_a_reason() {
    let mut seen = Seen::default();
    for row in rows() {
        let text = row.text();
        let module = naga::front::wgsl::parse_str(&text)
            .unwrap_or_else(|error| panic!("{}: {}", row.name, error.emit_to_string(&text)));
        seen.module(&module);
    }
    for (group, _) in REFUSED {
        assert!(
            DOCS.contains(group),
            "the documentation does not say that {group} are refused"
        );
    }
    let refused: Vec<&str> = REFUSED
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    let excused = |name: &str| {
        let of_another_stage = name
            .strip_prefix("BuiltIn::")
            .is_some_and(|value| !BUILT_IN.contains(&value));
        of_another_stage
            || refused.contains(&name)
            || ELSEWHERE.iter().any(|(known, _)| *known == name)
    };
    let missing: Vec<_> = ALL
        .iter()
        .filter(|name| !seen.0.contains(**name) && !excused(name))
        .collect();
    assert!(missing.is_empty(), "in no row: {missing:?}");
    let stale: Vec<_> = refused
        .iter()
        .copied()
        .chain(ELSEWHERE.map(|(name, _)| name))
        .filter(|name| seen.0.contains(*name) || !ALL.contains(name))
        .collect();
    assert!(
        stale.is_empty(),
        "in a row after all, or unknown: {stale:?}"
    );
    println!("{} of {} constructs are in rows", seen.0.len(), ALL.len());
}
