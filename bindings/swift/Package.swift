// swift-tools-version:5.9
import PackageDescription

// `libsotto` is built by `make native`; `-Xlinker -L` says where it lies. An app for iOS links the static library in an XCFramework.
let package = Package(
    name: "Sotto",
    platforms: [.macOS(.v12), .iOS(.v15)],
    products: [.library(name: "Sotto", targets: ["Sotto"])],
    targets: [
        .systemLibrary(name: "CSotto"),
        .target(name: "Sotto", dependencies: ["CSotto"]),
        .testTarget(name: "SottoTests", dependencies: ["Sotto"]),
    ]
)
