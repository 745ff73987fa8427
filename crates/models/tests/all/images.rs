//! A small classifier of images with random weights against a forward pass in f64, and pictures as it sees them.

use ziggurat_models::{EfficientNetLite, Error, Picture};
use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{Device, DeviceOptions};

use crate::data;
use crate::decoders::{device, values, worst};

#[test]
fn scores_are_those_of_the_reference() {
    let device = device();
    let model = EfficientNetLite::open(&device, data("efficientnet/legacy.pth")).unwrap();
    let reference = SafetensorsFile::open(data("efficientnet/reference.safetensors")).unwrap();
    let images = reference.load(&device, "images").unwrap();
    let expected = reference.load(&device, "scores").unwrap();
    let scores = model.forward(&images).unwrap();
    assert_eq!(scores.dims(), expected.dims());
    let (got, expected) = (values(&scores), values(&expected));
    let error = worst(&got, &expected);
    println!("worst error of a score {error}");
    assert!(error < 1e-4, "{error}");
    // The other picture has other scores.
    assert!(worst(&got[..5], &expected[5..]) > 1e-2);
    assert!(model.forward(&images.narrow(1, 0, 2).unwrap()).is_err());
}

#[test]
fn files_that_are_no_classifier_are_refused() {
    let device = device();
    // The tensors have another dictionary's name in front.
    let error = EfficientNetLite::open(&device, data("efficientnet/zip.pth")).unwrap_err();
    assert!(
        matches!(error, Error::MissingTensor { ref name } if name == "_conv_stem.weight"),
        "{error}"
    );
    let error = EfficientNetLite::open(&device, data("efficientnet/reference.safetensors"));
    assert!(matches!(error, Err(Error::MissingTensor { .. })));
    assert!(matches!(
        EfficientNetLite::open(&device, "none.pth"),
        Err(Error::Io { .. })
    ));
    let small = Device::open_blocking(DeviceOptions {
        memory_limit: Some(10_000),
        ..DeviceOptions::default()
    });
    let error = EfficientNetLite::open(&small.unwrap(), data("efficientnet/legacy.pth"));
    assert!(matches!(error, Err(Error::OutOfMemory { .. })));
}

#[test]
fn a_picture_is_cut_to_a_square_of_its_middle_and_resized() {
    let device = device();
    // The column in red, the row in green.
    let (width, height) = (71, 64);
    let pixel = |at: usize| [(at % width) as u8, (at / width) as u8, 9];
    let pixels: Vec<u8> = (0..width * height).flat_map(pixel).collect();
    let picture = Picture {
        pixels,
        width,
        height,
    };
    // 32 of 64 pixels, which stay as they are.
    let seen = picture.seen(&device, 32).unwrap();
    assert_eq!(seen.dims(), [1, 3, 32, 32]);
    let expected = (0..3 * 32 * 32).map(|at| {
        let (channel, row, column) = (at / 1024, at / 32 % 32, at % 32);
        ([column + 20, row + 16, 9][channel] as f32 - 127.0) / 128.0
    });
    assert_eq!(values(&seen), expected.collect::<Vec<_>>());
    // 21 of 64 pixels on 16: gradients stay gradients.
    let seen = values(&picture.seen(&device, 16).unwrap());
    let middle = seen[7 * 16 + 7] - seen[7 * 16 + 6];
    assert!((middle - 21.0 / 16.0 / 128.0).abs() < 1e-3, "{middle}");
    assert!(
        seen[512..]
            .iter()
            .all(|&x| (x - (9.0 - 127.0) / 128.0).abs() < 1e-6)
    );
}

#[test]
fn pictures_without_pixels_are_refused() {
    let device = device();
    let with = |bytes: usize, width: usize, height: usize, size: usize| {
        let pixels = vec![0; bytes];
        Picture {
            pixels,
            width,
            height,
        }
        .seen(&device, size)
    };
    assert_eq!(with(3, 1, 1, 8).unwrap().dims(), [1, 3, 8, 8]);
    for (bytes, width, height, size) in [
        (0, 0, 0, 8),
        (4, 1, 1, 8),
        (3, 1, 1, 0),
        (3, usize::MAX, 2, 8),
    ] {
        let error = with(bytes, width, height, size).unwrap_err();
        assert!(matches!(error, Error::Picture(_)), "{error}");
    }
    for wrong in [&b""[..], b"no picture", b"\xff\xd8\xff\xd9"] {
        let error = Picture::from_jpeg(wrong).unwrap_err();
        assert!(matches!(error, Error::Picture(_)), "{error}");
    }
}

#[test]
fn a_jpeg_file_has_the_colours_that_were_written() {
    let file = std::fs::read(data("picture.jpg")).unwrap();
    let picture = Picture::from_jpeg(&file).unwrap();
    assert_eq!((picture.width, picture.height), (24, 16));
    let colours = [[200, 30, 40], [20, 160, 60], [10, 20, 220]];
    for (at, pixel) in picture.pixels.chunks_exact(3).enumerate() {
        for (&got, expected) in pixel.iter().zip(colours[at % 24 / 8]) {
            assert!(i32::from(got).abs_diff(expected) < 4, "{at}: {pixel:?}");
        }
    }
    // Larger than its bytes can be: the extents are behind the marker, its length and a precision.
    let frame = file
        .windows(2)
        .position(|bytes| bytes == b"\xff\xc0")
        .unwrap();
    let mut large = file.clone();
    large[frame + 5..frame + 9].copy_from_slice(&[0x30; 4]);
    let error = Picture::from_jpeg(&large).unwrap_err();
    assert!(error.to_string().contains("12336 times 12336"), "{error}");
    for len in 0..file.len() / 2 {
        let error = Picture::from_jpeg(&file[..len]).unwrap_err();
        assert!(matches!(error, Error::Picture(_)), "{len}: {error}");
    }
}
