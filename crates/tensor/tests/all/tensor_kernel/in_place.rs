//! Tensors that a kernel changes.

use super::*;

#[test]
fn tensors_are_changed_in_place_and_whoever_shares_their_memory_keeps_it() {
    // Writes and reads its own elements, of packed dtypes too, within one invocation.
    let step = TensorKernel::wgsl(
        "step",
        "fn kernel(i: u32) {
             w_store(i, w_at(i) + g_at(i));
             w_store(i, w_at(i) * 2.0);
             old_store(i, f32(w_at(i)));
         }",
    )
    .input("g", Any::floats())
    .update("w", Any::floats())
    .output("old", DType::F32)
    .broadcast();
    for device in devices() {
        for dtype in DTYPES {
            let g = numbers(&device, &[5], DType::F32);
            let start = numbers(&device, &[3, 5], dtype);
            let mut w = start.clone();
            let pending = (&w + 1.0).unwrap();
            let old = step
                .call(&[&g])
                .shape("old", [3, 5])
                .run_in_place(&mut [&mut w]);
            let expected = ((&start + &g).unwrap() * 2.0).unwrap();
            assert_eq!(values(&w), values(&expected), "{dtype}");
            assert_eq!((w.dtype(), w.dims()), (dtype, &[3, 5][..]));
            assert_eq!(values(&old.unwrap()[0]), values(&expected));
            assert_eq!(values(&pending), values(&(&start + 1.0).unwrap()));
            // Alone now: no copy.
            let memory = w.storage().unwrap().buffer.id();
            step.call(&[&g])
                .shape("old", [3, 5])
                .run_in_place(&mut [&mut w])
                .unwrap();
            assert_eq!(w.storage().unwrap().buffer.id(), memory);
            let wide = numbers(&device, &[2, 3, 5], dtype);
            let error = step.call(&[&wide]).run_in_place(&mut [&mut w]).unwrap_err();
            assert!(error.is_shape(), "{error}");
            let error = step.call(&[&g]).run_all().unwrap_err().to_string();
            assert!(error.contains("use run_in_place"), "{error}");
            let error = step
                .call(&[&g])
                .run_in_place(&mut [])
                .unwrap_err()
                .to_string();
            assert!(error.contains("changes 1 tensors (w), got 0"), "{error}");
        }
    }
}
