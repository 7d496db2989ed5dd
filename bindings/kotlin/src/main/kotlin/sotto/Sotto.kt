package sotto

import org.json.JSONArray
import org.json.JSONObject

/** What is said when a table is opened, beyond which it is. All of it may be left out. */
data class Options(
    /** The only snapshot that is taken, by the digest of its catalog (`sotto inspect`): any other is refused, and none is followed. */
    val snapshot: String? = null,
    /** A folder for hints, registered keys, and what was seen of tables. */
    val cache: String? = null,
    /** Where the key that encrypts kept keys lies, if not in the cache. */
    val keyFile: String? = null,
    /** A folder for hints that are used up by asking, which must not be copied; it needs a [rollbackDir]. */
    val state: String? = null,
    /** A second folder, whose rollback counter exposes a copy of the state. */
    val rollbackDir: String? = null,
    /** Whether such hints may lie in memory alone, and be lost with the process. */
    val inMemory: Boolean = false,
    /** Whether a table is refused whose rows cannot be verified one by one. */
    val requireRowProofs: Boolean = false,
    /** Whether keys are registered for this opening alone, so that the server cannot tie it to another. */
    val freshKeys: Boolean = false,
    /** How many seconds a busy server is waited for. */
    val maxWait: Double = 120.0,
    /** What [Table.getMany] fills its rounds up to. */
    val batch: Int = 16,
    /** Is told how far an opening is: a stage, bytes that are there, and bytes in all or 0. */
    val progress: ((String, Long, Long) -> Unit)? = null,
)

/** Rows of somebody else's table, without telling them which. */
object Sotto {
    /** The library's version. */
    val version: String get() = Native.library.sotto_version()

    /**
     * Replays a recorded lookup (`spec/vectors`: the text, then the bytes of the file beside it), and gives its row: whether the
     * library makes the recorded bytes on this processor. It takes no server.
     */
    fun selfTest(vector: ByteArray): ByteArray {
        val (row, error) = Pair(NativeBuffer(), NativeError())
        val status = Native.library.sotto_self_test(vector, SizeT(vector.size.toLong()), row, error)
        if (status < 0) throw thrown(error, null)
        return row.bytes().also { Native.library.sotto_free(row) }
    }

    /**
     * Opens a table, or a stack: fetches its catalog, and once what its scheme needs.
     *
     * Without a [pin] (the publisher's key, as `sotto encode` prints it) the first key seen is believed. Every request goes through
     * [transport], by default java.net.http's; another one decides on proxies, Tor, certificates and pools.
     */
    fun connect(
        url: String,
        table: String,
        pin: String? = null,
        options: Options = Options(),
        transport: Transport = HttpTransport(url),
    ): Table = connect(listOf(url), table, pin, options, listOf(transport))

    /** Opens a table of a scheme with several servers, in the order of their roles. Their operators must not collude. */
    fun connect(
        urls: List<String>,
        table: String,
        pin: String? = null,
        options: Options = Options(),
        transports: List<Transport> = urls.map { HttpTransport(it) },
    ): Table {
        val config = JSONObject()
            .put("servers", JSONArray(urls))
            .put("table", table)
            .putOpt("pin", pin)
            .putOpt("snapshot", options.snapshot)
            .putOpt("cache", options.cache)
            .putOpt("key_file", options.keyFile)
            .putOpt("state", options.state)
            .putOpt("rollback_dir", options.rollbackDir)
            .put("in_memory", options.inMemory)
            .put("require_row_proofs", options.requireRowProofs)
            .put("fresh_keys", options.freshKeys)
            .put("batch", options.batch)
        // JSON has no NaN: as text it is refused, with the name of the option.
        val maxWait = options.maxWait
        config.put("max_wait", if (maxWait.isFinite()) maxWait else maxWait.toString())
        return Table.open(config.toString(), TransportBox(transports, options.progress))
    }
}
