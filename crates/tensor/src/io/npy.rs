//! NumPy's npy: one array in one file.

use std::future::Future;

use ziggurat_core::DType;

use super::npy_header::Header;
use super::wide::{Numbers, Wide};
use crate::once::once;
use crate::{Device, Error, Tensor};

/// The array of an npy file. Both byte orders and both axis orders are read; Fortran order becomes a transposed view.
///
/// # Errors
/// If the bytes are no npy file, are too few or too many for the shape, or a dtype or value cannot be represented.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, Tensor, io};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let a = Tensor::from_slice(&device, &[1u8, 2, 3, 4], [2, 2])?;
/// let bytes = futures::executor::block_on(io::npy_to_bytes(&a))?;
/// let b = io::npy_from_bytes(&device, &bytes)?;
/// assert_eq!(b.to_vec2_blocking::<u8>()?, [[1, 2], [3, 4]]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
pub fn npy_from_bytes(device: &Device, bytes: &[u8]) -> Result<Tensor, Error> {
    let array = parse(bytes)?;
    let tensor = super::tensor(device, &array.data, &array.dims, array.dtype)?;
    if !array.fortran {
        return Ok(tensor);
    }
    let axes: Vec<isize> = (0..tensor.rank() as isize).rev().collect();
    tensor.permute(axes)
}

/// An npy file with the tensor's values.
///
/// # Errors
/// If the dtype is bf16, which npy does not have, or something recorded before failed on the device.
pub fn npy_to_bytes(
    tensor: &Tensor,
) -> impl Future<Output = Result<Vec<u8>, Error>> + Send + use<> {
    let header = header(tensor.dims(), tensor.dtype());
    let values = tensor.to_bytes();
    once(async move {
        let mut file = header?;
        file.extend(values.await?);
        Ok(file)
    })
}

/// A parsed file: little-endian data with the extents in the order of memory.
#[derive(Debug)]
struct Array {
    dims: Vec<usize>,
    dtype: DType,
    data: Vec<u8>,
    fortran: bool,
}

fn parse(bytes: &[u8]) -> Result<Array, Error> {
    let refused = |detail: String| Error::format(format!("not a valid npy file: {detail}"));
    let (header, rest) = Header::read(bytes).map_err(|detail| refused(detail.to_owned()))?;
    let descr = header.descr.as_str();
    let unsupported = || Error::format(format!("dtype {descr} is not supported"));
    let (order, kind) = descr.split_at_checked(1).ok_or_else(unsupported)?;
    let numbers = match kind {
        "f4" => Numbers::Same(DType::F32),
        "f2" => Numbers::Same(DType::F16),
        "i4" => Numbers::Same(DType::I32),
        "i1" => Numbers::Same(DType::I8),
        "u4" => Numbers::Same(DType::U32),
        "u1" => Numbers::Same(DType::U8),
        "b1" => Numbers::Same(DType::Bool),
        "f8" => Numbers::Converted(Wide::F64),
        "i8" => Numbers::Converted(Wide::I64),
        "u8" => Numbers::Converted(Wide::U64),
        "i2" => Numbers::Converted(Wide::I16),
        "u2" => Numbers::Converted(Wide::U16),
        _ => return Err(unsupported()),
    };
    let width = numbers.bytes();
    let big_endian = match order {
        ">" => true,
        "<" => false,
        "=" => cfg!(target_endian = "big"),
        "|" if width == 1 => false,
        _ => return Err(unsupported()),
    };
    let mut dims = header.shape;
    // Extents of zero do not make the product of the others representable.
    let addressable = dims
        .iter()
        .try_fold(width, |bytes, &extent| bytes.checked_mul(extent.max(1)));
    let wanted = addressable.map(|_| dims.iter().product::<usize>() * width);
    if wanted != Some(rest.len()) {
        let wanted = wanted.map_or_else(
            || "more than can be addressed".to_owned(),
            |bytes| bytes.to_string(),
        );
        return Err(refused(format!(
            "shape {dims:?} of {descr} needs {wanted} bytes of data, the file has {}",
            rest.len()
        )));
    }
    let mut data = rest.to_vec();
    if big_endian {
        data.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    if header.fortran {
        dims.reverse();
    }
    Ok(Array {
        dims,
        dtype: numbers.dtype(),
        data: numbers.values(&data)?.into_owned(),
        fortran: header.fortran,
    })
}

fn header(dims: &[usize], dtype: DType) -> Result<Vec<u8>, Error> {
    let descr = dtype
        .info()
        .npy
        .ok_or_else(|| Error::dtype("npy", format!("npy has no {dtype}: convert to f32 first")))?;
    Header {
        descr: descr.to_owned(),
        fortran: false,
        shape: dims.to_vec(),
    }
    .write()
    .ok_or_else(|| Error::format("npy header: the shape has too many axes".to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn file(kind: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let mut header =
            format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        [
            b"\x93NUMPY\x01\x00".as_slice(),
            &len,
            header.as_bytes(),
            data,
        ]
        .concat()
    }

    #[test]
    fn what_is_written_is_read_back() {
        for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::BF16) {
            for dims in [vec![], vec![0], vec![5], vec![2, 3, 1]] {
                let len = dims.iter().product::<usize>() * dtype.bytes();
                let mut bytes = header(&dims, dtype).unwrap();
                bytes.extend((0..len).map(|i| (i % 2) as u8));
                let array = parse(&bytes).unwrap();
                assert_eq!(
                    (array.dims, array.dtype, array.data.len()),
                    (dims.clone(), dtype, len)
                );
            }
        }
        assert!(header(&[1], DType::BF16).unwrap_err().is_dtype());
    }

    #[test]
    fn reads_big_endian_and_fortran_order() {
        let array = parse(&file(">i4", false, "(1,)", &[0, 0, 1, 2])).unwrap();
        assert_eq!(array.data, [2, 1, 0, 0]);
        let array = parse(&file("|u1", true, "(2, 3)", &[1; 6])).unwrap();
        assert!(array.fortran);
        assert_eq!(array.dims, [3, 2]);
    }

    #[test]
    fn converts_wide_numbers() {
        let array = parse(&file("<f8", false, "()", &0.5f64.to_le_bytes())).unwrap();
        assert_eq!(
            (array.dtype, array.data),
            (DType::F32, 0.5f32.to_le_bytes().to_vec())
        );
        assert!(
            parse(&file("<i8", false, "()", &i64::MAX.to_le_bytes()))
                .unwrap_err()
                .is_format()
        );
    }

    #[test]
    fn refuses_what_is_not_an_array() {
        let good = file("<f4", false, "(2,)", &[0; 8]);
        for len in 0..good.len() {
            assert!(parse(&good[..len]).unwrap_err().is_format(), "{len} bytes");
        }
        assert!(parse(&[good.as_slice(), &[0]].concat()).is_err());
        for (kind, shape) in [
            ("<c8", "(1,)"),
            ("|O", "(1,)"),
            ("|S5", "(1,)"),
            ("<f4", "(9223372036854775807, 4)"),
            ("<f4", "(0, 9223372036854775807, 4)"),
            ("<f4", "(4611686018427387904,)"),
            ("<f4", "7"),
            ("?", "(1,)"),
        ] {
            assert!(
                parse(&file(kind, false, shape, &[0; 8])).is_err(),
                "{kind} {shape}"
            );
        }
        assert!(parse(b"PK\x03\x04 something else entirely").is_err());
    }
}
