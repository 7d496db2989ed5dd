// Bytes in panels become slabs: 16 columns of each of 64 rows, four words a row, with the sign bit flipped, so that a
// signed byte x is the unsigned byte x + 128.

struct Piece {
    // Panels and slabs of the piece, and where they begin in the buffer.
    first_panel: u32,
    first_slab: u32,
    slabs: u32,
    // Groups of four columns in each panel of the piece.
    groups: u32,
    // Slabs in each panel of the buffer.
    all_slabs: u32,
}

@group(0) @binding(0) var<storage, read> staged: array<u32>;
@group(0) @binding(1) var<storage, read_write> table: array<vec4<u32>>;
@group(0) @binding(2) var<uniform> piece: Piece;

fn group_of(panel: u32, group: u32, row: u32) -> u32 {
    if group < piece.groups {
        return staged[(panel * piece.groups + group) * 64u + row] ^ 0x80808080u;
    }
    return 0x80808080u;
}

@compute @workgroup_size(256)
fn store(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = local % 64u;
    let slab = id.x * 4u + local / 64u;
    let panel = id.y;
    if slab < piece.slabs {
        let g = slab * 4u;
        table[((piece.first_panel + panel) * piece.all_slabs + piece.first_slab + slab) * 64u + row] = vec4<u32>(
            group_of(panel, g, row), group_of(panel, g + 1u, row), group_of(panel, g + 2u, row), group_of(panel, g + 3u, row),
        );
    }
}
