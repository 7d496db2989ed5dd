// Planes of queries become slabs: 16 columns of every plane, side by side.

struct Batch {
    slabs: u32,
    // Planes of all queries, with padding.
    planes: u32,
    // Groups of four columns of a query.
    groups: u32,
    // Slabs in a segment.
    segment: u32,
}

// Where a plane of a query begins in `staged`, and words from one group to the next; 0 words for padding.
struct Plane {
    start: u32,
    step: u32,
}

@group(0) @binding(0) var<storage, read> staged: array<u32>;
@group(0) @binding(1) var<storage, read> planes: array<Plane>;
@group(0) @binding(2) var<storage, read_write> queries: array<vec4<u32>>;
// The sum of the bytes of each plane in each segment.
@group(0) @binding(3) var<storage, read_write> totals: array<atomic<u32>>;
@group(0) @binding(4) var<uniform> batch: Batch;

var<workgroup> total: atomic<u32>;

fn group_of(plane: Plane, group: u32) -> u32 {
    if plane.step == 0u || group >= batch.groups {
        return 0u;
    }
    return staged[plane.start + group * plane.step];
}

@compute @workgroup_size(256)
fn arrange(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let slab = id.x * 256u + local;
    let plane = planes[id.y];
    if slab < batch.slabs {
        let g = slab * 4u;
        let words = vec4<u32>(group_of(plane, g), group_of(plane, g + 1u), group_of(plane, g + 2u), group_of(plane, g + 3u));
        queries[slab * batch.planes + id.y] = words;
        let ones = 0x01010101u;
        atomicAdd(&total, dot4U8Packed(words.x, ones) + dot4U8Packed(words.y, ones)
            + dot4U8Packed(words.z, ones) + dot4U8Packed(words.w, ones));
    }
    workgroupBarrier();
    if local == 0u {
        atomicAdd(&totals[id.x * 256u / batch.segment * batch.planes + id.y], atomicLoad(&total));
    }
}
