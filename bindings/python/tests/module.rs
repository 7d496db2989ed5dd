//! The module that Python imports, as the workspace's tests build it: `make ray-small` puts it beside Python's half.

use std::{env, fs};

#[test]
fn python_finds_where_the_module_begins() {
    let program = env::current_exe().expect("the path of this test");
    let name = format!("{}_sotto{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let module = fs::read(program.with_file_name(&name)).expect("the module beside this test");
    let entry = b"PyInit__sotto";
    assert!(module.windows(entry.len()).any(|name| name == entry), "{name} exports no PyInit__sotto");
}
