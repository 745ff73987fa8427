//! Byte-level BPE: bytes of a piece are joined to tokens, the pair of the lowest rank first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::{bytes, wrong};
use crate::Error;

/// The end of a list of neighbours.
const NONE: usize = usize::MAX;

/// Tokens of bytes, and which two become which.
#[derive(Debug)]
pub(super) struct Bpe {
    /// The token of each byte.
    of_byte: Vec<Option<u32>>,
    /// Of two neighbours: the rank of their merge, and what they become.
    merges: HashMap<(u32, u32), (u32, u32)>,
    unknown: Option<u32>,
    /// Whole pieces that are tokens are taken as they are, whatever the merges.
    whole: Option<HashMap<Vec<u8>, u32>>,
}

/// A token among its neighbours.
#[derive(Clone, Copy)]
struct Link {
    token: u32,
    before: usize,
    behind: usize,
}

impl Bpe {
    /// From names of tokens and merges in order of rank. `whole`: a piece that is a token by itself is not merged.
    pub(super) fn new<'a>(
        vocabulary: &HashMap<String, u32>,
        merges: impl Iterator<Item = (&'a str, &'a str)>,
        unknown: Option<u32>,
        whole: bool,
    ) -> Result<Self, Error> {
        let characters = bytes::characters();
        let token = |name: &str| vocabulary.get(name).copied();
        let mut ranks = HashMap::new();
        for (rank, (left, right)) in (0..).zip(merges) {
            let joined = format!("{left}{right}");
            let (Some(a), Some(b), Some(both)) = (token(left), token(right), token(&joined)) else {
                let rule = "both halves of a merge and what they become must be tokens";
                return Err(wrong(format!(
                    "{rule}: merge {rank} is `{left}` and `{right}`"
                )));
            };
            // What is there twice has the rank that it had last, as in the reference.
            ranks.insert((a, b), (rank, both));
        }
        let name = |character: &char| token(character.encode_utf8(&mut [0; 4]));
        let all = || vocabulary.iter();
        let whole = whole.then(|| {
            all()
                .map(|(name, &token)| (bytes::of_name(name, &characters), token))
                .collect()
        });
        Ok(Self {
            of_byte: characters.iter().map(name).collect(),
            merges: ranks,
            unknown,
            whole,
        })
    }

    /// Appends the tokens of a piece.
    pub(super) fn encode(&self, piece: &str, out: &mut Vec<u32>) -> Result<(), Error> {
        if let Some(&token) = self
            .whole
            .as_ref()
            .and_then(|all| all.get(piece.as_bytes()))
        {
            out.push(token);
            return Ok(());
        }
        let mut links = Vec::with_capacity(piece.len());
        for byte in piece.bytes() {
            let known = self.of_byte.get(usize::from(byte)).copied().flatten();
            let Some(token) = known.or(self.unknown) else {
                let text = format!(
                    "the vocabulary has no token for the byte {byte:#04x}, nor one for the unknown"
                );
                return Err(wrong(text));
            };
            let at = links.len();
            links.push(Link {
                token,
                before: at.checked_sub(1).unwrap_or(NONE),
                behind: at + 1,
            });
        }
        if let Some(last) = links.last_mut() {
            last.behind = NONE;
        }
        self.merge(&mut links);
        let mut at = 0;
        while let Some(link) = links.get(at) {
            out.push(link.token);
            at = link.behind;
        }
        Ok(())
    }

    /// Joins neighbours until none have a merge. The heap holds each pair once it appears, by rank and place; one of which a
    /// half has been joined elsewhere is known by what it would become.
    fn merge(&self, links: &mut [Link]) {
        let mut heap = BinaryHeap::new();
        let pair = |links: &[Link], at: usize| {
            let left = links.get(at)?;
            let right = links.get(left.behind)?;
            let &(rank, joined) = self.merges.get(&(left.token, right.token))?;
            Some(Reverse((rank, at, joined, left.token, right.token)))
        };
        heap.extend((0..links.len()).filter_map(|at| pair(links, at)));
        while let Some(Reverse(best)) = heap.pop() {
            let (_, at, joined, ..) = best;
            if pair(links, at) != Some(Reverse(best)) {
                continue;
            }
            let Some(&Link { before, behind, .. }) = links.get(at) else {
                continue;
            };
            let next = links.get(behind).map_or(NONE, |right| right.behind);
            if let Some(right) = links.get_mut(behind) {
                // No token: pairs that begin here are gone.
                *right = Link {
                    token: u32::MAX,
                    before: NONE,
                    behind: NONE,
                };
            }
            if let Some(left) = links.get_mut(at) {
                (left.token, left.behind) = (joined, next);
            }
            if let Some(further) = links.get_mut(next) {
                further.before = at;
            }
            heap.extend([before, at].into_iter().filter_map(|at| pair(links, at)));
        }
    }
}
