use std::time::Instant;
use ziggurat_kernels::core::encode;
use ziggurat_kernels::{Call, DType, Executor, MatmulPrecision, Operands, Shape, Sink, View};

fn shape(dims: &[usize]) -> Shape { Shape::new(dims.to_vec()).unwrap() }

fn main() {
    let exec = Executor::open_blocking(Default::default()).unwrap();
    let mut args = std::env::args().skip(1);
    let only: String = args.next().unwrap_or_default();
    let warm = {
        let a = exec.alloc(&shape(&[4096, 4096]), DType::F16).unwrap();
        let b = exec.alloc(&shape(&[4096, 4096]), DType::F16).unwrap();
        let c = exec.alloc(&shape(&[4096, 4096]), DType::F16).unwrap();
        let exec = exec.clone();
        move || {
            let t = Instant::now();
            while t.elapsed().as_millis() < 60 {
                for _ in 0..40 { drop(exec.matmul(&a, &b, &c).unwrap()); }
                exec.synchronize().wait().unwrap();
            }
        }
    };
    for _ in 0..5 { warm(); }
    for case in only.split(';') {
        let f: Vec<&str> = case.split(',').collect();
        let dtype = match f[0] { "f16" => DType::F16, "bf16" => DType::BF16, _ => DType::F32 };
        exec.set_matmul_precision(if f[0] == "high" { MatmulPrecision::High } else { MatmulPrecision::Highest });
        let n: Vec<usize> = f[1..5].iter().map(|x| x.parse().unwrap()).collect();
        let bt = f.get(5) == Some(&"t");
        let (m, k, nn, batch) = (n[0], n[1], n[2], n[3]);
        let mut seed = 1u64;
        let mut up = |dims: &[usize]| -> View {
            let len: usize = dims.iter().product();
            let values: Vec<f64> = (0..len).map(|_| {
                let mut s = 0.0;
                for _ in 0..3 { seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); s += (seed >> 40) as f64 / (1u64 << 24) as f64 - 0.5; }
                s
            }).collect();
            exec.upload_bytes(dtype, &encode(dtype, &values), &shape(dims)).unwrap()
        };
        let a = up(&[batch, m, k]);
        let b = if bt { let b = up(&[batch, nn, k]); let l = b.layout.permute(&[0, 2, 1]).unwrap(); b.with_layout(l).unwrap() } else { up(&[batch, k, nn]) };
        let out = exec.alloc(&shape(&[batch, m, nn]), dtype).unwrap();
        let mut seen: Vec<String> = vec![];
        for way in 0..24u8 {
            let e = exec.in_way(way);
            let operands = Operands { others: [Some(&b), None, None, None], ..Operands::one(&a) };
            let call = Call::new(ziggurat_kernels::CallKind::Matmul { precision: exec.matmul_precision() });
            let plan = e.plan(&call, &operands, Sink::new(&out)).unwrap();
            let l = plan.listing();
            let id = format!("{}{}", plan.scratch_bytes(), l);
            if seen.contains(&id) { continue; }
            seen.push(id);
            let mut name = String::new();
            for (t, n) in [("fn pack4", "packed "), ("fn scale_of(", "scaled "), ("fn lowered(", "halved "), ("fn vector_at", "aligned "), ("coopMultiplyAdd", "units "), ("fn block(loads_a", "wide "), ("fn across", "blocks "), ("SLICES", "narrow "), ("const SIDE: u32 = 64u", "64 "), ("const SIDE: u32 = 128u", "128 "), ("DEPTH: u32 = 64u", "d64 ")] { if l.contains(t) { name += n; } }
            if !l.contains("coop") && std::env::var("VEC").is_err() && way > 0 && !name.contains("narrow") { continue; }
            let run = |count: usize| {
                let t = Instant::now();
                for _ in 0..count { drop(e.run(&call, &operands, Sink::new(&out)).unwrap()); }
                e.synchronize().wait().unwrap();
                t.elapsed().as_secs_f64() / count as f64 * 1e6
            };
            run(2);
            let one = run(5);
            let count = ((15_000.0 / one) as usize).clamp(5, 400);
            warm();
            let best = (0..3).map(|_| run(count)).fold(f64::MAX, f64::min);
            println!("{case:32} way {way:2} {best:9.1} us  {} dispatches, scratch {} {name}", plan.dispatches().unwrap_or(0), plan.scratch_bytes());
        }
    }
}
