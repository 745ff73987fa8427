//! Captures that append to a [`KvCache`]: each replay goes on where the one before ended, as calls without a capture do.

use crate::common;
use ziggurat_tensor::{Attention, DType, Device, Error, KvCache, Tensor};

const HEADS: usize = 2;
const DIM: usize = 4;

/// Tokens that differ from each other, `[2, HEADS, n, DIM]`.
fn tokens(device: &Device, first: usize, n: usize) -> Tensor {
    let len = 2 * HEADS * n * DIM;
    let values: Vec<f32> = (0..len)
        .map(|i| ((first * 37 + i * 11) % 17) as f32 / 8.0 - 1.0)
        .collect();
    Tensor::from_slice(device, &values, [2, HEADS, n, DIM]).unwrap()
}

fn cache(device: &Device, capacity: usize) -> KvCache {
    KvCache::new(device, [2, HEADS], capacity, [DIM, DIM], DType::F32).unwrap()
}

/// A step of a model with two layers, each of which has a cache.
fn step(x: &Tensor, caches: &mut [KvCache]) -> Result<Tensor, Error> {
    let mut x = x.clone();
    for cache in caches {
        cache.append(&x, &x.mul(0.5)?)?;
        let lengths = cache.lengths()?;
        let options = Attention {
            causal: true,
            key_lengths: Some(&lengths),
            ..Attention::default()
        };
        let (keys, values) = (cache.padded_keys(), cache.padded_values());
        x = x.add(&x.scaled_dot_product_attention(&keys, &values, &options)?)?;
    }
    Ok(x)
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec_blocking::<f32>().unwrap()
}

#[test]
fn replays_grow_a_cache_as_calls_do() {
    let device = common::device();
    let two = || [cache(&device, 16), cache(&device, 16)];
    let (mut called, mut captured) = (two(), two());
    // Three tokens at once, without a capture.
    let prompt = tokens(&device, 9, 3);
    step(&prompt, &mut called).unwrap();
    step(&prompt, &mut captured).unwrap();
    let one = device
        .capture(&[&tokens(&device, 0, 1)], |x| {
            Ok(vec![step(&x[0], &mut captured)?])
        })
        .unwrap();
    let pair = device
        .capture(&[&tokens(&device, 0, 2)], |x| {
            Ok(vec![step(&x[0], &mut captured)?])
        })
        .unwrap();
    assert_eq!(captured[0].len(), 3, "nothing ran");
    for round in 0..3 {
        for (capture, n) in [(&one, 1), (&pair, 2)] {
            let x = tokens(&device, round * 5 + n, n);
            let expected = floats(&step(&x, &mut called).unwrap());
            let got = capture.run(&[&x]).unwrap();
            assert_eq!(floats(&got[0]), expected, "round {round}, {n} tokens");
        }
        // Calls go on where replays ended.
        let x = tokens(&device, round + 70, 1);
        let expected = floats(&step(&x, &mut called).unwrap());
        assert_eq!(floats(&step(&x, &mut captured).unwrap()), expected);
        for (a, b) in called.iter().zip(&captured) {
            assert_eq!(a.len(), b.len());
            assert_eq!(floats(&a.keys().unwrap()), floats(&b.keys().unwrap()));
            assert_eq!(floats(&a.values().unwrap()), floats(&b.values().unwrap()));
            assert_eq!(
                b.lengths().unwrap().to_vec_blocking::<i32>().unwrap(),
                [a.len() as i32; 2]
            );
        }
        if round == 2 {
            break;
        }
    }
    assert_eq!(captured[1].len(), 15);
    // Room for one more, not for two: nothing changes.
    let error = pair.replay(&[&tokens(&device, 0, 2)]).unwrap_err();
    assert!(error.is_argument(), "{error}");
    assert_eq!(
        error.to_string(),
        "replay: the cache must have room: 2 positions, room for 1 of 16"
    );
    assert_eq!((captured[0].len(), captured[1].len()), (15, 15));
    one.replay(&[&tokens(&device, 0, 1)]).unwrap();
    assert!(one.replay(&[&tokens(&device, 0, 1)]).is_err());
    assert_eq!(captured[0].len(), 16);
}

#[test]
fn a_capture_may_append_several_times() {
    let device = common::device();
    let mut cache = cache(&device, 9);
    let captured = device
        .capture(&[&tokens(&device, 0, 1), &tokens(&device, 0, 2)], |x| {
            let mut lengths = vec![cache.lengths()?];
            for x in [&x[0], &x[1], &x[0]] {
                cache.append(x, x)?;
                lengths.push(cache.lengths()?);
            }
            Ok(lengths)
        })
        .unwrap();
    let mut expected = Vec::new();
    for round in 0..2 {
        let (a, b) = (tokens(&device, round, 1), tokens(&device, round + 50, 2));
        let lengths = captured.run(&[&a, &b]).unwrap();
        let lengths: Vec<i32> = (lengths.iter())
            .map(|lengths| lengths.to_vec_blocking::<i32>().unwrap()[1])
            .collect();
        let start = round as i32 * 4;
        assert_eq!(lengths, [start, start + 1, start + 3, start + 4]);
        expected.extend([a.clone(), b, a]);
    }
    assert_eq!(cache.len(), 8);
    let expected = Tensor::concat(&expected.iter().collect::<Vec<_>>(), 2).unwrap();
    assert_eq!(floats(&cache.keys().unwrap()), floats(&expected));
    assert!(
        captured
            .replay(&[&tokens(&device, 0, 1), &tokens(&device, 0, 2)])
            .is_err()
    );
}

#[test]
fn what_a_capture_cannot_know_is_refused() {
    let device = common::device();
    let mut small = cache(&device, 2);
    let like = tokens(&device, 0, 1);
    let refused = |f: &mut dyn FnMut(&Tensor) -> Result<(), Error>| {
        let captured = device.capture(&[&like], |x| f(&x[0]).map(|()| vec![]));
        let error = captured.unwrap_err();
        assert!(error.is_argument(), "{error}");
        error.to_string()
    };
    assert!(refused(&mut |_| small.keys().map(drop)).contains("padded_keys"));
    assert!(refused(&mut |_| small.values().map(drop)).contains("padded_keys"));
    assert!(
        refused(&mut |_| { KvCache::new(&device, [1, 1], 2, [2, 2], DType::F32).map(drop) })
            .contains("before the capture")
    );
    let text = refused(&mut |x| (0..3).try_for_each(|_| small.append(x, x)));
    assert_eq!(
        text,
        "KvCache::append: the cache must have room: 3 positions, room for 2 of 2"
    );
    // A capture that failed has left nothing behind.
    small.append(&like, &like).unwrap();
    assert_eq!(small.len(), 1);
    let captured = device
        .capture(&[&like], |x| {
            small.append(&x[0], &x[0])?;
            Ok(vec![])
        })
        .unwrap();
    captured.replay(&[&like]).unwrap();
    assert_eq!(small.len(), 2);
}
