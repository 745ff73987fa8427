//! Copies, clears, encoders, submits and writes.

use wgpu::BufferUsages as U;

use super::support::{bytes_of, plain};

#[test]
fn copies_move_the_bytes_asked_for() {
    let gpu = plain();
    let (from, to) = (gpu.storage(16), gpu.storage(16));
    gpu.queue.write_buffer(&from, 0, &bytes_of(&[1, 2, 3, 4]));
    let commands = gpu.record(|encoder| {
        encoder.copy_buffer_to_buffer(&from, 4, &to, 8, 8);
        encoder.copy_buffer_to_buffer(&from, 0, &to, 0, 4);
    });
    gpu.queue.submit([commands]);
    assert_eq!(gpu.read_u32(&to), [1, 0, 2, 3]);
}

#[test]
fn clears_write_zeros_only_where_asked() {
    let gpu = plain();
    let buffer = gpu.storage(16);
    gpu.queue.write_buffer(&buffer, 0, &bytes_of(&[1, 2, 3, 4]));
    gpu.queue
        .submit([gpu.record(|encoder| encoder.clear_buffer(&buffer, 4, Some(8)))]);
    assert_eq!(gpu.read_u32(&buffer), [1, 0, 0, 4]);
    gpu.queue
        .submit([gpu.record(|encoder| encoder.clear_buffer(&buffer, 8, None))]);
    assert_eq!(gpu.read_u32(&buffer), [1, 0, 0, 0]);
}

#[test]
fn copies_keep_the_rules() {
    let gpu = plain();
    let (a, b) = (gpu.storage(16), gpu.storage(16));
    let source_only = gpu.buffer(16, U::COPY_SRC);
    let target_only = gpu.buffer(16, U::COPY_DST);
    let copy = |from: &wgpu::Buffer, at, to: &wgpu::Buffer, to_at, bytes: Option<u64>| {
        gpu.record(|encoder| encoder.copy_buffer_to_buffer(from, at, to, to_at, bytes))
    };
    gpu.accepts(|| copy(&source_only, 0, &target_only, 0, None));
    gpu.accepts(|| copy(&a, 16, &b, 0, Some(0)));
    gpu.refuses("the same buffer", || copy(&a, 0, &a, 8, Some(4)));
    gpu.refuses("COPY_SRC", || copy(&target_only, 0, &b, 0, None));
    gpu.refuses("COPY_DST", || copy(&a, 0, &source_only, 0, None));
    gpu.refuses("copy size 6", || copy(&a, 0, &b, 0, Some(6)));
    gpu.refuses("source offset 2", || copy(&a, 2, &b, 0, Some(4)));
    gpu.refuses("target offset 2", || copy(&a, 0, &b, 2, Some(4)));
    gpu.refuses("exceed the 16 bytes", || copy(&a, 8, &b, 0, Some(12)));
    gpu.refuses("exceed the 16 bytes", || copy(&a, 0, &b, 8, Some(12)));
    gpu.refuses("exceed the 16 bytes", || copy(&a, 20, &b, 0, None));
    gpu.refuses("exceed the 16 bytes", || {
        copy(&a, u64::MAX - 3, &b, 0, Some(8))
    });
}

#[test]
fn clears_keep_the_rules() {
    let gpu = plain();
    let buffer = gpu.storage(16);
    let source_only = gpu.buffer(16, U::COPY_SRC);
    let clear = |buffer: &wgpu::Buffer, offset, bytes| {
        gpu.record(|encoder| encoder.clear_buffer(buffer, offset, bytes))
    };
    gpu.accepts(|| clear(&buffer, 16, None));
    gpu.refuses("COPY_DST", || clear(&source_only, 0, None));
    gpu.refuses("offset 2", || clear(&buffer, 2, Some(4)));
    gpu.refuses("size 3", || clear(&buffer, 0, Some(3)));
    gpu.refuses("exceed the 16 bytes", || clear(&buffer, 8, Some(12)));
}

#[test]
fn writes_keep_the_rules() {
    let gpu = plain();
    let buffer = gpu.storage(16);
    let write = |offset, bytes: &[u8]| gpu.queue.write_buffer(&buffer, offset, bytes);
    gpu.accepts(|| write(12, &[1; 4]));
    gpu.accepts(|| write(16, &[]));
    gpu.refuses("size 3", || write(0, &[1; 3]));
    gpu.refuses("offset 2", || write(2, &[1; 4]));
    gpu.refuses("exceed the 16 bytes", || write(12, &[1; 8]));
    let source_only = gpu.buffer(16, U::COPY_SRC);
    gpu.refuses("COPY_DST", || {
        gpu.queue.write_buffer(&source_only, 0, &[1; 4]);
    });
    assert_eq!(gpu.read_u32(&buffer), [0, 0, 0, 0x0101_0101]);
}

#[test]
fn writes_through_a_view_arrive_when_it_is_dropped() {
    let gpu = plain();
    let buffer = gpu.storage(8);
    let eight = wgpu::BufferSize::new(8).unwrap();
    let mut view = gpu.queue.write_buffer_with(&buffer, 0, eight).unwrap();
    view.copy_from_slice(&bytes_of(&[5, 6]));
    drop(view);
    assert_eq!(gpu.read_u32(&buffer), [5, 6]);
    let view = gpu.refuses("exceed the 8 bytes", || {
        gpu.queue.write_buffer_with(&buffer, 4, eight)
    });
    assert!(view.is_none());
}

#[test]
fn an_encoder_reports_its_first_error_once_and_its_commands_are_not_run() {
    let gpu = plain();
    let buffer = gpu.storage(8);
    gpu.queue.write_buffer(&buffer, 0, &[7; 8]);
    let commands = gpu.refuses("offset 2", || {
        gpu.record(|encoder| {
            encoder.clear_buffer(&buffer, 2, Some(4));
            encoder.clear_buffer(&buffer, 0, Some(3));
            encoder.clear_buffer(&buffer, 0, None);
        })
    });
    gpu.refuses("CommandBuffer with label '' is invalid", || {
        gpu.queue.submit([commands])
    });
    assert_eq!(gpu.read(&buffer), [7; 8]);
}

#[test]
fn an_encoder_is_locked_while_a_pass_is_open() {
    let gpu = plain();
    let buffer = gpu.storage(8);
    gpu.refuses("still open", || {
        gpu.record(|encoder| {
            let pass = encoder
                .begin_compute_pass(&Default::default())
                .forget_lifetime();
            encoder.clear_buffer(&buffer, 0, None);
            drop(pass);
        })
    });
    gpu.refuses("still open", || {
        let mut encoder = gpu.encoder();
        let pass = encoder
            .begin_compute_pass(&Default::default())
            .forget_lifetime();
        let commands = encoder.finish();
        drop(pass);
        commands
    });
    gpu.accepts(|| {
        gpu.record(|encoder| {
            drop(encoder.begin_compute_pass(&Default::default()));
            encoder.clear_buffer(&buffer, 0, None);
        })
    });
}

#[test]
fn debug_groups_are_balanced() {
    let gpu = plain();
    gpu.accepts(|| {
        gpu.record(|encoder| {
            encoder.push_debug_group("group");
            encoder.insert_debug_marker("marker");
            encoder.pop_debug_group();
        })
    });
    gpu.refuses("not popped", || {
        gpu.record(|encoder| encoder.push_debug_group("group"))
    });
    gpu.refuses("not pushed", || {
        gpu.record(|encoder| encoder.pop_debug_group())
    });
    gpu.refuses("not popped", || {
        gpu.pass(|pass| pass.push_debug_group("group"))
    });
}

#[test]
fn objects_of_another_device_are_refused() {
    let (gpu, other) = (plain(), plain());
    let foreign = other.storage(8);
    gpu.refuses("belongs to another device", || {
        gpu.queue.write_buffer(&foreign, 0, &[0; 4]);
    });
    gpu.refuses("belongs to another device", || {
        gpu.record(|encoder| encoder.clear_buffer(&foreign, 0, None))
    });
    let commands = other.record(|encoder| encoder.clear_buffer(&foreign, 0, None));
    gpu.refuses("belongs to another device", || gpu.queue.submit([commands]));
}

#[test]
fn a_destroyed_buffer_is_refused_when_submitted() {
    let gpu = plain();
    let buffer = gpu.storage(8);
    let commands = gpu.record(|encoder| encoder.clear_buffer(&buffer, 0, None));
    buffer.destroy();
    gpu.refuses("has been destroyed", || gpu.queue.submit([commands]));
    // Recording is no use yet.
    let commands = gpu.accepts(|| gpu.record(|encoder| encoder.clear_buffer(&buffer, 0, None)));
    gpu.refuses("has been destroyed", || gpu.queue.submit([commands]));
}
