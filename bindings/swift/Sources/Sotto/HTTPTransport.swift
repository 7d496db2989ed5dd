import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A transport over URLSession, to the servers at these addresses, in the order of `Table`'s.
///
/// It follows no redirect, sends and keeps no cookie, caches nothing, and sends the same headers for everybody.
/// `URLSession.shared` does none of that: do not use it for lookups.
public func httpTransport(_ servers: [String], timeout: TimeInterval = 60) -> Transport {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    configuration.urlCredentialStorage = nil
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.timeoutIntervalForRequest = timeout
    configuration.httpAdditionalHeaders =
        ["User-Agent": "sotto", "Accept": "*/*", "Accept-Language": "*", "Accept-Encoding": "identity"]
    let session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    return { request in
        guard servers.indices.contains(request.server), let url = URL(string: servers[request.server] + request.path) else {
            throw URLError(.badURL)
        }
        var sent = URLRequest(url: url)
        sent.httpMethod = request.method
        request.headers.forEach { sent.setValue($1, forHTTPHeaderField: $0) }
        if request.method == "POST" { sent.httpBody = request.body }
        let (done, outcome) = (DispatchSemaphore(value: 0), Outcome())
        let task = session.dataTask(with: sent) { data, response, error in
            if let response = response as? HTTPURLResponse {
                let told = ["retry-after", "server-timing"].compactMap { name in
                    response.value(forHTTPHeaderField: name).map { (name, $0) }
                }
                let headers = Dictionary(uniqueKeysWithValues: told)
                outcome.result = .success(Response(status: UInt16(response.statusCode), headers: headers, body: data ?? Data()))
            } else {
                outcome.result = .failure(error ?? URLError(.unknown))
            }
            done.signal()
        }
        task.resume()
        done.wait()
        return try outcome.result.get()
    }
}

/// Outcome of a request. Written before the semaphore is signaled, and read after.
private final class Outcome: @unchecked Sendable {
    var result: Result<Response, Error> = .failure(URLError(.unknown))
}

/// Returns a redirect as a response: following it would take the query to somebody else.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
