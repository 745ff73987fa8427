//! Where each register lives: the innermost place that holds all of its uses.
//!
//! Invocations that are masked off in a register's home never read what is written there, so writes
//! need no mask of their own, and the register can be uniform, unless control diverges between its
//! home and the write. Only a register that is written first thing in its home, every time the home
//! is entered, may live inside a loop.

use super::{Block, Code, Op, Use};

/// The kinds of places in the tree of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Root,
    Branch,
    /// All of a loop; its body and its continuing block are within.
    Loop,
    Body,
    Continuing,
    Scope,
}

/// The tree of places, numbered in the order in which [`Tree::of`] walks.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) parent: Vec<usize>,
    pub(super) kind: Vec<Kind>,
    depth: Vec<usize>,
}

impl Tree {
    fn add(&mut self, parent: usize, kind: Kind) -> usize {
        let depth = self.depth.get(parent).map_or(0, |depth| depth + 1);
        self.parent.push(parent);
        self.kind.push(kind);
        self.depth.push(depth);
        self.parent.len() - 1
    }

    fn up(&self, place: usize) -> usize {
        self.parent.get(place).copied().unwrap_or(0)
    }

    fn kind(&self, place: usize) -> Kind {
        self.kind.get(place).copied().unwrap_or(Kind::Root)
    }

    fn depth(&self, place: usize) -> usize {
        self.depth.get(place).copied().unwrap_or(0)
    }

    /// The innermost place around both.
    fn join(&self, a: usize, b: usize) -> usize {
        let (mut a, mut b) = (a, b);
        while a != b {
            if self.depth(a) >= self.depth(b) {
                a = self.up(a);
            } else {
                b = self.up(b);
            }
        }
        a
    }

    /// The place within `around` through which `inner` is reached.
    fn child(&self, around: usize, inner: usize) -> usize {
        let mut at = inner;
        while at != around && self.up(at) != around && at != 0 {
            at = self.up(at);
        }
        at
    }

    fn in_loop(&self, place: usize) -> bool {
        let mut at = place;
        while at != 0 {
            if self.kind(at) == Kind::Loop {
                return true;
            }
            at = self.up(at);
        }
        false
    }
}

/// Places within an operation's blocks, in the order of `Op::blocks_mut`, from number `next` on.
/// Gives the kinds of its blocks' places and whether a place for the whole loop comes first.
pub(super) fn kinds(op: &Op) -> (&'static [Kind], bool) {
    match op {
        Op::If { .. } => (&[Kind::Branch, Kind::Branch], false),
        Op::Loop { .. } => (&[Kind::Body, Kind::Continuing], true),
        Op::Scope { .. } => (&[Kind::Scope], false),
        _ => (&[], false),
    }
}

#[derive(Clone, Copy, Debug)]
struct Access {
    place: usize,
    /// Writes all of it, whatever else happens there.
    whole: bool,
}

/// The homes of all registers.
#[derive(Debug)]
pub(super) struct Homes {
    /// By register: its place, for masks and uniformity.
    pub(super) home: Vec<usize>,
    /// By register: it may be read in a loop before it is written there.
    pub(super) carried: Vec<bool>,
    pub(super) places: usize,
}

/// Finds the homes; removes first writes that are overwritten before any read.
pub(super) fn find(code: &mut Code) -> Homes {
    let mut tree = Tree::default();
    let root = tree.add(0, Kind::Root);
    let mut accesses: Vec<Vec<Access>> = vec![Vec::new(); code.registers as usize];
    walk(
        &mut code.block,
        root,
        &mut tree,
        &mut |place, reg, whole| {
            if let Some(list) = accesses.get_mut(reg.index()) {
                list.push(Access { place, whole });
            }
        },
    );
    let mut home = Vec::with_capacity(accesses.len());
    let mut carried = vec![false; accesses.len()];
    let mut dead = vec![false; accesses.len()];
    for ((list, dead), carried) in accesses.iter().zip(&mut dead).zip(&mut carried) {
        if let Some((first, rest)) = list.split_first()
            && first.whole
            && rest.len() > 1
            && let (place, true) = settle(&tree, rest)
        {
            *dead = true;
            home.push(place);
            continue;
        }
        let (place, written) = settle(&tree, list);
        *carried = !written;
        home.push(place);
    }
    for (reg, _) in &code.inputs {
        if let Some(place) = home.get_mut(reg.index()) {
            *place = root;
        }
        if let Some(dead) = dead.get_mut(reg.index()) {
            *dead = false;
        }
    }
    remove_first(&mut code.block, &mut dead);
    Homes {
        home,
        carried,
        places: tree.parent.len(),
    }
}

/// The home of a register with these accesses, and whether it is written first thing there.
fn settle(tree: &Tree, list: &[Access]) -> (usize, bool) {
    let Some(first) = list.first() else {
        return (0, false);
    };
    let join = list
        .iter()
        .fold(first.place, |at, access| tree.join(at, access.place));
    if tree.kind(join) == Kind::Loop {
        let written =
            first.whole && tree.kind(first.place) == Kind::Body && tree.up(first.place) == join;
        return if written { (join, true) } else { (0, false) };
    }
    if !first.whole || first.place != join {
        return (if tree.in_loop(join) { 0 } else { join }, false);
    }
    // Set before a loop and used nowhere else but in it: it lives in the loop.
    let mut inside = list.iter().skip_while(|access| access.place == join);
    if let Some(next) = inside.next() {
        let child = tree.child(join, next.place);
        let all = tree.kind(child) == Kind::Loop
            && inside.all(|access| access.place != join && tree.child(join, access.place) == child);
        if all {
            return (child, true);
        }
    }
    (join, true)
}

fn walk(
    block: &mut Block,
    place: usize,
    tree: &mut Tree,
    note: &mut dyn FnMut(usize, super::Reg, bool),
) {
    for op in block {
        op.each(&mut |reg, used| note(place, *reg, used == Use::Write));
        let (kinds, whole_loop) = kinds(op);
        let parent = if whole_loop {
            tree.add(place, Kind::Loop)
        } else {
            place
        };
        for ((inner, last), kind) in op.blocks_mut().into_iter().zip(kinds) {
            let inside = tree.add(parent, *kind);
            walk(inner, inside, tree, note);
            if let Some(last) = last {
                note(inside, *last, false);
            }
        }
    }
}

/// Removes the first write of each register in `dead`.
fn remove_first(block: &mut Block, dead: &mut [bool]) {
    block.retain_mut(|op| {
        let mut remove = false;
        if let Op::Mov { d, .. } = op
            && let Some(dead) = dead.get_mut(d.index())
        {
            remove = std::mem::take(dead);
        }
        for (inner, _) in op.blocks_mut() {
            remove_first(inner, dead);
        }
        !remove
    });
}
