package sotto

import org.json.JSONArray
import org.json.JSONObject

/** Options for opening a table. All of them are optional. */
data class Options(
    /** Snapshot to accept, as the digest of its catalog (`sotto inspect`): any other is refused, newer ones too. */
    val snapshot: String? = null,
    /** State of another system that the table has to be made from, such as a block of a chain: any other is refused. */
    val anchor: String? = null,
    /** Text of a trust policy (C2SP tlog-policy): only what is in a log of it, with the cosignatures of its quorum, is accepted. */
    val policy: String? = null,
    /** Maximum age of cosignatures in seconds, for which a server could keep showing an old table. */
    val witnessAge: Double = 86_400.0,
    /** Folder for hints, registered keys and known tables. */
    val cache: String? = null,
    /** File of the key that encrypts stored keys, if it is not in the cache. */
    val keyFile: String? = null,
    /** Folder for hints that queries spend, which must not be copied; it needs a [rollbackDir]. */
    val state: String? = null,
    /** Second folder, whose rollback counter exposes a copy of the state. */
    val rollbackDir: String? = null,
    /** Whether such hints may be in memory only, and be lost with the process. */
    val inMemory: Boolean = false,
    /** Whether a table is refused whose rows cannot be verified one by one. */
    val requireRowProofs: Boolean = false,
    /** Whether a table is refused unless its rows are verified and a refused answer tells its server nothing of the row. */
    val requireAuthenticatedAnswers: Boolean = false,
    /** Whether to register keys for this opening alone, so that the server cannot link it to another. */
    val freshKeys: Boolean = false,
    /** Seconds to wait for a busy server. */
    val maxWait: Double = 120.0,
    /** Number of lookups to which [Table.getMany] pads its rounds. */
    val batch: Int = 16,
    /** Receives the progress of an opening: a stage, bytes done, and bytes in total or 0. */
    val progress: ((String, Long, Long) -> Unit)? = null,
)

/** Looks up rows of a server's table without revealing which. */
object Sotto {
    /** The library's version. */
    val version: String get() = Native.library.sotto_version()

    /**
     * Replays a recorded lookup (`spec/vectors`: the text, then the bytes of the file beside it), and returns its row: this checks that
     * the library makes the recorded bytes on this processor. No server is needed.
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
     * Without a [pin] (the publisher's key, as `sotto encode` prints it; `sotto-pq:` demands an ML-DSA-44 signature too) the first
     * key seen is trusted. Every request goes through
     * [transport], by default java.net.http's; pass another one to choose proxies, Tor, certificates and pools.
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
            .putOpt("anchor", options.anchor)
            .putOpt("policy", options.policy)
            .putOpt("cache", options.cache)
            .putOpt("key_file", options.keyFile)
            .putOpt("state", options.state)
            .putOpt("rollback_dir", options.rollbackDir)
            .put("in_memory", options.inMemory)
            .put("require_row_proofs", options.requireRowProofs)
            .put("require_authenticated_answers", options.requireAuthenticatedAnswers)
            .put("fresh_keys", options.freshKeys)
            .put("batch", options.batch)
        for ((name, seconds) in listOf("max_wait" to options.maxWait, "witness_age" to options.witnessAge)) {
            // JSON has no NaN: as text it is refused, with the name of the option.
            config.put(name, if (seconds.isFinite()) seconds else seconds.toString())
        }
        return Table.open(config.toString(), TransportBox(transports, options.progress))
    }
}
