// Shared by the kernels of large tiles: which tile a workgroup computes. Requires Params with tiles_m and tiles_n.

// Tiles of a band share their rows of a and walk along n together, so that both operands stay in the cache.
const BAND: u32 = 8u;

// (tile along m, tile along n, batch entry) of workgroup `id`.
fn tile_at(id: u32) -> vec3<u32> {
    let tiles = params.tiles_m * params.tiles_n;
    let inner = id % tiles;
    let band = inner / (BAND * params.tiles_n);
    let height = min(params.tiles_m - band * BAND, BAND);
    let rest = inner - band * BAND * params.tiles_n;
    return vec3<u32>(band * BAND + rest % height, rest / height, id / tiles);
}
