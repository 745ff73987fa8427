//! A first program: open a device, compute, print.
#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use ziggurat_tensor::{Device, DeviceOptions, Error, Tensor, scalar};

fn main() -> Result<(), Error> {
    let device = Device::open_blocking(DeviceOptions::default())?;
    let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
    let b = Tensor::from_slice(&device, &[10.0f32, 20.0, 30.0], [3])?;
    let c = (&a * &b + scalar(1.0))?.sqrt()?;
    println!("{c}");
    println!("{}", a.matmul(&a.t()?)?.softmax(-1)?);
    Ok(())
}
