//! Values that are broadcast, and that a small kernel of their own computes in less time than each element that sees them.

use std::sync::Arc;

use ziggurat_core::Shape;

use crate::node::{Input, Node, Work};

/// Operations of all elements from which on a kernel of its own pays: on an H100 the root in `x / (mean + eps).sqrt()` costs
/// 54 µs for 33.5 million elements of x, and a small kernel about 3.
const OPERATIONS: u64 = 8 << 22;

/// Operations of one element that what the kernel reads and writes does not hide: those of a function.
const FUNCTION: u64 = 8;

/// The least number of elements that see one of the value.
const REPEATS: u64 = 8;

/// Whether the few ops below a node take longer once for each element of a kernel of this shape, which sees it broadcast, than
/// in a kernel of their own.
pub(super) fn for_each_of(shape: &Shape, node: &Arc<Node>) -> bool {
    let len = shape.len() as u64;
    if len / REPEATS < node.shape().len() as u64 {
        return false;
    }
    let mut each: u64 = 0;
    let mut todo = vec![Arc::clone(node)];
    while let Some(node) = todo.pop() {
        node.peek(|work| match work {
            Work::Op { op, inputs, .. } => {
                each = each.saturating_add(op.operations());
                todo.extend(inputs.iter().filter_map(Input::node).cloned());
            }
            Work::View { base, .. } => todo.push(Arc::clone(base)),
            Work::Kernel(_) => {}
        });
    }
    each >= FUNCTION && each.saturating_mul(len) >= OPERATIONS
}
