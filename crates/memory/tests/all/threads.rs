//! Many threads share one memory.

use crate::common::{memory, pattern, small_staging};
use std::thread;
use ziggurat_memory::MemoryOptions;

#[test]
fn eight_threads_upload_copy_and_read_their_own_bytes() {
    let memory = memory(small_staging());
    thread::scope(|scope| {
        for thread in 0..8 {
            let memory = memory.clone();
            scope.spawn(move || {
                for round in 0..60 {
                    let len = 1 + (thread * 997 + round * 613) % 12_000;
                    let data = pattern(thread * 1000 + round, len);
                    let a = memory.upload(&data).unwrap();
                    let b = memory.alloc(len as u64).unwrap();
                    memory.copy(&a, 0, &b, 0, len as u64).unwrap();
                    drop(a);
                    let read = memory.read(&b, 0..len as u64).unwrap();
                    drop(b);
                    assert!(
                        read.wait().unwrap() == data,
                        "thread {thread} round {round}"
                    );
                }
            });
        }
    });
    assert_eq!(memory.usage().live, 0);
}

#[test]
fn eight_threads_write_neighbouring_bytes_of_one_buffer() {
    let memory = memory(MemoryOptions::default());
    let buffer = memory.upload(&[0; 64]).unwrap();
    thread::scope(|scope| {
        for thread in 0..8_u8 {
            let (memory, buffer) = (memory.clone(), buffer.clone());
            scope.spawn(move || {
                for at in (u64::from(thread)..64).step_by(8) {
                    memory.write(&buffer, at, &[thread + 1]).unwrap();
                }
            });
        }
    });
    let expected: Vec<u8> = (0..64).map(|at| at % 8 + 1).collect();
    assert_eq!(
        memory.read(&buffer, 0..64).unwrap().wait().unwrap(),
        expected
    );
}
