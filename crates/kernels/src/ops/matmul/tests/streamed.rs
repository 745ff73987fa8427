//! Few rows by columns that workgroups stream, which products take by themselves only where they are large.

use super::*;

/// The sums of a product, and their doubles, which an expression behind it computes.
fn sums_and_doubles(exec: &Executor, [a, b]: [&Matrix; 2], dtype: DType) -> [Vec<f64>; 2] {
    let (_, shape) = Problem::new(&a.view.layout, &b.view.layout).unwrap();
    let read = |out: &View| {
        let bytes = exec.download(out).unwrap().wait().unwrap();
        decode(out.dtype, &bytes)
    };
    let plain = exec.alloc(&shape, dtype).unwrap();
    let _done = exec.matmul(&a.view, &b.view, &plain).unwrap();
    let plain = read(&plain);
    let (out, mut over) = (exec.alloc(&shape, dtype).unwrap(), Expression::new());
    let x = over.computed(dtype);
    let value = over.op(FusedOp::Binary(Binary::Add), &[x, x]).unwrap();
    let through = FusedOutput {
        expression: &over,
        value,
        shape,
        also: &[],
    };
    let sink = Sink::new(&out).through(&through);
    let _done = exec.matmul(&a.view, &b.view, sink).unwrap();
    [plain, read(&out)]
}

#[test]
fn streamed_columns_give_exact_sums() {
    let mut options = DeviceOptions::default();
    options.adapter.software = Some(SoftwareWish::Named("nvidia".to_owned()));
    let devices = [DeviceOptions::default(), options];
    let mut counts = [0; 2];
    for (options, count) in devices.into_iter().zip(&mut counts) {
        let exec = Executor::open_blocking(options).unwrap();
        // In uneven shares and in one; rows and columns that do not fill a tile; one entry and two.
        for (extents, transposed) in [
            ([2, 16, 800, 132], false),
            ([1, 31, 800, 132], false),
            ([1, 48, 480, 260], false),
            ([1, 50, 800, 132], false),
            // Of so many outputs sums of shares are added four at a time.
            ([1, 64, 832, 2112], false),
            ([2, 9, 832, 136], true),
            ([1, 32, 448, 69], true),
            ([1, 47, 832, 66], true),
            ([1, 64, 832, 132], true),
        ] {
            let [batch, m, k, n] = extents;
            let a = matrix(&exec, DType::F16, [batch, m, k], false, 0);
            let b = matrix(&exec, DType::F16, [batch, k, n], transposed, 7);
            let (p, _) = Problem::new(&a.view.layout, &b.view.layout).unwrap();
            let ways = ways(&p, DType::F16, &exec.ability());
            let Some(way) = ways.all().position(|way| way.is_streamed()) else {
                continue;
            };
            *count += 1;
            let exec = exec.in_way(u8::try_from(way).unwrap());
            let want = expected(&a, &b, extents);
            let twice: Vec<f64> = want.iter().map(|x| 2.0 * x).collect();
            let got = sums_and_doubles(&exec, [&a, &b], DType::F32);
            assert_eq!(got, [want, twice], "{extents:?} {transposed}");
        }
    }
    // The first device is whichever there is, and may have no matrix units.
    assert!([0, 9].contains(&counts[0]), "{counts:?}");
    assert_eq!(counts[1], 9, "{counts:?}");
}
