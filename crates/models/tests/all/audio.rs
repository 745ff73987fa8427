//! Sound: spectra and other rates against numpy in f64, and WAV files.

use ziggurat_models::Error;
use ziggurat_models::audio::{LogMel, SAMPLE_RATE, Waveform, resample};
use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{DType, Device, Tensor};

use crate::data;
use crate::decoders::{device, values, worst};

fn reference(device: &Device, name: &str) -> Tensor {
    let file = SafetensorsFile::open(data("whisper/reference.safetensors")).unwrap();
    file.load(device, name).unwrap()
}

#[test]
fn log_mel_spectra_are_those_of_the_reference() {
    let device = device();
    let sound = reference(&device, "sound");
    let short = sound.narrow(0, 0, 4000).unwrap();
    for (sound, bands, name) in [(sound, 80, "log_mel"), (short, 128, "log_mel_128")] {
        let spectrum = LogMel::new(&device, bands).unwrap().forward(&sound);
        let spectrum = spectrum.unwrap();
        let expected = reference(&device, name);
        assert_eq!(spectrum.dims(), expected.dims());
        let (got, expected) = (values(&spectrum), values(&expected));
        let error = worst(&got, &expected);
        println!("{name}: worst error {error}");
        assert!(error < 1e-4, "{name}: {error}");
        // One frame later is further away than that, and so is the same sound in other bands.
        let later = &expected[1..];
        assert!(worst(&got[..later.len()], later) > 1e-1);
    }
}

#[test]
fn a_sound_for_a_spectrum_is_one_channel_that_can_be_reflected() {
    let device = device();
    let mel = LogMel::new(&device, 80).unwrap();
    let of = |dims: &[usize]| mel.forward(&Tensor::zeros(&device, dims, DType::F32).unwrap());
    assert_eq!(of(&[201]).unwrap().dims(), [80, 1]);
    for dims in [&[200][..], &[0], &[2, 400]] {
        assert!(of(dims).is_err(), "{dims:?}");
    }
    // A NaN is not silence.
    let broken = Tensor::full(&device, [1600], f32::NAN, DType::F32).unwrap();
    let spectrum = values(&mel.forward(&broken).unwrap());
    assert!(spectrum.iter().all(|x| x.is_nan()));
}

#[test]
fn other_rates_are_those_of_the_reference() {
    let device = device();
    let sound = reference(&device, "sound").narrow(0, 0, 2000).unwrap();
    for (from, to) in [
        (48_000, 16_000),
        (44_100, 16_000),
        (8_000, 16_000),
        (16_000, 11_025),
    ] {
        let expected = values(&reference(&device, &format!("resampled_{from}_{to}")));
        let got = values(&resample(&sound, from, to).unwrap());
        let error = worst(&got, &expected);
        println!("{from} to {to}: worst error {error}");
        assert!(error < 1e-6, "{from} to {to}: {error}");
        // A sample later is further away.
        assert!(worst(&got[1..], &expected[..got.len() - 1]) > 1e-2);
    }
    assert_eq!(values(&resample(&sound, 7, 7).unwrap()), values(&sound));
}

#[test]
fn what_is_below_the_cutoff_passes_and_what_is_above_does_not() {
    let device = device();
    let tone = |hertz: f32| {
        let wave =
            (0..48_000).map(|at| (at as f32 / 48_000.0 * hertz * std::f32::consts::TAU).sin());
        let samples = wave.collect();
        let waveform = Waveform {
            samples,
            rate: 48_000,
        };
        let samples = values(&waveform.at_rate(&device, SAMPLE_RATE).unwrap());
        assert_eq!(samples.len(), 16_000);
        // The ends border on silence.
        samples[100..15_900]
            .iter()
            .fold(0.0, |most: f32, x| most.max(x.abs()))
    };
    assert!((tone(1_000.0) - 1.0).abs() < 0.01, "{}", tone(1_000.0));
    assert!(tone(11_000.0) < 0.01, "{}", tone(11_000.0));
}

#[test]
fn rates_without_a_simple_ratio_are_refused() {
    let device = device();
    let sound = Tensor::zeros(&device, [100], DType::F32).unwrap();
    for (from, to, text) in [
        (0, 16_000, "positive"),
        (16_000, 0, "positive"),
        (44_101, 16_000, "44101/16000"),
        (u32::MAX, u32::MAX - 1, "4294967295/4294967294"),
    ] {
        let error = resample(&sound, from, to).unwrap_err();
        assert!(matches!(error, Error::Audio(_)), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    let none = Tensor::zeros(&device, [0], DType::F32).unwrap();
    assert_eq!(resample(&none, 48_000, 16_000).unwrap().dims(), [0]);
    let matrix = Tensor::zeros(&device, [2, 50], DType::F32).unwrap();
    assert!(resample(&matrix, 48_000, 16_000).is_err());
}

/// A WAV file: coding (1 for integers, 3 for floats), channels, bytes of a sample, and the samples.
pub(crate) fn wav(coding: u16, channels: u16, width: u16, data: &[u8]) -> Vec<u8> {
    let mut out = b"RIFF".to_vec();
    out.extend((36 + data.len() as u32).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0");
    for field in [coding, channels] {
        out.extend(field.to_le_bytes());
    }
    out.extend(8_000u32.to_le_bytes());
    out.extend((8_000 * u32::from(channels * width)).to_le_bytes());
    for field in [channels * width, 8 * width] {
        out.extend(field.to_le_bytes());
    }
    out.extend(b"data");
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
    out
}

#[test]
fn wav_files_of_every_width_are_read_and_channels_averaged() {
    let halves: Vec<u8> = [0.5f32, -0.25]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    for (file, expected) in [
        (wav(1, 1, 1, &[128, 0, 192]), vec![0.0, -1.0, 0.5]),
        (wav(1, 1, 2, &[0, 0x40, 0, 0x80]), vec![0.5, -1.0]),
        (wav(1, 1, 3, &[0, 0, 0x40, 0, 0, 0x80]), vec![0.5, -1.0]),
        (wav(1, 1, 4, &[0, 0, 0, 0x40]), vec![0.5]),
        (wav(3, 1, 4, &halves), vec![0.5, -0.25]),
        (wav(3, 2, 4, &halves), vec![0.125]),
        (wav(1, 1, 2, &[]), vec![]),
    ] {
        let found = Waveform::from_wav(file.as_slice()).unwrap();
        assert_eq!((found.rate, found.samples), (8_000, expected));
    }
}

#[test]
fn what_is_no_wav_file_is_an_error() {
    let whole = wav(1, 1, 2, &[1, 2, 3, 4]);
    for len in 0..whole.len() {
        let error = Waveform::from_wav(&whole[..len]).unwrap_err();
        assert!(matches!(error, Error::Audio(_)), "{len} bytes: {error}");
    }
    for wrong in [wav(1, 0, 2, &[]), wav(6, 1, 1, &[1]), wav(1, 1, 9, &[0; 9])] {
        let error = Waveform::from_wav(wrong.as_slice()).unwrap_err();
        assert!(matches!(error, Error::Audio(_)), "{error}");
    }
    let error = Waveform::open_wav("no such file").unwrap_err();
    assert!(matches!(error, Error::Io { action: "open", .. }), "{error}");
}
