//! All kernels of the catalogue compile.

use super::compile_for;
use crate::profile::Profile;

#[test]
fn every_kernel_of_the_catalogue_compiles() {
    let mut count = 0;
    for variant in ziggurat_kernels::catalogue().unwrap() {
        let source = variant.descriptor.source.text();
        let constants: Vec<(&str, f64)> = variant
            .descriptor
            .constants
            .iter()
            .map(|(k, v)| (k.as_ref(), *v))
            .collect();
        let made = compile_for(&source, &Profile::nvidia(), &constants);
        assert!(made.is_ok(), "{}: {made:?}", variant.name);
        count += 1;
    }
    assert!(count > 500);
}
