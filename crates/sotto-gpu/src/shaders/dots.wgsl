// A panel of the table times a tile of planes. `dot_kernel.rs` fills in the sizes and the loop.

struct Shape {
    // Slabs in a panel.
    slabs: u32,
    // Planes of all queries, with padding.
    planes: u32,
    panels: u32,
    // Slabs in a split.
    split_slabs: u32,
    // Rows of the buffer, with padding.
    padded_rows: u32,
}

@group(0) @binding(0) var<storage, read> table: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> queries: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
@group(0) @binding(3) var<uniform> shape: Shape;

const planes: u32 = {PLANES};
// Threads that have different rows, and those that share them.
const lanes: u32 = {LANES};
const slices: u32 = 256 / lanes;

var<workgroup> part: array<u32, 256 * planes>;

fn dots(a: vec4<u32>, b: vec4<u32>) -> u32 {
    return dot4U8Packed(a.x, b.x) + dot4U8Packed(a.y, b.y) + dot4U8Packed(a.z, b.z) + dot4U8Packed(a.w, b.w);
}

// Adds up the slices of `lanes` rows, from `first` on, and writes their sums.
fn add_up(id: vec3<u32>, local: u32, plane: u32, first: u32) {
    for (var i = local; i < planes * lanes; i += 256) {
        let p = i / lanes;
        let lane = i % lanes;
        var sum = 0u;
        for (var slice = 0u; slice < slices; slice++) {
            sum += part[p * 256 + slice * lanes + lane];
        }
        sums[(id.z * shape.planes + plane + p) * shape.padded_rows + id.y * 64 + first + lane] = sum;
    }
}

@compute @workgroup_size(256)
fn multiply(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = local % lanes;
    let plane = id.x * planes;
    let base = id.y * shape.slabs;
    let last = min((id.z + 1) * shape.split_slabs, shape.slabs);
    var slab = id.z * shape.split_slabs + local / lanes;
{BODY}}
