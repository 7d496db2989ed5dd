// Sums of splits become outputs, and lose what the flipped sign bits of the table added: 128 times the sum of the plane.

struct Outputs {
    // Rows of the buffer with padding, and without.
    padded_rows: u32,
    rows: u32,
    // Planes of all queries, with padding.
    planes: u32,
    // Splits and segments that an output adds up, and all that there are.
    splits: u32,
    segments: u32,
    all_splits: u32,
    all_segments: u32,
    // The first row of the buffer, and rows of the whole table.
    first_row: u32,
    all_rows: u32,
    outputs: u32,
}

// Planes that one output adds up, the plane k of them times 2^(8 k).
struct Output {
    first: u32,
    count: u32,
}

@group(0) @binding(0) var<storage, read> sums: array<u32>;
@group(0) @binding(1) var<storage, read> totals: array<u32>;
@group(0) @binding(2) var<storage, read> outputs: array<Output>;
@group(0) @binding(3) var<storage, read_write> results: array<u32>;
@group(0) @binding(4) var<uniform> shape: Outputs;

@compute @workgroup_size(256)
fn combine(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = id.x * 256u + local;
    let output = outputs[id.y];
    if row >= shape.rows {
        return;
    }
    let last_split = min((id.z + 1u) * shape.splits, shape.all_splits);
    let last_segment = min((id.z + 1u) * shape.segments, shape.all_segments);
    var word = 0u;
    for (var k = 0u; k < output.count; k++) {
        let plane = output.first + k;
        var sum = 0u;
        for (var split = id.z * shape.splits; split < last_split; split++) {
            sum += sums[(split * shape.planes + plane) * shape.padded_rows + row];
        }
        for (var segment = id.z * shape.segments; segment < last_segment; segment++) {
            sum -= 128u * totals[segment * shape.planes + plane];
        }
        word += sum << (8u * k);
    }
    results[(id.z * shape.outputs + id.y) * shape.all_rows + shape.first_row + row] = word;
}
