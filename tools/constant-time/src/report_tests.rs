use super::*;

const XML: &str = "
<valgrindoutput>
<error>
  <unique>0x1</unique>
  <kind>UninitCondition</kind>
  <what>Conditional jump or move depends on uninitialized value(s)</what>
  <stack>
    <frame>
      <ip>0x1</ip>
      <fn>partial_cmp&lt;u64&gt;</fn>
      <dir>/rustc/abc/library/core/src</dir>
      <file>cmp.rs</file>
      <line>7</line>
    </frame>
    <frame>
      <fn>foo::client::query</fn>
      <dir>/home/x/sotto/schemes/foo/src</dir>
      <file>client.rs</file>
      <line>12</line>
    </frame>
  </stack>
</error>
<error>
  <kind>Leak_PossiblyLost</kind>
  <stack>
  </stack>
</error>
<error>
  <kind>UninitValue</kind>
  <stack>
    <frame>
      <fn>deref</fn>
      <dir>/root/.cargo/registry/src/index.crates.io-1/zeroize-1.9.0/src</dir>
      <file>lib.rs</file>
      <line>3</line>
    </frame>
    <frame>
      <fn>gather&lt;u8&gt;</fn>
      <dir>/root/.cargo/registry/src/index.crates.io-1/some-crate-0.9.0-rc.1/src</dir>
      <file>lib.rs</file>
      <line>3</line>
    </frame>
  </stack>
</error>
</valgrindoutput>";

#[test]
fn reports_are_of_what_is_built_into_the_workspace() {
    let frame = |file: &str, function: &str, line| Frame {
        place: LeakSite { file: file.into(), function: function.into() },
        line,
    };
    assert_eq!(
        read(XML, "/home/x/sotto"),
        [
            Report { kind: LeakKind::Branch, stack: vec![frame("schemes/foo/src/client.rs", "query", 12)] },
            Report { kind: LeakKind::Index, stack: vec![frame("some-crate/src/lib.rs", "gather<u8>", 3)] },
        ]
    );
}

#[test]
fn functions_are_found_by_their_files() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report_tests.rs");
    let line = line!();
    assert_eq!(enclosing(here, line).as_deref(), Some("functions_are_found_by_their_files"));
    assert_eq!(enclosing(here, 1), None);
    for (line, name) in [
        ("    pub(in crate::simd) fn places(x: u8) {", Some("places")),
        ("const fn new<T>() -> T {", Some("new")),
        ("    pub async unsafe fn x(", Some("x")),
        ("// a fn of theirs", None),
        ("type Probe = fn () -> u8;", None),
    ] {
        assert_eq!(declared(line).as_deref(), name, "{line}");
    }
}
