//! Blocks between space and channels, and columns of windows.

use ziggurat_tensor::{Conv2dOptions, DType, DepthOrder};

use super::{FLOATS, agrees, moved, refused};
use crate::operands::Expected;
use crate::problems::{Values, fuzz, given};

#[test]
fn blocks_agree_with_their_formula() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let block = 1 + rng.below(4);
        let order = rng.pick(&[DepthOrder::BlockFirst, DepthOrder::ChannelFirst]);
        let [n, c, h, w] = [rng.below(3), 1 + rng.below(3), rng.below(5), rng.below(5)];
        let deep = rng.below(2) == 0;
        let area = block * block;
        let dims = if deep {
            [n, c * area, h, w]
        } else {
            [n, c, h * block, w * block]
        };
        let x = given(device, dtype, &dims, Values::Extreme, rng);
        // Where in the deep one an element of the wide one stands.
        let (rows, columns) = (h * block, w * block);
        let deep_at = |batch: usize, channel: usize, row: usize, column: usize| {
            let inside = row % block * block + column % block;
            let depth = match order {
                DepthOrder::BlockFirst => inside * c + channel,
                DepthOrder::ChannelFirst => channel * area + inside,
            };
            ((batch * c * area + depth) * h + row / block) * w + column / block
        };
        let mut wanted = vec![0.0; x.values.len()];
        for wide in 0..x.values.len() {
            let (column, rest) = (wide % columns, wide / columns);
            let (row, rest) = (rest % rows, rest / rows);
            let at = deep_at(rest / c, rest % c, row, column);
            if deep {
                wanted[wide] = x.values[at];
            } else {
                wanted[at] = x.values[wide];
            }
        }
        let what = format!("deep={deep} {block} {order:?} {dtype} {dims:?}");
        let (result, out) = if deep {
            (x.tensor.depth_to_space(block, order), [n, c, rows, columns])
        } else {
            (x.tensor.space_to_depth(block, order), [n, c * area, h, w])
        };
        moved(&what, result, &out, &wanted);
    });
}

#[test]
fn columns_of_windows_agree_with_their_formula() {
    fuzz(|device, rng| {
        let pair = |low: usize, n: usize, rng: &mut crate::operands::Random| {
            [(); 2].map(|()| low + rng.below(n))
        };
        let (kernel, size) = (pair(1, 3, rng), pair(1, 9, rng));
        let options = Conv2dOptions {
            stride: pair(1, 3, rng),
            padding_begin: pair(0, 3, rng),
            padding_end: pair(0, 3, rng),
            dilation: pair(1, 2, rng),
            ..Conv2dOptions::default()
        };
        let (batch, channels) = (rng.below(3), 1 + rng.below(3));
        let room = |axis: usize| {
            let padded = size[axis] + options.padding_begin[axis] + options.padding_end[axis];
            padded.checked_sub((kernel[axis] - 1) * options.dilation[axis] + 1)
        };
        let fold = rng.below(2) == 0;
        let dtype = if fold {
            rng.pick(&FLOATS)
        } else {
            rng.pick(&DType::ALL)
        };
        let images = [batch, channels, size[0], size[1]];
        let (Some(down), Some(right)) = (room(0), room(1)) else {
            let x = given(device, dtype, &images, Values::Plain, rng);
            let what = format!("im2col of {images:?} by {kernel:?} {options:?}");
            return refused(&what, x.tensor.im2col(kernel, &options));
        };
        let counts = [down / options.stride[0] + 1, right / options.stride[1] + 1];
        let rows = channels * kernel[0] * kernel[1];
        let columns = [batch, rows, counts[0] * counts[1]];
        // For each element of the columns the pixel that it is, if it is none of the padding.
        let pixel = |at: usize| {
            let (window, rest) = (at % columns[2], at / columns[2]);
            let (tap, rest) = (
                rest % (kernel[0] * kernel[1]),
                rest / (kernel[0] * kernel[1]),
            );
            let place = |axis: usize, window: usize, tap: usize| {
                let at = window * options.stride[axis] + tap * options.dilation[axis];
                at.checked_sub(options.padding_begin[axis])
                    .filter(|&at| at < size[axis])
            };
            let row = place(0, window / counts[1], tap / kernel[1])?;
            let column = place(1, window % counts[1], tap % kernel[1])?;
            Some((rest * size[0] + row) * size[1] + column)
        };
        let len = columns.iter().product();
        let what = format!("{dtype} {images:?} by {kernel:?} {options:?}");
        if !fold {
            let x = given(device, dtype, &images, Values::Extreme, rng);
            let value = |at| pixel(at).map_or(0.0, |at| x.values[at]);
            let wanted: Vec<f64> = (0..len).map(value).collect();
            let result = x.tensor.im2col(kernel, &options);
            return moved(&format!("im2col {what}"), result, &columns, &wanted);
        }
        let x = given(device, dtype, &columns, Values::Special, rng);
        let mut sums = vec![(0.0, 0.0, 0); images.iter().product()];
        for at in 0..len {
            if let Some(to) = pixel(at) {
                let (value, size, terms) = &mut sums[to];
                *value += x.values[at];
                *size += x.values[at].abs();
                *terms += 1;
            }
        }
        let sum =
            |&(value, size, terms): &(f64, f64, usize)| Expected::sum(value, size, terms, dtype);
        let wanted: Vec<Expected> = sums.iter().map(sum).collect();
        let result = x.tensor.col2im(size, kernel, &options);
        agrees(&format!("col2im {what}"), result, &images, &wanted);
    });
}
