//! Packs byte ranges of buffers into readback pieces of bounded size.
//!
//! Many small ranges share one piece, so that they cost one mapping; a large range is spread over
//! several. Ranges are widened to whole words.
//!
//! Invariants: a piece has at most `chunk` bytes; every byte of every range is delivered exactly once.

use crate::span::{WORD, ceil, floor};
use std::ops::Range;

/// One recorded copy, and what becomes of its bytes on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Which of the ranges.
    pub(super) range: usize,
    /// Byte offset in the source buffer.
    pub(super) source: u64,
    /// Byte offset in the piece.
    pub(super) at: u64,
    /// Bytes copied, whole words.
    pub(super) bytes: u64,
    /// The wanted bytes, within the piece.
    pub(super) wanted: Range<usize>,
    /// Where they go in the output of the range.
    pub(super) output: usize,
}

/// What is mapped at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bytes: u64,
    pub(super) parts: Vec<Part>,
}

/// Plans the pieces for `ranges` with at most `chunk` bytes each; `chunk` is a positive multiple of a word.
pub(super) fn plan(ranges: &[Range<u64>], chunk: u64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut piece = Piece::default();
    for (index, range) in ranges.iter().enumerate() {
        if range.is_empty() {
            continue;
        }
        let mut at = floor(range.start);
        let end = ceil(range.end);
        // A range that fits in one piece is not torn.
        if end - at > chunk - piece.bytes && end - at <= chunk {
            pieces.push(std::mem::take(&mut piece));
        }
        while at < end {
            if chunk - piece.bytes < WORD {
                pieces.push(std::mem::take(&mut piece));
            }
            let bytes = (chunk - piece.bytes).min(end - at);
            let first = at.max(range.start);
            let last = (at + bytes).min(range.end);
            let within = |offset: u64| (piece.bytes + (offset - at)) as usize;
            piece.parts.push(Part {
                range: index,
                source: at,
                at: piece.bytes,
                bytes,
                wanted: within(first)..within(last),
                output: (first - range.start) as usize,
            });
            piece.bytes += bytes;
            at += bytes;
        }
    }
    if piece.bytes > 0 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn many_small_ranges_share_one_piece() {
        let ranges: Vec<_> = (0..100_u64).map(|i| i..i + 3).collect();
        assert_eq!(plan(&ranges, 4096).len(), 1);
    }

    #[test]
    fn empty_ranges_need_no_piece() {
        assert!(plan(&[0..0, 7..7], 64).is_empty());
    }

    #[test]
    fn a_range_that_fits_is_not_torn() {
        let pieces = plan(&[0..40, 0..40], 64);
        assert_eq!(pieces.len(), 2);
        assert!(pieces.iter().all(|piece| piece.parts.len() == 1));
    }

    proptest! {
        #[test]
        fn every_byte_is_delivered_once(
            ranges in prop::collection::vec((0_u64..300, 0_u64..300), 0..12),
            words in 1_u64..40,
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, len)| start..start + len).collect();
            let memory: Vec<u8> = (0..1024_usize).map(|i| (i * 31 % 251) as u8).collect();
            let mut outputs: Vec<Vec<Option<u8>>> =
                ranges.iter().map(|r| vec![None; (r.end - r.start) as usize]).collect();
            for piece in plan(&ranges, words * 4) {
                prop_assert!(piece.bytes <= words * 4 && piece.bytes > 0);
                let mut staged = vec![0_u8; piece.bytes as usize];
                for part in &piece.parts {
                    prop_assert_eq!((part.source % 4, part.at % 4, part.bytes % 4), (0, 0, 0));
                    let (at, source, n) = (part.at as usize, part.source as usize, part.bytes as usize);
                    staged[at..at + n].copy_from_slice(&memory[source..source + n]);
                }
                for part in &piece.parts {
                    for (i, &byte) in staged[part.wanted.clone()].iter().enumerate() {
                        let cell = &mut outputs[part.range][part.output + i];
                        prop_assert!(cell.is_none());
                        *cell = Some(byte);
                    }
                }
            }
            for (range, output) in ranges.iter().zip(outputs) {
                let want: Vec<_> = memory[range.start as usize..range.end as usize].iter().map(|&b| Some(b)).collect();
                prop_assert_eq!(output, want);
            }
        }
    }
}
