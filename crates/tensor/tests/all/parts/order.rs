//! Elements by index, scans, sorting and selection.

use super::{LIMIT, agree, places, whole};
use ziggurat_tensor::{CrossEntropyOptions, DType, ScanOptions, Scatter};

#[test]
fn elements_by_index() {
    agree("read", 0.0, |d| {
        let table = whole(d, &[500, 20], 46);
        let long = whole(d, &[9000], 47);
        let at = places(d, &[70, 5], 500);
        let many = places(d, &[6000], 9000);
        Ok(vec![
            table.embedding(&at)?,
            table.index_select(1, &places(d, &[300], 20))?,
            table.gather(0, &places(d, &[300, 20], 500))?,
            table.gather(1, &places(d, &[500, 15], 20))?,
            long.take(&many)?,
            long.index_select(0, &many.abs()?.to_dtype(DType::U32)?.clamp(0, 8999)?)?,
            table.gather_nd(&places(d, &[40, 1], 500), 0)?,
            table.index(&[&places(d, &[40], 500), &places(d, &[40], 20)])?,
        ])
    });
    agree("write", 0.0, |d| {
        let table = whole(d, &[500, 20], 48);
        let long = whole(d, &[9000], 49);
        let at = places(d, &[300], 500);
        let many = places(d, &[6000], 9000);
        Ok(vec![
            table.index_add(0, &at, &whole(d, &[300, 20], 50))?,
            table.index_fill(0, &at, 3.0)?,
            table.scatter_add(0, &places(d, &[300, 20], 500), &whole(d, &[300, 20], 51))?,
            long.scatter_reduce(0, &many, &whole(d, &[6000], 52), Scatter::Max)?,
            long.index_add(0, &many, &whole(d, &[6000], 53))?,
            long.to_dtype(DType::U8)?.index_add(
                0,
                &many,
                &whole(d, &[6000], 53).to_dtype(DType::U8)?,
            )?,
            table.masked_fill(&table.gt(2.0)?, -1.0)?,
        ])
    });
    agree("losses", 2e-6, |d| {
        let scores = whole(d, &[300, 40], 54);
        let labels = places(d, &[300], 40).abs()?.clamp(0, 39)?;
        Ok(vec![
            scores.cross_entropy(&labels, &CrossEntropyOptions::default())?,
        ])
    });
}

#[test]
fn scans_and_order() {
    agree("scans", 0.0, |d| {
        let (a, long) = (whole(d, &[90, 100], 55), whole(d, &[9000], 56));
        let back = ScanOptions {
            exclusive: true,
            reverse: true,
        };
        let (most, at) = long.cummax(0)?;
        let (least, place) = a.cummin(0)?;
        Ok(vec![
            a.cumsum(0)?,
            a.cumsum(1)?,
            long.cumsum(0)?,
            long.cumsum_with(0, back)?,
            long.sign()?.cumprod(0)?,
            long.to_dtype(DType::U8)?.cumsum(0)?,
            most,
            at,
            least,
            place,
        ])
    });
    agree("order", 0.0, |d| {
        let long = whole(d, &[9000], 57);
        // NaN too.
        let long = (&long + long.log()?)?;
        let rows = whole(d, &[40, 200], 58);
        let (up, at) = long.sort(0, false)?;
        let (down, place) = long.sort(0, true)?;
        let (best, which) = long.topk(20, 0, true)?;
        let (middle, there) = whole(d, &[9000], 59).median(0, false)?;
        let (third, its) = rows.kthvalue(3, 1, false)?;
        let sorted = up.slice(0, 0..3000)?;
        let bytes = whole(d, &[20_000], 60).to_dtype(DType::I8)?;
        Ok(vec![
            at,
            place,
            up.clone(),
            down,
            which,
            best,
            middle,
            there,
            third,
            its,
            up.searchsorted(&whole(d, &[5000], 61), true)?,
            sorted.searchsorted(&long, false)?,
            bytes.argsort(0, true)?,
        ])
    });
    agree("counted", 0.0, |d| {
        let long = whole(d, &[9000], 62);
        let unique = long.unique_blocking()?;
        let counts = places(d, &[9000], 6000).abs()?.clamp(0, 5999)?;
        let (edges, histogram) = long.histogram(10, -8.0, 8.0)?;
        Ok(vec![
            long.nonzero_blocking()?,
            long.masked_select_blocking(&long.gt(0.0)?)?,
            unique.values,
            unique.inverse,
            unique.counts,
            counts.bincount_blocking(None, 0)?,
            edges,
            histogram,
        ])
    });
}

/// What cannot be cut is told, not tried, and nothing is lost.
/// A tensor that a binding just holds is scanned whole, also where there are many rows.
#[test]
fn scans_of_nearly_a_binding() {
    for rows in [1, 6, 2048] {
        let len = LIMIT as usize / 4 / rows;
        agree("cumsum", 0.0, |d| {
            Ok(vec![whole(d, &[rows, len], 78).cumsum(1)?])
        });
        agree("logcumsumexp", 1e-5, |d| {
            Ok(vec![whole(d, &[len, rows], 79).logcumsumexp(0)?])
        });
    }
}
