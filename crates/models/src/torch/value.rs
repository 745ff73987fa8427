//! What a pickle makes.

use std::collections::HashMap;
use std::rc::Rc;

use super::StoredType;

/// Where the memory of each key begins in a file, and how many bytes it has.
pub(super) type Places = HashMap<Rc<str>, [u64; 2]>;

/// A value on a pickle's stack.
#[derive(Clone, Debug)]
pub(super) enum Value {
    None,
    Bool,
    Int(i64),
    Float,
    Text(Rc<str>),
    /// A name in a module.
    Global(Rc<[String; 2]>),
    Tuple(Rc<[Self]>, u8),
    /// A dictionary, by its number.
    Dict(usize),
    List,
    Memory(Rc<Memory>),
    Tensor(Rc<Described>),
}

/// How deep tuples may be within each other.
pub(super) const DEEPEST: u8 = 8;

impl Value {
    /// Tuples within each other, itself included.
    pub(super) const fn depth(&self) -> u8 {
        match self {
            Self::Tuple(_, depth) => *depth,
            _ => 0,
        }
    }
}

/// The memory of tensors.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) key: Rc<str>,
    pub(super) kind: StoredType,
    pub(super) elements: u64,
}

/// A tensor as a pickle describes it.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) memory: Rc<Memory>,
    pub(super) offset: u64,
    pub(super) dims: Vec<u64>,
    pub(super) strides: Vec<u64>,
}

/// The dictionaries of a pickle, and the one that it is.
#[derive(Debug)]
pub(super) struct Dicts {
    pub(super) all: Vec<Vec<(Rc<str>, Value)>>,
    pub(super) first: usize,
}
