// Update part: what devices have no atomic operation for, by exchanging the word for as long as others do.
// Requires: elem, word, word_index, from_word; updated; apply.

@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

fn update(at: u32, x: elem) {
    var before = atomicLoad(&out[word_index(at)]);
    loop {
        let after = updated(before, at, apply(from_word(bitcast<word>(before), at), x));
        let turn = atomicCompareExchangeWeak(&out[word_index(at)], before, after);
        if turn.exchanged {
            break;
        }
        before = turn.old_value;
    }
}
