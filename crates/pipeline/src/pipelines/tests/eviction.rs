//! Kernels are kept up to a number; beyond it those that were not used for longest go.

use super::*;

const MOST: u32 = 16;

fn few() -> Pipelines {
    let options = DeviceOptions {
        max_kernels: MOST,
        ..DeviceOptions::default()
    };
    open_with(options, None)
}

fn numbered(number: u32) -> KernelDescriptor {
    let text = format!("@compute @workgroup_size(1) fn main() {{ var x = {number}u; x += 1u; }}");
    KernelDescriptor::new(ShaderSource::wgsl("numbered", text))
}

#[test]
fn a_thousand_kernels_leave_no_more_than_the_bound() {
    let pipelines = few();
    let favourite = pipelines.kernel(&numbered(0)).unwrap();
    for number in 1..1000 {
        let kernel = pipelines
            .kernel_for(&KernelKey::new("numbered").number(number.into()), || {
                numbered(number)
            })
            .unwrap();
        pipelines
            .dispatch(&kernel, &[], &[], Grid::Workgroups([1, 1, 1]))
            .unwrap();
        pipelines
            .dispatch(&favourite, &[], &[], Grid::Workgroups([1, 1, 1]))
            .unwrap();
        assert!(pipelines.stats().entries <= MOST as usize);
    }
    pipelines.device().synchronize().wait().unwrap();
    let stats = pipelines.stats();
    assert_eq!(stats.evicted + stats.entries as u64, 1000, "{stats:?}");
    assert!(pipelines.inner.by_key.read().len() <= MOST as usize);
    // What is dispatched stays, however old it is.
    assert!(pipelines.kernel(&numbered(0)).unwrap().same(&favourite));
    assert_eq!(pipelines.stats().misses, 1000);
}

#[test]
fn a_kernel_that_is_forgotten_works_for_whoever_holds_it_and_is_made_again_for_others() {
    let pipelines = few();
    let held = pipelines.kernel(&numbered(0)).unwrap();
    for number in 1..=2 * MOST {
        pipelines.kernel(&numbered(number)).unwrap();
    }
    let again = pipelines.kernel(&numbered(0)).unwrap();
    assert!(!again.same(&held) && again.descriptor() == held.descriptor());
    for kernel in [&held, &again] {
        pipelines
            .dispatch(kernel, &[], &[], Grid::Workgroups([1, 1, 1]))
            .unwrap();
    }
    pipelines.device().synchronize().wait().unwrap();
}
