//! How reductions are spread over lanes.

use super::*;

fn choose(outputs: u64, len: u64, side: Side, may_split: bool, workgroup_size: u32) -> Lanes {
    let ability = Ability {
        workgroup_size,
        ..Ability::WEBGPU
    };
    super::choose(outputs, len, side, may_split, &ability)
}

const MOST: u64 = 1 << 15;

fn check(l: &Lanes, len: u64) {
    assert_eq!(l.rows * l.lanes, l.wg);
    assert!(l.wg.is_power_of_two() && l.lanes.is_power_of_two());
    assert!(u64::from(l.chunks) * u64::from(l.chunk_len) >= len);
    assert!(
        len == 0 || u64::from(l.chunks - 1) * u64::from(l.chunk_len) < len,
        "{l:?} has an empty chunk"
    );
}

#[test]
fn lanes_loop_no_longer_than_they_may() {
    for (outputs, len) in [
        (1000, 1 << 30),
        (1 << 20, 1 << 24),
        (1, 1 << 31),
        (300, 1000),
    ] {
        for side in [Side::Reduced, Side::Kept] {
            for iterations in [1, 34, 1 << 20] {
                let whole = choose(outputs, len, side, true, 256);
                let l = whole.within(len, iterations, MOST);
                check(&l, len);
                assert!(l.iterations(iterations) <= MOST.max(iterations), "{l:?}");
                assert!(whole.iterations(iterations) > MOST || l == whole);
            }
        }
    }
}

#[test]
fn covers_every_element_once_for_any_counts() {
    for wg in [1, 3, 64, 100, 256, 1024, 5000] {
        for outputs in [1, 2, 31, 33, 1000, 65_537, 1 << 24] {
            for len in [0, 1, 2, 63, 257, 1025, 100_000, 1 << 25] {
                for side in [Side::Reduced, Side::Kept] {
                    for may_split in [false, true] {
                        let l = choose(outputs, len, side, may_split, wg);
                        check(&l, len);
                        assert!(may_split || l.chunks == 1);
                    }
                }
            }
        }
    }
}

#[test]
fn packs_many_short_rows_into_one_workgroup() {
    let l = choose(1000, 16, Side::Reduced, true, 256);
    assert_eq!((l.rows, l.lanes, l.chunks), (64, 4, 1));
}

#[test]
fn gives_a_long_row_a_whole_workgroup() {
    let l = choose(4096, 4096, Side::Reduced, true, 256);
    assert_eq!((l.rows, l.lanes, l.chunks), (1, 256, 1));
}

#[test]
fn gives_each_of_many_columns_one_invocation() {
    let l = choose(1 << 20, 64, Side::Kept, true, 256);
    assert_eq!((l.rows, l.lanes, l.chunks), (256, 1, 1));
}

#[test]
fn adds_lanes_to_few_columns_but_keeps_transactions_full() {
    let l = choose(64, 512, Side::Kept, true, 256);
    assert_eq!((l.rows, l.lanes), (32, 8));
}

#[test]
fn without_chunks_columns_get_more_lanes() {
    let l = choose(4096, 16384, Side::Kept, false, 256);
    assert_eq!((l.rows, l.lanes, l.chunks), (8, 32, 1));
}

#[test]
fn cuts_a_few_long_reductions_into_chunks() {
    let l = choose(1, 1 << 25, Side::Reduced, true, 256);
    assert_eq!((l.lanes, l.chunks), (256, 512));
    let l = choose(8, 1 << 20, Side::Kept, true, 256);
    assert!(l.chunks > 1 && l.rows == 8, "{l:?}");
}

#[test]
fn lanes_that_take_vectors_begin_chunks_with_them() {
    let ability = Ability::WEBGPU;
    for len in [0, 1, 5, 1000, 4096, 1 << 20, (1 << 26) + 3] {
        for outputs in [1, 7, 4096] {
            for side in [Side::Reduced, Side::Kept] {
                let l = vectors(outputs, len, side, true, &ability);
                check(&l, len);
                assert!(
                    l.chunks == 1 || l.chunk_len.is_multiple_of(4 * l.lanes),
                    "{l:?}"
                );
                let l = l.within(len, 40, MOST);
                check(&l, len);
                assert!(
                    l.chunks == 1 || l.chunk_len.is_multiple_of(4 * l.lanes),
                    "{l:?}"
                );
                assert!(l.iterations(40) <= MOST, "{l:?}");
            }
        }
    }
    let l = vectors(8192, 8192, Side::Reduced, true, &ability);
    assert_eq!((l.rows, l.lanes, l.chunks), (1, 256, 1));
    let l = vectors(1 << 15, 1024, Side::Reduced, true, &ability);
    assert_eq!((l.rows, l.lanes, l.chunks), (4, 64, 1));
}

#[test]
fn rows_in_registers_fit() {
    let large = Ability {
        invocations: 1024,
        ..Ability::WEBGPU
    };
    for ability in [Ability::WEBGPU, large] {
        for len in [1, 3, 4, 5, 64, 1000, 4096, 8192, 8193, 32_768, 32_769] {
            for side in [Side::Reduced, Side::Kept] {
                for outputs in [1, 300, 1 << 20] {
                    let most = 32 * u64::from(ability.invocations);
                    let found = registers(outputs, len, side, &ability);
                    let anyhow = in_registers_for_any_count(outputs, len, side, &ability);
                    assert!(side == Side::Kept || found == anyhow);
                    let Some(Registers { lanes, vectors }) = found else {
                        assert!(anyhow.is_none() == (len > most));
                        continue;
                    };
                    assert!(side == Side::Reduced || outputs < 8 || lanes.rows >= 8);
                    check(&lanes, len);
                    assert!(len <= most && (1..=8).contains(&vectors));
                    assert!(u64::from(4 * lanes.lanes * vectors) >= len, "{lanes:?}");
                    assert!(lanes.wg <= ability.invocations);
                    let found = Registers { lanes, vectors };
                    let columns = u64::from(found.columns(len));
                    let places = u64::from(lanes.lanes) * (4 * u64::from(vectors - 1) + columns);
                    assert!((1..=4).contains(&columns) && places >= len, "{found:?}");
                    assert!(
                        columns == 1 || places - u64::from(lanes.lanes) < len,
                        "{found:?}"
                    );
                    if let Some(Registers { lanes, .. }) = found.staged(len, true) {
                        check(&lanes, len);
                        let results = u64::from(lanes.rows) * len;
                        assert!(
                            results <= STAGED && lanes.rows.is_multiple_of(4),
                            "{lanes:?}"
                        );
                        let words = found.staged(len, false).map(|found| found.lanes);
                        assert_eq!(words, (lanes.lanes <= 8).then_some(lanes));
                    } else {
                        assert!(lanes.rows % 4 != 0 || 4 * len > STAGED, "{found:?}");
                    }
                }
            }
        }
    }
    let shape =
        |len| registers(4096, len, Side::Reduced, &large).map(|h| (h.lanes.lanes, h.vectors));
    assert_eq!(shape(1024), Some((64, 4)));
    assert_eq!(shape(8192), Some((256, 8)));
    assert_eq!(shape(32_768), Some((1024, 8)));
}

#[test]
fn rows_of_elements_taken_one_by_one_leave_few_places_over() {
    let shape = |len| {
        registers(4096, len, Side::Reduced, &Ability::WEBGPU).map(|h| (h.lanes.lanes, h.vectors))
    };
    assert_eq!(shape(4), Some((1, 1)));
    assert_eq!(shape(5), Some((2, 1)));
    assert_eq!(shape(16), Some((4, 1)));
    assert_eq!(shape(17), Some((4, 2)));
    assert_eq!(shape(65), Some((8, 3)));
    assert_eq!(shape(1025), Some((64, 5)));
    assert_eq!(shape(4097), Some((256, 5)));
}

#[test]
fn an_empty_reduction_has_one_empty_chunk() {
    let l = choose(7, 0, Side::Reduced, true, 256);
    assert_eq!((l.chunks, l.chunk_len), (1, 0));
}
