//! Pictures, as models of images see them.

#[cfg(feature = "jpeg")]
use zune_jpeg::JpegDecoder;
#[cfg(feature = "jpeg")]
use zune_jpeg::zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};

use ziggurat_tensor::{DType, Device, InterpolateMode, InterpolateOptions, Tensor};

use crate::Error;

/// Pixels for each byte of a JPEG file, at most: a block of 64 takes a bit at least. No memory is asked for because a field says so.
#[cfg(feature = "jpeg")]
const MOST_PIXELS: usize = 64 * 8;

/// A picture of red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Three bytes for each pixel, row by row.
    pub pixels: Vec<u8>,
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// Pixels of the border around what a classifier sees, if that were 224 pixels wide: `CROP_PADDING` of EfficientNet.
const BORDER: usize = 32;

impl Picture {
    /// The picture in the bytes of a JPEG file.
    ///
    /// # Errors
    /// If it is no JPEG file, is cut short, or has a coding that is not known.
    #[cfg(feature = "jpeg")]
    #[cfg_attr(docsrs, doc(cfg(feature = "jpeg")))]
    pub fn from_jpeg(file: &[u8]) -> Result<Self, Error> {
        let malformed = |error: &dyn std::fmt::Display| {
            Error::Picture(format!("the JPEG file cannot be read ({error})"))
        };
        let options = DecoderOptions::default()
            .set_strict_mode(true)
            .jpeg_set_out_colorspace(ColorSpace::RGB);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
        decoder
            .decode_headers()
            .map_err(|error| malformed(&error))?;
        let (width, height) = decoder
            .dimensions()
            .ok_or_else(|| malformed(&"it says no extents"))?;
        if width.saturating_mul(height) / MOST_PIXELS > file.len() {
            let text = format!(
                "{width} times {height} pixels are not in {} bytes",
                file.len()
            );
            return Err(malformed(&text));
        }
        let pixels = decoder.decode().map_err(|error| malformed(&error))?;
        Ok(Self {
            pixels,
            width,
            height,
        })
    }

    /// As EfficientNet sees it, f32 `[1, 3, size, size]`: a square of the middle, whose side is `size / (size + 32)` of the
    /// picture's shorter one, by bicubic interpolation that averages over what a pixel covers; then `(x - 127) / 128`.
    ///
    /// # Errors
    /// If there are not three bytes for each pixel, or none, or the device has no memory.
    pub fn seen(&self, device: &Device, size: usize) -> Result<Tensor, Error> {
        let (width, height) = (self.width, self.height);
        let bytes = width
            .checked_mul(height)
            .and_then(|pixels| pixels.checked_mul(3));
        if bytes != Some(self.pixels.len()) || bytes == Some(0) || size == 0 {
            let rule = "a picture must have pixels, three bytes each";
            let bytes = self.pixels.len();
            let text = format!(
                "{rule}: {width} times {height} are given with {bytes} bytes, to become {size} wide"
            );
            return Err(Error::Picture(text));
        }
        let side = width.min(height) as f64 * size as f64 / (size + BORDER) as f64;
        let side = (side as usize).max(1);
        let (left, top) = ((width - side).div_ceil(2), (height - side).div_ceil(2));
        let square = Tensor::from_bytes(device, &self.pixels, [height, width, 3], DType::U8)?
            .narrow(0, top, side)?
            .narrow(1, left, side)?
            .permute([2, 0, 1])?
            .to_dtype(DType::F32)?
            .unsqueeze(0)?;
        let options = InterpolateOptions {
            mode: InterpolateMode::Cubic,
            antialias: true,
            ..InterpolateOptions::default()
        };
        let seen = square.interpolate(&[size, size], &options)?;
        // What bicubic interpolation adds at edges is no colour.
        let seen = seen.clamp(0.0, 255.0)?;
        Ok(seen.sub(127.0)?.div(128.0)?)
    }
}
