//! Overrides, and features beyond plain WGSL.

use super::*;
use crate::error::LimitError;

#[test]
fn constants_must_exist_and_fit() {
    let with = |name: &'static str, value| {
        reflect(&kernel(BODY).constant(name, value), ShaderFeatures::NONE).unwrap_err()
    };
    let error = with("WQ", 1.0);
    assert!(
        matches!(&error, PipelineError::UnknownConstant { name, have, .. }
            if name == "WQ" && *have == ["`WG` (body.wgsl:8:1)"]),
        "{error}"
    );
    for value in [f64::NAN, 1e20] {
        let error = with("WG", value);
        assert!(
            matches!(error, PipelineError::ConstantValue { .. }),
            "{value}: {error:?}"
        );
    }
    let error = plain(
        "override N: u32;
         @compute @workgroup_size(N) fn main() {}",
    )
    .unwrap_err();
    assert!(
        matches!(&error, PipelineError::MissingConstant { name, place, .. } if place.line == 1 && name == "N"),
        "{error:?}"
    );
}

#[test]
fn overrides_are_in_the_order_of_the_text() {
    let text = "override A: u32 = 1;\noverride B: u32 = A * C;\noverride C: u32 = 2;\n\
                @compute @workgroup_size(A) fn main() { _ = B + C; }";
    let names = plain(text).unwrap().overrides.into_iter().map(|o| o.name);
    assert_eq!(names.collect::<Vec<_>>(), ["A", "B", "C"]);
}

#[test]
fn overrides_with_a_number_go_by_it() {
    let body = "@id(7) override N: u32 = 3;
        @compute @workgroup_size(N) fn main() {}";
    let found = reflect(&kernel(body).constant("7", 5.0), ShaderFeatures::NONE).unwrap();
    assert_eq!(found.workgroup_size, [5, 1, 1]);
    let error = reflect(&kernel(body).constant("N", 5.0), ShaderFeatures::NONE).unwrap_err();
    assert!(
        matches!(error, PipelineError::UnknownConstant { .. }),
        "{error}"
    );
}

#[test]
fn missing_features_are_named_with_their_line() {
    let half = "enable f16;
@group(0) @binding(0) var<storage, read_write> a: array<f16>;
@compute @workgroup_size(1) fn main() { a[0] = 1.0h; }";
    let source = ShaderSource::wgsl("half.wgsl", half);
    let descriptor = KernelDescriptor::new(source);
    let error = reflect(&descriptor, ShaderFeatures::NONE).unwrap_err();
    assert!(
        matches!(&error, PipelineError::Limit(LimitError::MissingFeature { place, feature: "f16", .. }) if place.file == "half.wgsl" && place.line > 0),
        "{error:?}"
    );
    let has = ShaderFeatures::NONE.with(ShaderFeature::F16);
    let found = reflect(&descriptor, has).unwrap();
    assert_eq!(found.features, has);
    assert_eq!(found.bindings[0].scalar, Scalar::F16);

    let subgroup = "@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(1) fn main() {
    a[0] = subgroupAdd(1.0);
}";
    let error = plain(subgroup).unwrap_err();
    assert!(
        matches!(&error, PipelineError::Limit(LimitError::MissingFeature { place, feature: "subgroup operations", .. }) if place.line > 0),
        "{error:?}"
    );
    let found = reflect(&kernel(subgroup), ShaderFeatures::all()).unwrap();
    assert_eq!(
        found.features.iter().collect::<Vec<_>>(),
        [ShaderFeature::Subgroups]
    );
}

#[test]
fn immediates_are_a_feature_and_a_place_for_parameters() {
    let body = "struct P { a: u32, b: vec2<u32> }
var<immediate> params: P;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { out[0] = params.a + params.b.y; }";
    let error = plain(body).unwrap_err();
    assert!(
        matches!(
            &error,
            PipelineError::Limit(LimitError::MissingFeature {
                place,
                feature: "immediates",
                ..
            }) if place.line == 2
        ),
        "{error:?}"
    );
    let has = ShaderFeatures::NONE.with(ShaderFeature::Immediates);
    let params = reflect(&kernel(body), has).unwrap().params.unwrap();
    assert_eq!((params.space, params.bytes), (ParamSpace::Immediate, 16));
}
