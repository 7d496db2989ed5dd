import CSotto
import Foundation

/// Options for opening a table. Names are those of the README of bindings/native.
public struct Options: Encodable {
    public var snapshot: String?
    public var anchor: String?
    public var policy: String?
    public var witnessAge = 86_400.0
    public var cache: String?
    public var keyFile: String?
    public var state: String?
    public var rollbackDir: String?
    public var inMemory = false
    public var requireRowProofs = false
    public var requireAuthenticatedAnswers = false
    public var freshKeys = false
    public var maxWait = 120.0
    public var batch = 16

    public init() {}

    enum CodingKeys: String, CodingKey {
        case snapshot, anchor, policy, cache, state, batch
        case witnessAge = "witness_age", keyFile = "key_file", rollbackDir = "rollback_dir", inMemory = "in_memory"
        case requireRowProofs = "require_row_proofs"
        case requireAuthenticatedAnswers = "require_authenticated_answers", freshKeys = "fresh_keys", maxWait = "max_wait"
    }
}

/// A request, to be sent as it is: with these headers and none that differ between callers, no cookie, and no redirect followed.
public struct Request {
    public let server: Int
    public let method: String
    /// Path and query, from the slash on.
    public let path: String
    public let headers: [String: String]
    public let body: Data
    /// Maximum bytes of a success's body.
    public let limit: UInt64
}

/// Response of a server. A refusal is a response, too.
public struct Response {
    public let status: UInt16
    public let headers: [String: String]
    public let body: Data

    public init(status: UInt16, headers: [String: String] = [:], body: Data) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// Sends a request, and waits for the response, as `httpTransport` does. A transport of the caller must follow no redirect (which would take
/// the query to somebody else), sends and keeps no cookie, adds no header that differs between callers, and caches nothing. Throws `URLError.timedOut` if none came in time, `CancellationError` to end the call.
public typealias Transport = @Sendable (Request) throws -> Response

/// Something went wrong: `code` is for programs, `fix` says what to do.
public struct SottoFault: Error, CustomStringConvertible {
    public enum Kind: Int32 {
        case misuse = -1, row = -2, params = -3, peer = -4, network = -5, timeout = -6, storage = -7
        /// Do not repeat the lookup at once, and do not report it: a server learns from that.
        case unreadable = -8
        case machine = -9
    }

    public let kind: Kind
    public let code, message, fix: String
    public var description: String { "\(message) (fix: \(fix))" }
}

/// What a lookup cost, and what the server saw of it.
public struct LookupCost: Decodable {
    public let epoch: UInt64
    public let requested, paddedLookups, rounds: Int
    public let up, down, setupUp, setupDown: UInt64
    public let total, query, roundTrip, recover: Double
    public let leakage: String
}

/// Description of an open table.
public struct TableInfo: Decodable {
    public let name, snapshot, scheme, kind, value, signer, trust: String
    public let epoch, rows, rowBytes: UInt64
    public let anchor, keyForm: String?
    public let verified, stack: Bool
    public let budget: UInt64?
}

/// A row or a key to look up.
public enum Lookup: Encodable {
    case row(UInt64), key(String)

    public func encode(to encoder: Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .row(let row): try container.encode(row)
        case .key(let key): try container.encode(key)
        }
    }
}

/// An open table. Any thread may use it; lookups of one table are made one after the other.
public final class Table: @unchecked Sendable {
    private let number: SottoTable
    private let box: TransportBox

    /// Opens a table, or a stack. `servers` are the addresses of the scheme's servers, in the order of their roles.
    public init(_ servers: [String], _ table: String, pin: String? = nil, options: Options = Options(), transport: @escaping Transport) throws {
        struct Config: Encodable {
            let servers: [String], table: String, pin: String?, options: Options
            enum CodingKeys: String, CodingKey { case servers, table, pin }
            func encode(to encoder: Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(servers, forKey: .servers)
                try container.encode(table, forKey: .table)
                try container.encodeIfPresent(pin, forKey: .pin)
                try options.encode(to: encoder)
            }
        }
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy =
            .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let config = [UInt8](try encoder.encode(Config(servers: servers, table: table, pin: pin, options: options)))
        let box = TransportBox(transport)
        var number: SottoTable = 0
        try checked { error in
            sotto_open(config, config.count, call, nil, Unmanaged.passUnretained(box).toOpaque(), &number, &error)
        }
        (self.number, self.box) = (number, box)
    }

    deinit { sotto_close(number, nil) }

    /// The row of this number.
    public subscript(row: UInt64) -> Data {
        get throws { try value { sotto_get_row(number, row, &$0, &$1) } ?? Data() }
    }

    /// The value of a key; nil if the table does not have it. The server sees no difference.
    public subscript(key: String) -> Data? {
        get throws {
            let bytes = [UInt8](key.utf8)
            return try value { sotto_get_key(number, bytes, bytes.count, &$0, &$1) }
        }
    }

    /// Several rows and keys in one round, which is padded to a multiple of `batch`.
    public func getMany(_ lookups: [Lookup]) throws -> [Data?] {
        let json = [UInt8](try JSONEncoder().encode(lookups))
        var values = SottoBuffer(data: nil, len: 0)
        try checked { error in sotto_get_many(number, json, json.count, &values, &error) }
        defer { sotto_free(&values) }
        return lookups.indices.map { index in
            var data: UnsafePointer<UInt8>?
            var length = 0
            guard sotto_value_at(&values, index, &data, &length) == SOTTO_OK else { return nil }
            return data.map { Data(bytes: $0, count: length) } ?? Data()
        }
    }

    /// What the last lookup cost; nil before the first.
    public var last: LookupCost? { get throws { try decoded { sotto_last(number, &$0, &$1) } } }

    /// Description of the table as it is now.
    public var about: TableInfo? { get throws { try decoded { sotto_about(number, &$0, &$1) } } }

    /// Checks for a newer epoch, and returns whether there was one.
    @discardableResult public func refresh() throws -> Bool {
        try checked { error in sotto_refresh(number, &error) } == SOTTO_NEWER
    }

    private func decoded<T: Decodable>(_ call: (inout SottoBuffer, inout SottoError) -> Int32) throws -> T? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try value(call).flatMap { try decoder.decode(T?.self, from: $0) }
    }

    private func value(_ call: (inout SottoBuffer, inout SottoError) -> Int32) throws -> Data? {
        var buffer = SottoBuffer(data: nil, len: 0)
        let status = try checked { error in call(&buffer, &error) }
        defer { sotto_free(&buffer) }
        if status == SOTTO_ABSENT { return nil }
        return buffer.data.map { Data(bytes: $0, count: buffer.len) } ?? Data()
    }
}

/// Calls the library, and throws what went wrong.
@discardableResult
private func checked(_ call: (inout SottoError) -> Int32) throws -> Int32 {
    var error = SottoError()
    let status = call(&error)
    guard status < 0 else { return status }
    defer { sotto_error_free(&error) }
    let text = { (pointer: UnsafeMutablePointer<CChar>?) in pointer.map { String(cString: $0) } ?? "" }
    let kind = SottoFault.Kind(rawValue: status) ?? .machine
    throw SottoFault(kind: kind, code: text(error.code), message: text(error.message), fix: text(error.fix))
}

/// A transport behind the header's callback.
private final class TransportBox {
    let transport: Transport
    init(_ transport: @escaping Transport) { self.transport = transport }
}

private func call(context: UnsafeMutableRawPointer?, asked: UnsafePointer<SottoRequest>?, reply: OpaquePointer?) -> Int32 {
    guard let context, let asked = asked?.pointee else { return SOTTO_NETWORK }
    let box = Unmanaged<TransportBox>.fromOpaque(context).takeUnretainedValue()
    var headers: [String: String] = [:]
    if let range = asked.range { headers["range"] = String(cString: range) }
    if let type = asked.content_type { headers["content-type"] = String(cString: type) }
    let body = asked.body_len == 0 ? Data() : Data(bytes: asked.body, count: asked.body_len)
    let request = Request(
        server: Int(asked.server), method: String(cString: asked.method), path: String(cString: asked.path),
        headers: headers, body: body, limit: asked.limit)
    do {
        let response = try box.transport(request)
        sotto_reply_status(reply, response.status)
        for (name, value) in response.headers { sotto_reply_header(reply, name, value) }
        let bytes = [UInt8](response.body)
        sotto_reply_body(reply, bytes, bytes.count)
        return SOTTO_OK
    } catch {
        sotto_reply_error(reply, "\(error)")
        if error is CancellationError { return SOTTO_CANCELLED }
        return (error as? URLError)?.code == .timedOut ? SOTTO_TIMEOUT : SOTTO_NETWORK
    }
}
