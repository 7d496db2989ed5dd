package sotto

import com.sun.jna.Pointer
import java.io.IOException
import java.io.InterruptedIOException
import java.util.concurrent.CancellationException
import java.util.concurrent.TimeoutException as JavaTimeout
import java.util.concurrent.atomic.AtomicReference

/** A request, to be sent as it is: with these headers and none that differ between callers, no cookie, and no redirect followed. */
class Request(
    val method: String,
    /** Path and query, from the slash on. */
    val path: String,
    val headers: Map<String, String>,
    val body: ByteArray,
    /** Maximum bytes of a success's body: reading can stop there. */
    val limit: Long,
)

/** Response of a server. A refusal is a response, too. */
class Response(val status: Int, val body: ByteArray, val headers: Map<String, String> = emptyMap())

/** Sends requests to a server. Several threads may call it at once, where a table has several servers or is a stack. */
fun interface Transport {
    /** Throws an [IOException] if no response came; java.util.concurrent's TimeoutException if none came in time. */
    fun call(request: Request): Response
}

/** Transports behind sotto.h's callbacks. What they throw does not pass through the library: it is stored, and becomes a cause. */
internal class TransportBox(private val transports: List<Transport>, private val progress: ((String, Long, Long) -> Unit)?) {
    private val thrown = AtomicReference<Throwable?>()

    fun takeThrown(): Throwable? = thrown.getAndSet(null)

    // JNA keeps these alive as long as somebody holds them.
    val onRequest = NativeTransport { _, request, reply -> call(request, reply) }
    val onProgress = progress?.let { listener ->
        NativeProgress { _, stage, done, total ->
            try {
                listener(stage.getString(0, "UTF-8"), done, total)
            } catch (error: Exception) {
                thrown.compareAndSet(null, error)
            }
        }
    }

    private fun call(request: NativeRequest, reply: Pointer): Int {
        val library = Native.library
        try {
            val transport = transports.getOrNull(request.server) ?: throw IOException("server ${request.server} has no transport")
            val headers = buildMap {
                request.range?.let { put("range", it.getString(0, "UTF-8")) }
                request.contentType?.let { put("content-type", it.getString(0, "UTF-8")) }
            }
            val length = request.length.toInt()
            val body = if (length == 0) ByteArray(0) else request.body!!.getByteArray(0, length)
            val method = request.method!!.getString(0, "UTF-8")
            val response = transport.call(Request(method, request.path!!.getString(0, "UTF-8"), headers, body, request.limit))
            library.sotto_reply_status(reply, response.status.toShort())
            response.headers.forEach { (name, value) -> library.sotto_reply_header(reply, name, value) }
            library.sotto_reply_body(reply, response.body, SizeT(response.body.size.toLong()))
            return OK
        } catch (error: Throwable) {
            thrown.set(error)
            library.sotto_reply_error(reply, error.message ?: error.javaClass.simpleName)
            return when (error) {
                is InterruptedException, is CancellationException, is Error -> CANCELLED
                is JavaTimeout, is InterruptedIOException -> TIMEOUT
                else -> NETWORK
            }
        }
    }
}
