//! What sharing memory within a capture spares: the network of the digits, blocks of a transformer. See docs/debugging.md.

#![allow(clippy::print_stdout, reason = "an example")]

use ziggurat_tensor::{
    Attention, Captured, Conv2dOptions, DType, Device, DeviceOptions, Error, PoolOptions, Tensor,
};

const WIDTH: usize = 256;
const HEADS: usize = 4;

fn filled(device: &Device, dims: &[usize]) -> Result<Tensor, Error> {
    Tensor::full(device, dims, 0.01, DType::F32)
}

/// Two convolutions with pooling, two dense layers, over images `[N, 1, 8, 8]`: the shapes of the example `digits`.
fn digits(device: &Device, images: usize) -> Result<Captured, Error> {
    let like = filled(device, &[images, 1, 8, 8])?;
    let [conv1, conv2] = [[16, 1, 3, 3], [32, 16, 3, 3]].map(|dims| filled(device, &dims));
    let [dense1, dense2] = [[64, 128], [10, 64]].map(|dims| filled(device, &dims));
    let (conv1, conv2, dense1, dense2) = (conv1?, conv2?, dense1?, dense2?);
    device.capture(&[&like], |x| {
        let same = Conv2dOptions::default().padding([1, 1]);
        let halve = PoolOptions::square(2);
        let x = x[0].conv2d(&conv1, None, &same)?.relu()?;
        let x = x.max_pool2d(&halve)?;
        let x = x.conv2d(&conv2, None, &same)?.relu()?;
        let x = x.max_pool2d(&halve)?.flatten(1, -1)?;
        let x = x.linear(&dense1, None)?.relu()?;
        Ok(vec![x.linear(&dense2, None)?])
    })
}

/// Attention and two layers, each with a norm before and a sum behind. The weights are the same in all blocks.
fn transformer(device: &Device, tokens: usize, blocks: usize) -> Result<Captured, Error> {
    let like = filled(device, &[tokens, WIDTH])?;
    let square = filled(device, &[WIDTH, WIDTH])?;
    let (up, down) = (
        filled(device, &[WIDTH, 4 * WIDTH])?,
        filled(device, &[4 * WIDTH, WIDTH])?,
    );
    let split = [1, tokens, HEADS, WIDTH / HEADS].map(usize::cast_signed);
    let whole = [tokens, WIDTH].map(usize::cast_signed);
    let block = |x: &Tensor| -> Result<Tensor, Error> {
        let normed = x.layer_norm([WIDTH], None, None, 1e-5)?;
        let heads = || normed.matmul(&square)?.reshape(split)?.transpose(1, 2);
        let (q, k, v) = (heads()?, heads()?, heads()?);
        let mixed = q.scaled_dot_product_attention(&k, &v, &Attention::default())?;
        let joined = mixed.transpose(1, 2)?.reshape(whole)?;
        let x = (x + joined.matmul(&square)?)?;
        let normed = x.layer_norm([WIDTH], None, None, 1e-5)?;
        let hidden = normed.matmul(&up)?.gelu()?;
        &x + hidden.matmul(&down)?
    };
    device.capture(&[&like], |x| {
        let mut x = x[0].clone();
        for _ in 0..blocks {
            x = block(&x)?;
        }
        Ok(vec![x])
    })
}

fn main() -> Result<(), Error> {
    let device = Device::open_blocking(DeviceOptions::default())?;
    let show = |name: String, captured: &Captured| {
        let plan = captured.memory_plan();
        let (values, own, shared) = (plan.values, plan.value_bytes, plan.reserved_bytes);
        println!("| {name} | {values} | {} | {} |", own / 1024, shared / 1024);
    };
    println!("| computation | values | KiB if each had its own | KiB reserved |");
    println!("| --- | --- | --- | --- |");
    show("digits, 360 images".to_owned(), &digits(&device, 360)?);
    for (tokens, blocks) in [(128, 1), (128, 4), (512, 4)] {
        let captured = transformer(&device, tokens, blocks)?;
        show(
            format!("transformer, {blocks} × {tokens} tokens"),
            &captured,
        );
    }
    Ok(())
}
