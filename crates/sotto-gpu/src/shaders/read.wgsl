// Reads a buffer and does next to nothing with it: what memory gives.

@group(0) @binding(0) var<storage, read> bytes: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(256)
fn read_all(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let step = groups.x * 1024u;
    var sum = vec4<u32>();
    for (var at = id.x * 1024u + local; at + 768u < arrayLength(&bytes); at += step) {
        let a = bytes[at];
        let b = bytes[at + 256u];
        let c = bytes[at + 512u];
        let d = bytes[at + 768u];
        sum ^= a ^ b ^ c ^ d;
    }
    sums[id.x * 256u + local] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}
