// State part: windows begin here.

fn begun(i: u32) -> acc {
    return start();
}
