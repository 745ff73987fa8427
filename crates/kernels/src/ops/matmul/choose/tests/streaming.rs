//! When columns can be streamed, and by which shares.

use super::*;

fn problem([m, k, n]: [usize; 3], transposed: bool) -> Problem {
    let b = match transposed {
        true => layout(&[n, k]).transpose(0, 1).unwrap(),
        false => layout(&[k, n]),
    };
    Problem::new(&layout(&[m, k]), &b).unwrap().0
}

#[test]
fn columns_are_streamed_for_few_rows_by_the_shares_that_take_the_least_time() {
    let way = |dims: [usize; 3], transposed: bool, ability: &Ability| {
        streamed(&problem(dims, transposed), DType::F16, ability).map(|way| match way {
            Choice::Tile(tile) => (tile.tile.rows, tile.tile.cols, 1),
            Choice::Shared(shared) => {
                let Tile { rows, cols, .. } = shared.tile.tile;
                (rows, cols, shared.shares)
            }
            other => panic!("{other:?}"),
        })
    };
    let large = &Ability::LARGE;
    // In one wave: of 396 workgroups of 16 rows, three for each of 132 multiprocessors, of 264 of more rows.
    assert_eq!(way([16, 4096, 11008], false, large), Some((16, 128, 4)));
    assert_eq!(way([64, 4096, 11008], false, large), Some((64, 128, 3)));
    assert_eq!(way([16, 4096, 14336], false, large), Some((16, 128, 3)));
    assert_eq!(way([16, 4096, 4096], false, large), Some((16, 128, 12)));
    assert_eq!(way([17, 4096, 4096], false, large), Some((32, 128, 12)));
    assert_eq!(way([33, 4096, 4096], false, large), Some((48, 128, 8)));
    assert_eq!(way([5, 4096, 4096], true, large), Some((16, 64, 6)));
    assert_eq!(way([5, 4096, 11008], true, large), Some((16, 64, 2)));
    assert_eq!(way([5, 4096, 50257], true, large), Some((16, 64, 1)));
    // In two that are almost full, where one would be so by two thirds.
    assert_eq!(way([49, 4096, 11008], true, large), Some((64, 64, 3)));
    // No share is shorter than 256 elements.
    assert_eq!(way([16, 1024, 256], false, large), Some((16, 128, 4)));
    // Rows beyond the tile, lines that are no vectors, half a step, devices without barriers of subgroups.
    assert_eq!(way([65, 4096, 4096], false, large), None);
    assert_eq!(way([65, 4096, 4096], true, large), None);
    assert_eq!(way([16, 4096, 4095], false, large), None);
    assert_eq!(way([16, 4112, 4096], false, large), None);
    let waiting = Ability {
        subgroup_barriers: false,
        ..*large
    };
    assert_eq!(way([16, 4096, 4096], false, &waiting), None);
}

#[test]
fn any_inner_extent_of_whole_steps_has_shares() {
    for steps in 1..=512 {
        for (depth, transposed) in [(32, false), (64, true)] {
            let dims = [16, depth * steps, 512];
            let way = streamed(&problem(dims, transposed), DType::F16, &Ability::LARGE);
            assert!(way.is_some(), "{dims:?}");
        }
    }
}

#[test]
fn columns_of_large_matrices_are_streamed_by_themselves() {
    let streams = |dims: [usize; 3], transposed: bool, ability: &Ability| {
        default(&problem(dims, transposed), DType::F16, ability).is_streamed()
    };
    let large = &Ability::LARGE;
    for (dims, across, along) in [
        ([16, 4096, 4096], true, true),
        ([3, 4096, 4096], true, true),
        ([2, 4096, 4096], true, false),
        ([16, 8192, 2048], true, true),
        ([1, 4096, 11008], false, false),
        ([32, 4096, 11008], true, true),
        ([64, 4096, 11008], true, true),
        ([65, 4096, 11008], false, false),
        // Of few rows, and of many, larger matrices.
        ([8, 2048, 5632], true, true),
        ([7, 2048, 5632], false, false),
        ([33, 2048, 5632], false, false),
        ([48, 4096, 4096], true, true),
        ([49, 4096, 4096], false, false),
        // Too few elements, and 32 workgroups, or 64.
        ([16, 2560, 4092], false, false),
        ([16, 1 << 16, 256], false, false),
    ] {
        assert_eq!(streams(dims, false, large), across, "{dims:?}");
        assert_eq!(streams(dims, true, large), along, "{dims:?} transposed");
        let small = Ability {
            busy_groups: 128,
            ..*large
        };
        assert!(!streams(dims, false, &small), "{dims:?}");
    }
}
