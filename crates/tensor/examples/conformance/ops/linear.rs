//! Matrix products, convolution, pooling, resampling.

use ziggurat_tensor::{
    AspectRatio, ConvOptions, ConvTransposeOptions, Coordinates, Device, GemmOptions, NearestMode,
    PoolOptions, ResizeMode, ResizeOptions, Tensor,
};

use super::{Case, Inputs, Row, Trouble, operand};

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[
    ("avg_pool1d", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        Ok(vec![x.avg_pool1d(&average(case)?)?])
    }),
    ("avg_pool2d", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        Ok(vec![x.avg_pool2d(&average(case)?)?])
    }),
    ("conv1d", |_, case, inputs| {
        let (x, w, b) = operands(inputs)?;
        Ok(vec![x.conv1d(w, b, &conv(case)?)?])
    }),
    ("conv2d", |_, case, inputs| {
        let (x, w, b) = operands(inputs)?;
        Ok(vec![x.conv2d(w, b, &conv(case)?)?])
    }),
    ("conv_transpose1d", |_, case, inputs| {
        let (x, w, b) = operands(inputs)?;
        Ok(vec![x.conv_transpose1d(w, b, &conv_transpose(case)?)?])
    }),
    ("conv_transpose2d", |_, case, inputs| {
        let (x, w, b) = operands(inputs)?;
        Ok(vec![x.conv_transpose2d(w, b, &conv_transpose(case)?)?])
    }),
    ("gemm", gemm),
    ("lp_pool1d", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        Ok(vec![x.lp_pool1d(case.number("p")? as f32, &pool(case)?)?])
    }),
    ("lp_pool2d", |_, case, inputs| {
        let x = operand(inputs, "x")?;
        Ok(vec![x.lp_pool2d(case.number("p")? as f32, &pool(case)?)?])
    }),
    ("max_pool1d", |_, case, inputs| {
        let (x, options) = (operand(inputs, "x")?, pool(case)?);
        if case.outputs.len() == 1 {
            return Ok(vec![x.max_pool1d(&options)?]);
        }
        let (y, at) = x.max_pool1d_with_indices(&options)?;
        Ok(vec![y, at])
    }),
    ("max_pool2d", |_, case, inputs| {
        let (x, options) = (operand(inputs, "x")?, pool(case)?);
        if case.outputs.len() == 1 {
            return Ok(vec![x.max_pool2d(&options)?]);
        }
        let (y, at) = x.max_pool2d_with_indices(&options)?;
        Ok(vec![y, at])
    }),
    ("resize", resize),
];

fn pool<const N: usize>(case: &Case) -> Result<PoolOptions<N>, Trouble> {
    Ok(PoolOptions {
        kernel: case.spatial("kernel")?,
        stride: case.spatial("strides")?,
        padding_begin: case.spatial("pads_begin")?,
        padding_end: case.spatial("pads_end")?,
        dilation: case.spatial("dilations")?,
        ceil_mode: case.flag("ceil_mode")?,
        count_include_pad: false,
        divisor_override: None,
    })
}

fn average<const N: usize>(case: &Case) -> Result<PoolOptions<N>, Trouble> {
    Ok(PoolOptions {
        count_include_pad: case.flag("count_include_pad")?,
        ..pool(case)?
    })
}

fn operands(inputs: &Inputs) -> Result<(&Tensor, &Tensor, Option<&Tensor>), Trouble> {
    Ok((
        operand(inputs, "x")?,
        operand(inputs, "w")?,
        inputs.get("b"),
    ))
}

fn conv<const N: usize>(case: &Case) -> Result<ConvOptions<N>, Trouble> {
    Ok(ConvOptions {
        stride: case.spatial("strides")?,
        padding_begin: case.spatial("pads_begin")?,
        padding_end: case.spatial("pads_end")?,
        dilation: case.spatial("dilations")?,
        groups: case.extent("groups")?,
        same: false,
    })
}

fn conv_transpose<const N: usize>(case: &Case) -> Result<ConvTransposeOptions<N>, Trouble> {
    Ok(ConvTransposeOptions {
        stride: case.spatial("strides")?,
        padding_begin: case.spatial("pads_begin")?,
        padding_end: case.spatial("pads_end")?,
        output_padding: case.spatial("output_padding")?,
        dilation: case.spatial("dilations")?,
        groups: case.extent("groups")?,
    })
}

fn gemm(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let options = GemmOptions {
        alpha: case.number("alpha")?,
        beta: case.number("beta")?,
        trans_a: case.flag("trans_a")?,
        trans_b: case.flag("trans_b")?,
    };
    let (a, b) = (operand(inputs, "a")?, operand(inputs, "b")?);
    Ok(vec![a.gemm(b, inputs.get("c"), &options)?])
}

fn resize(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let x = operand(inputs, "x")?;
    let (sizes, scales) = (case.extents("out_shape")?, case.numbers("scales")?);
    let unknown = |name: &str, value: &str| Trouble::Vectors(format!("{name} is {value}"));
    let mode = match case.text("mode")? {
        "nearest" => ResizeMode::Nearest(match case.text("nearest_mode")? {
            "floor" => NearestMode::Floor,
            "ceil" => NearestMode::Ceil,
            "round_prefer_floor" => NearestMode::RoundPreferFloor,
            "round_prefer_ceil" => NearestMode::RoundPreferCeil,
            other => return Err(unknown("nearest_mode", other)),
        }),
        "linear" => ResizeMode::Linear,
        "cubic" => ResizeMode::Cubic(case.number("cubic_a")?),
        other => return Err(unknown("mode", other)),
    };
    let coordinates = match case.text("coordinate_mode")? {
        "half_pixel" => Coordinates::HalfPixel,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        "asymmetric" => Coordinates::Asymmetric,
        "align_corners" => Coordinates::AlignCorners,
        other => return Err(unknown("coordinate_mode", other)),
    };
    let options = ResizeOptions {
        mode,
        coordinates,
        exclude_outside: matches!(mode, ResizeMode::Cubic(_)) && case.flag("exclude_outside")?,
        ..ResizeOptions::default()
    };
    let axes: Vec<isize> = (0..x.rank() as isize).collect();
    let mut y = x.resize_by(&axes, &scales, &options)?;
    if y.dims() != sizes {
        // Extents rounded at one scale: sizes were asked for, keeping the ratio.
        let axes: Vec<isize> = (0..)
            .zip(&scales)
            .filter(|(_, s)| **s != 1.0)
            .map(|(axis, _)| axis)
            .collect();
        let asked: Vec<usize> = axes
            .iter()
            .filter_map(|&axis| y.dims().get(axis as usize).copied())
            .collect();
        y = x.resize_to(&axes, &asked, AspectRatio::NotSmaller, &options)?;
    }
    Ok(vec![y])
}
