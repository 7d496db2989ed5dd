//! The pass by products of four bytes, which every card has, if not as one instruction.
//!
//! A workgroup multiplies a panel. A thread has some rows of it, as many sums a row as planes, and
//! every so many slabs; the threads that share rows add their sums up in the end. All loops over
//! planes and rows are written out, so that sums are in registers: the source is made for each size.

use crate::pass_kernel::{PassKernel, compile};
use sotto_math::matrix::PANEL_ROWS;
use std::fmt::Write;

/// Threads of a workgroup.
const THREADS: usize = 256;

/// Sizes of kernels: planes of a tile, rows of a thread, and slabs that a thread reads before it
/// multiplies, so that enough reads are under way.
const SIZES: [[usize; 3]; 3] = [[4, 1, 4], [8, 2, 2], [16, 2, 1]];

/// Workgroups that keep a card busy.
const WORKGROUPS: usize = 4096;

/// Compiles the kernels, of ever more planes.
pub(crate) fn kernels(device: &wgpu::Device) -> Vec<PassKernel> {
    let kernel = |[planes, rows, ahead]: [usize; 3]| {
        let name = format!("dots of {planes}");
        let pipeline = compile(device, &name, &source(planes, rows, ahead));
        let (tile_rows, tile_planes) = (PANEL_ROWS as u32, planes as u32);
        PassKernel { name, tile_rows, tile_planes, workgroups: WORKGROUPS, pipeline }
    };
    SIZES.map(kernel).into()
}

fn source(planes: usize, rows: usize, ahead: usize) -> String {
    let lanes = PANEL_ROWS / rows;
    let slices = THREADS / lanes;
    let mut body = String::new();
    let each = |rows: usize| (0..rows).flat_map(move |row| (0..planes).map(move |plane| (row, plane)));
    for (row, plane) in each(rows) {
        let _ = writeln!(body, "    var s{row}_{plane} = 0u;");
    }
    // The first loop reads `ahead` slabs at a time, the second what is left.
    for ahead in [ahead, 1] {
        let _ = writeln!(
            body,
            "    for (; slab + {} < last; slab += {}) {{",
            (ahead - 1) * slices,
            ahead * slices
        );
        for i in 0..ahead {
            for row in 0..rows {
                let at = format!("(base + slab + {}) * {PANEL_ROWS} + lane + {}", i * slices, row * lanes);
                let _ = writeln!(body, "        let t{i}_{row} = table[{at}];");
            }
        }
        for i in 0..ahead {
            for plane in 0..planes {
                let at = format!("(slab + {}) * shape.planes + plane + {plane}", i * slices);
                let _ = writeln!(body, "        let q{i}_{plane} = queries[{at}];");
            }
            for (row, plane) in each(rows) {
                let _ = writeln!(body, "        s{row}_{plane} += dots(t{i}_{row}, q{i}_{plane});");
            }
        }
        body.push_str("    }\n");
    }
    for row in 0..rows {
        for plane in 0..planes {
            let _ = writeln!(body, "    part[{plane} * {THREADS} + local] = s{row}_{plane};");
        }
        let _ = writeln!(body, "    workgroupBarrier();\n    add_up(id, local, plane, {});", row * lanes);
        let _ = writeln!(body, "    workgroupBarrier();");
    }
    include_str!("shaders/dots.wgsl")
        .replace("{PLANES}", &planes.to_string())
        .replace("{LANES}", &lanes.to_string())
        .replace("{BODY}", &body)
}
