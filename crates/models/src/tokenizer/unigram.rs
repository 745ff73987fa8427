//! SentencePiece's unigram model: of all ways to divide a text into tokens, the one whose scores have the greatest sum.
//!
//! Scores are logarithms of probabilities. The search is Viterbi's: to each place between two characters the best way so far, so
//! time grows with the text times the bytes of the longest token.

use super::wrong;
use crate::Error;

/// A character that is no token by itself has this much less than the lowest score.
const UNKNOWN_PENALTY: f64 = 10.0;
/// Bytes of a token that text is divided into, at most.
const LONGEST: usize = 256;

/// A token that text is divided into: its number, its characters and its score.
pub(super) type Scored<'a> = (u32, &'a str, f64);

/// Tokens with scores.
#[derive(Debug)]
pub(super) struct Unigram {
    /// By bytes, each text once.
    pieces: Vec<(Box<str>, u32, f64)>,
    /// The score of a character that is no token.
    unknown_score: f64,
    unknown: Option<u32>,
    /// Whether sums are rounded to f32, as SentencePiece has them, and not f64, as `tokenizers` has: of nearly equal sums another one
    /// may be the greatest.
    single: bool,
    /// The token of each byte; without, characters that are no tokens are unknown.
    of_byte: Option<Vec<u32>>,
}

/// The best way to a place in the text.
#[derive(Clone, Copy)]
struct Way {
    score: f64,
    start: usize,
    /// `None`: unknown.
    token: Option<u32>,
}

impl Unigram {
    /// `of_byte` has the token of each byte, if characters that are no tokens are to be written as bytes. Of equal texts the last
    /// counts, as in the reference.
    pub(super) fn new(
        pieces: &[Scored<'_>],
        unknown: Option<u32>,
        of_byte: Option<Vec<u32>>,
        single: bool,
    ) -> Result<Self, Error> {
        let mut lowest = f64::INFINITY;
        for &(token, text, score) in pieces {
            if !score.is_finite() {
                let rule = "the scores of tokens must be finite";
                return Err(wrong(format!("{rule}: that of {token} is {score}")));
            }
            if text.len() > LONGEST {
                let (bytes, rule) = (text.len(), "a token must be no longer than");
                return Err(wrong(format!(
                    "{rule} {LONGEST} bytes: {token} has {bytes}"
                )));
            }
            lowest = lowest.min(score);
        }
        let pieces = pieces.iter().rev();
        let mut pieces: Vec<(Box<str>, u32, f64)> = pieces
            .map(|&(token, text, score)| (text.into(), token, score))
            .collect();
        pieces.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        pieces.dedup_by(|(a, ..), (b, ..)| a == b);
        Ok(Self {
            pieces,
            unknown_score: lowest - UNKNOWN_PENALTY,
            unknown,
            single,
            of_byte,
        })
    }

    /// Appends the tokens of a piece of text.
    pub(super) fn encode(&self, piece: &str, out: &mut Vec<u32>) -> Result<(), Error> {
        let ways = self.ways(piece);
        // From the end to the beginning: neighbours that are unknown are one.
        let mut parts: Vec<(usize, usize, Option<u32>)> = Vec::new();
        let mut end = piece.len();
        while let Some(Some(way)) = ways.get(end).filter(|_| end > 0) {
            match parts.last_mut() {
                Some((start, _, None)) if way.token.is_none() => *start = way.start,
                _ => parts.push((way.start, end, way.token)),
            }
            end = way.start;
        }
        for &(start, end, token) in parts.iter().rev() {
            match (token, &self.of_byte) {
                (Some(token), _) => out.push(token),
                (None, Some(of_byte)) => {
                    let bytes = piece.as_bytes().get(start..end).unwrap_or_default();
                    let token = |&byte: &u8| of_byte.get(usize::from(byte)).copied();
                    out.extend(bytes.iter().filter_map(token));
                }
                (None, None) => out.push(self.unknown.ok_or_else(|| {
                    let text = piece.get(start..end).unwrap_or_default();
                    wrong(format!(
                        "the vocabulary has no tokens for {text:?}, nor one for the unknown"
                    ))
                })?),
            }
        }
        Ok(())
    }

    /// The best way to each place, if one ends there.
    fn ways(&self, text: &str) -> Vec<Option<Way>> {
        let bytes = text.as_bytes();
        let mut ways: Vec<Option<Way>> = vec![None; bytes.len() + 1];
        let sum = |a: f64, b: f64| match self.single {
            true => f64::from((a + b) as f32),
            false => a + b,
        };
        let better = |ways: &mut [Option<Way>], end: usize, way: Way| {
            if let Some(best) = ways.get_mut(end)
                && best.is_none_or(|best| way.score > best.score)
            {
                *best = Some(way);
            }
        };
        for (start, character) in text.char_indices() {
            // Each character is a way, so one ends here.
            let so_far = ways.get(start).copied().flatten().map_or(0.0, |w| w.score);
            let mut known = false;
            let mut range = self.pieces.as_slice();
            for (depth, &byte) in bytes.get(start..).unwrap_or_default().iter().enumerate() {
                range = narrowed(range, depth, byte);
                let Some((piece, token, score)) = range.first() else {
                    break;
                };
                // The shortest of those that begin so is the first.
                if piece.len() == depth + 1 {
                    known |= piece.len() == character.len_utf8();
                    // The name of the unknown token is unknown as a text, too.
                    let token = Some(*token).filter(|_| self.unknown != Some(*token));
                    let score = sum(so_far, *score);
                    let way = Way {
                        score,
                        start,
                        token,
                    };
                    better(&mut ways, start + depth + 1, way);
                }
            }
            if !known {
                let way = Way {
                    score: sum(so_far, self.unknown_score),
                    start,
                    token: None,
                };
                better(&mut ways, start + character.len_utf8(), way);
            }
        }
        ways
    }
}

/// Of pieces that have equal bytes in front of a place, those that have this byte there.
fn narrowed(pieces: &[(Box<str>, u32, f64)], at: usize, byte: u8) -> &[(Box<str>, u32, f64)] {
    let first = pieces.partition_point(|(text, ..)| text.as_bytes().get(at) < Some(&byte));
    let pieces = pieces.get(first..).unwrap_or_default();
    let end = pieces.partition_point(|(text, ..)| text.as_bytes().get(at) == Some(&byte));
    pieces.get(..end).unwrap_or_default()
}
