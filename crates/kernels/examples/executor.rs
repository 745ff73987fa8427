//! Three ops through the [`Executor`], with nothing but this crate: record all, wait for all at once, check.
//!
//! Run with `cargo run -p ziggurat-kernels --example executor`.

#![allow(clippy::print_stdout, reason = "an example talks")]

use std::error::Error;

use futures::future::try_join_all;
use ziggurat_kernels::core::f16;
use ziggurat_kernels::device::DeviceOptions;
use ziggurat_kernels::{DType, Element, Executor, Shape, View};

async fn read<T: Element>(exec: &Executor, view: &View) -> Result<Vec<T>, Box<dyn Error>> {
    Ok(T::read_bytes(&exec.download(view)?.await?))
}

async fn run() -> Result<(), Box<dyn Error>> {
    let exec = Executor::open(DeviceOptions::default()).await?;
    println!("adapter: {}", exec.device().adapter().name);

    let matrix = Shape::new([2, 3])?;
    let a = exec.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &matrix)?;
    let row = exec.upload(&[10.0_f32, 20.0, 30.0], &Shape::new([3])?)?;
    let transposed = a.with_layout(a.layout.transpose(0, 1)?)?;

    let sum = exec.alloc(&matrix, DType::F32)?;
    let product = exec.alloc(&Shape::new([2, 2])?, DType::F32)?;
    let rounded = exec.alloc(&Shape::new([2, 2])?, DType::F16)?;
    let weights = exec.alloc(&matrix, DType::F32)?;

    // Recorded at once and in order; each future resolves when its op is done.
    try_join_all([
        exec.add(&a, &row, &sum)?,
        exec.matmul(&a, &transposed, &product)?,
        exec.cast(&product, &rounded)?,
        exec.softmax(&a, 1, &weights)?,
    ])
    .await?;

    let sum = read::<f32>(&exec, &sum).await?;
    let product = read::<f32>(&exec, &product).await?;
    let rounded = read::<f16>(&exec, &rounded).await?;
    let weights = read::<f32>(&exec, &weights).await?;
    println!("add:     {sum:?}");
    println!("matmul:  {product:?} (as f16: {rounded:?})");
    println!("softmax: {weights:?}");

    let expected = [0.090_030_57, 0.244_728_47, 0.665_240_96];
    let close = weights
        .iter()
        .zip(expected.iter().cycle())
        .all(|(got, wanted): (&f32, &f32)| (got - wanted).abs() < 1e-6);
    if sum != [11.0, 22.0, 33.0, 14.0, 25.0, 36.0] || product != [14.0, 32.0, 32.0, 77.0] || !close
    {
        return Err("the results are wrong".into());
    }
    exec.synchronize().await?;
    println!("all as expected");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    futures::executor::block_on(run())
}
