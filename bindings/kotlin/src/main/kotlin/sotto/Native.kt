package sotto

import com.sun.jna.Callback
import com.sun.jna.IntegerType
import com.sun.jna.Library
import com.sun.jna.Native as Jna
import com.sun.jna.Pointer
import com.sun.jna.Structure
import com.sun.jna.ptr.LongByReference

/** sotto.h, as JNA calls it. */
@Suppress("FunctionName")
internal interface NativeLibrary : Library {
    fun sotto_version(): String

    fun sotto_open(
        config: ByteArray,
        length: SizeT,
        transport: NativeTransport,
        progress: NativeProgress?,
        context: Pointer?,
        table: LongByReference,
        error: NativeError,
    ): Int

    fun sotto_close(table: Long, error: NativeError): Int

    fun sotto_get_row(table: Long, row: Long, value: NativeBuffer, error: NativeError): Int

    fun sotto_get_key(table: Long, key: ByteArray, length: SizeT, value: NativeBuffer, error: NativeError): Int

    fun sotto_get_many(table: Long, lookups: ByteArray, length: SizeT, values: NativeBuffer, error: NativeError): Int

    fun sotto_last(table: Long, json: NativeBuffer, error: NativeError): Int

    fun sotto_about(table: Long, json: NativeBuffer, error: NativeError): Int

    fun sotto_refresh(table: Long, error: NativeError): Int

    fun sotto_self_test(vector: ByteArray, length: SizeT, row: NativeBuffer, error: NativeError): Int

    fun sotto_reply_status(reply: Pointer, status: Short): Int

    fun sotto_reply_header(reply: Pointer, name: String, value: String): Int

    fun sotto_reply_body(reply: Pointer, data: ByteArray, length: SizeT): Int

    fun sotto_reply_error(reply: Pointer, why: String): Int

    fun sotto_free(buffer: NativeBuffer)

    fun sotto_error_free(error: NativeError)
}

internal object Native {
    val library: NativeLibrary by lazy {
        Jna.load("sotto", NativeLibrary::class.java, mapOf(Library.OPTION_STRING_ENCODING to "UTF-8"))
    }
}

internal const val OK = 0
internal const val ABSENT = 1
internal const val NEWER = 2
internal const val NETWORK = -5
internal const val TIMEOUT = -6
internal const val CANCELLED = -10

/** `size_t`. */
internal class SizeT(value: Long = 0) : IntegerType(Jna.SIZE_T_SIZE, value, true) {
    override fun toByte() = toInt().toByte()

    override fun toShort() = toInt().toShort()
}

@Structure.FieldOrder("data", "length")
internal class NativeBuffer : Structure() {
    @JvmField var data: Pointer? = null

    @JvmField var length = SizeT()

    fun bytes(): ByteArray = data?.getByteArray(0, length.toInt()) ?: ByteArray(0)
}

@Structure.FieldOrder("status", "code", "message", "fix", "json")
internal class NativeError : Structure() {
    @JvmField var status = 0

    @JvmField var code: Pointer? = null

    @JvmField var message: Pointer? = null

    @JvmField var fix: Pointer? = null

    @JvmField var json: Pointer? = null
}

@Structure.FieldOrder("server", "method", "path", "range", "contentType", "body", "length", "limit")
internal class NativeRequest : Structure() {
    @JvmField var server = 0

    @JvmField var method: Pointer? = null

    @JvmField var path: Pointer? = null

    @JvmField var range: Pointer? = null

    @JvmField var contentType: Pointer? = null

    @JvmField var body: Pointer? = null

    @JvmField var length = SizeT()

    @JvmField var limit = 0L
}

internal fun interface NativeTransport : Callback {
    fun invoke(context: Pointer?, request: NativeRequest, reply: Pointer): Int
}

internal fun interface NativeProgress : Callback {
    fun invoke(context: Pointer?, stage: Pointer, done: Long, total: Long)
}
