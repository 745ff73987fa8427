//! Neighbours that are joined to tokens, the pair of the lowest rank first, and of equal ranks the leftmost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::wrong;
use crate::Error;

/// The end of a list of neighbours.
const NONE: usize = usize::MAX;

/// Of two neighbours: the rank of their merge, and what they become.
#[derive(Debug, Default)]
pub(super) struct Merges(pub(super) HashMap<(u32, u32), (u32, u32)>);

/// A token among its neighbours.
#[derive(Clone, Copy)]
struct Link {
    token: u32,
    before: usize,
    behind: usize,
}

impl Merges {
    /// From merges in order of rank.
    pub(super) fn new<'a>(
        vocabulary: &HashMap<String, u32>,
        merges: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Error> {
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
        Ok(Self(ranks))
    }

    /// Joins neighbours until none have a merge, and appends what is left.
    pub(super) fn join(&self, tokens: &[u32], out: &mut Vec<u32>) {
        let link = |(at, &token): (usize, &u32)| Link {
            token,
            before: at.checked_sub(1).unwrap_or(NONE),
            behind: at + 1,
        };
        let mut links: Vec<Link> = tokens.iter().enumerate().map(link).collect();
        if let Some(last) = links.last_mut() {
            last.behind = NONE;
        }
        self.merge(&mut links);
        let mut at = 0;
        while let Some(link) = links.get(at) {
            out.push(link.token);
            at = link.behind;
        }
    }

    /// The heap holds each pair once it appears, by rank and place; one of which a
    /// half has been joined elsewhere is known by what it would become.
    fn merge(&self, links: &mut [Link]) {
        let mut heap = BinaryHeap::new();
        let pair = |links: &[Link], at: usize| {
            let left = links.get(at)?;
            let right = links.get(left.behind)?;
            let &(rank, joined) = self.0.get(&(left.token, right.token))?;
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
