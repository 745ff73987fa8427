// What is read back after x was written: rounded or wrapped to a packed dtype.
// Comes after a load and a store part of the same dtype.

fn rounded(x: elem) -> elem {
    return from_word(out_bits(x), 0u);
}
