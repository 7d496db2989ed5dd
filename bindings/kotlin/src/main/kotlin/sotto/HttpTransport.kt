package sotto

import java.io.ByteArrayOutputStream
import java.io.IOException
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse.BodyHandlers
import java.time.Duration
import java.util.concurrent.ExecutionException
import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeoutException

/** Most bytes of a refusal. */
private const val REFUSAL = 64L shl 10

/**
 * java.net.http's, which the JDK has and Android has not: it follows no redirect, keeps no cookie, and sends the same headers for
 * everybody. These connections are this package's; the library has none.
 */
class HttpTransport(
    private val url: String,
    private val client: HttpClient = HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .connectTimeout(Duration.ofSeconds(20))
        .build(),
    /** The longest one request may take, its body included. */
    private val timeout: Duration = Duration.ofSeconds(60),
) : Transport {
    override fun call(request: Request): Response {
        val address = try {
            URI(url.trimEnd('/') + request.path)
        } catch (error: java.net.URISyntaxException) {
            throw IOException("$url is not an address of a server: ${error.message}", error)
        }
        val builder = try {
            HttpRequest.newBuilder(address)
        } catch (error: IllegalArgumentException) {
            throw IOException("$url is not an address of a server: ${error.message}", error)
        }
        builder.setHeader("user-agent", "sotto")
        request.headers.forEach { (name, value) -> builder.setHeader(name, value) }
        val body = when (request.method) {
            "GET" -> HttpRequest.BodyPublishers.noBody()
            else -> HttpRequest.BodyPublishers.ofByteArray(request.body)
        }
        val read = ByteArrayOutputStream()
        val limit = maxOf(request.limit, REFUSAL)
        val taken = BodyHandlers.ofByteArrayConsumer { piece ->
            piece.ifPresent {
                if (read.size().toLong() + it.size > limit) throw IllegalStateException("the response is larger than $limit bytes")
                read.write(it)
            }
        }
        val sent = client.sendAsync(builder.method(request.method, body).build(), taken)
        val response = try {
            sent.get(timeout.toMillis(), TimeUnit.MILLISECONDS)
        } catch (error: ExecutionException) {
            throw IOException("no response from $url: ${error.cause?.message ?: error.cause}", error.cause)
        } catch (error: TimeoutException) {
            sent.cancel(true)
            throw TimeoutException("no complete response from $url within $timeout")
        } catch (error: InterruptedException) {
            sent.cancel(true)
            throw error
        }
        val headers = response.headers().map().mapValues { it.value.first() }
        return Response(response.statusCode(), read.toByteArray(), headers)
    }
}
