import Foundation
import Sotto
import XCTest

/// Against a real `sotto serve` with the table `words`, which bindings/native/check starts.
final class SottoTests: XCTestCase {
    let url = ProcessInfo.processInfo.environment["SOTTO_TEST_URL"]!
    let pin = ProcessInfo.processInfo.environment["SOTTO_TEST_PIN"]!

    func transport() -> Transport { httpTransport([url]) }

    func testKeysAreFound() throws {
        let table = try Table([url], "words", pin: pin, transport: transport())
        XCTAssertEqual(try table["sotto"], Data("under".utf8))
        XCTAssertNil(try table["basso"])
        XCTAssertEqual(try table.getMany([.key("voce"), .key("basso")]), [Data("voice".utf8), nil])
        XCTAssertEqual(try table.last?.requested, 2)
        XCTAssertEqual(try table.about?.trust, "pinned")
    }

    func testWhatIsRefused() throws {
        var options = Options()
        options.snapshot = String(repeating: "7", count: 64)
        XCTAssertThrowsError(try Table([url], "words", options: options, transport: transport())) { error in
            XCTAssertEqual((error as? SottoFault)?.code, "other-snapshot")
        }
        let table = try Table([url], "words", transport: transport())
        XCTAssertThrowsError(try table[1 << 40]) { error in XCTAssertEqual((error as? SottoFault)?.kind, .row) }
    }
}
