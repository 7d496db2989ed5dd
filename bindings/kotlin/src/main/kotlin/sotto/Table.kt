package sotto

import com.sun.jna.ptr.LongByReference
import org.json.JSONArray
import org.json.JSONObject
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.CharBuffer
import java.nio.charset.CharacterCodingException

/**
 * An open table, made by [Sotto.connect]. Any thread may use it; lookups of one table are made one after the other.
 *
 * [close] it, or `use` it.
 */
class Table private constructor(private val number: Long, private val transports: TransportBox) : AutoCloseable {
    /** The row of this number. */
    operator fun get(row: Long): ByteArray =
        value { value, error -> Native.library.sotto_get_row(number, row, value, error) } ?: ByteArray(0)

    /** The row of this number. */
    operator fun get(row: Int): ByteArray = get(row.toLong())

    /** The value of a key; null if the table does not have it. The server sees no difference. */
    operator fun get(key: String): ByteArray? {
        val bytes = utf8(key)
        return value { value, error -> Native.library.sotto_get_key(number, bytes, SizeT(bytes.size.toLong()), value, error) }
    }

    /**
     * Several rows (numbers) and keys (texts) in one round, which is padded to a multiple of [Options.batch]: the server sees how many
     * batches, and neither how many lookups there were nor which. A value that is neither is looked up like any other, and refused
     * afterwards.
     */
    fun getMany(lookups: Iterable<Any?>): List<ByteArray?> {
        val list = JSONArray(lookups.map { if (it is String || it is Long || it is Int) it else JSONObject.NULL })
        val bytes = list.toString().toByteArray()
        val all = value { values, error -> Native.library.sotto_get_many(number, bytes, SizeT(bytes.size.toLong()), values, error) }
        return values(all ?: ByteArray(0))
    }

    /** What the last lookup cost, and what the server saw of it; null before the first. */
    val last: LookupCost?
        get() = json { json, error -> Native.library.sotto_last(number, json, error) }?.let { lookupCost(JSONObject(it)) }

    /** What the table is, as it is now. */
    val about: TableInfo
        get() = tableInfo(JSONObject(json { json, error -> Native.library.sotto_about(number, json, error) }))

    /** Checks for a newer epoch, and returns whether there was one. Lookups do that by themselves when the old one ends. */
    fun refresh(): Boolean = called(transports) { Native.library.sotto_refresh(number, it) } == NEWER

    /** Closes the table. Waits for lookups in progress. */
    override fun close() {
        NativeError().let { if (Native.library.sotto_close(number, it) < 0) Native.library.sotto_error_free(it) }
    }

    private fun json(call: (NativeBuffer, NativeError) -> Int): String? =
        value(call)?.toString(Charsets.UTF_8).takeIf { it != "null" }

    private fun value(call: (NativeBuffer, NativeError) -> Int): ByteArray? {
        val value = NativeBuffer()
        if (called(transports) { call(value, it) } == ABSENT) return null
        return value.bytes().also { Native.library.sotto_free(value) }
    }

    internal companion object {
        fun open(config: String, transports: TransportBox): Table {
            val (bytes, number) = Pair(utf8(config), LongByReference())
            called(transports) {
                val length = SizeT(bytes.size.toLong())
                Native.library.sotto_open(bytes, length, transports.onRequest, transports.onProgress, null, number, it)
            }
            return Table(number.value, transports)
        }

        /** Calls the library, and throws what went wrong. */
        private fun called(transports: TransportBox, call: (NativeError) -> Int): Int {
            val error = NativeError()
            val status = call(error)
            val cause = transports.takeThrown()
            if (status < 0) throw thrown(error, cause)
            return status
        }

        /** Text with an unpaired surrogate becomes bytes that the library refuses after the request. */
        private fun utf8(text: String): ByteArray = try {
            val encoded = Charsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text))
            ByteArray(encoded.remaining()).also { encoded.get(it) }
        } catch (_: CharacterCodingException) {
            byteArrayOf(-1)
        }

        /** Values of a round: how many, where each is, and their bytes (bindings/native/README.md draws it). */
        private fun values(all: ByteArray): List<ByteArray?> {
            val from = ByteBuffer.wrap(all).order(ByteOrder.LITTLE_ENDIAN)
            return List(from.getLong().toInt()) {
                val (start, length) = Pair(from.getLong().toInt(), from.getLong())
                if (length == -1L) null else all.copyOfRange(start, start + length.toInt())
            }
        }
    }
}
