package sotto

import org.json.JSONObject

/** What a lookup cost. Bytes are those of bodies, to and from all servers; times are in seconds. */
data class LookupCost(
    val epoch: Long,
    /** How many rows or keys were requested. */
    val requested: Int,
    /** How many rows were looked up, padding included. */
    val paddedLookups: Int,
    /** Requests, to each server. */
    val rounds: Int,
    val up: Long,
    val down: Long,
    /** Bytes so far for opening the table: keys up, the catalog and the hint down. */
    val setupUp: Long,
    val setupDown: Long,
    val total: Double,
    /** Making the queries; from the first byte sent to the last received; reading the answers. */
    val query: Double,
    val roundTrip: Double,
    val recover: Double,
    /** Time that the slowest server reports for its passes, and for requests waiting for them, if it reports them. */
    val server: Double?,
    val queued: Double?,
    /** Rows that the servers saw opened, in a symmetric table. */
    val rowsOpened: Long,
    /** What the servers saw, in words. */
    val leakage: String,
)

/** Description of an open table. */
data class TableInfo(
    val name: String,
    val epoch: Long,
    /** The digest of that epoch's catalog: what [Options.snapshot] takes. */
    val snapshot: String,
    /** State of another system that the epoch was made from, if the publisher names it: what [Options.anchor] takes. */
    val anchor: String?,
    val rows: Long,
    val rowBytes: Long,
    val scheme: String,
    val servers: Int,
    /** How the table is queried: `row`, `key` or `range`. */
    val kind: String,
    /** How keys are spelled, such as `email`; null if it is queried by row number. */
    val keyForm: String?,
    /** What values are: `text`, `bytes` or `unsigned`. */
    val value: String,
    /** The key that signed it: what to pin. */
    val signer: String,
    /** Why that key is trusted: `pinned`, `remembered` or `first-use`. */
    val trust: String,
    /** Whether each row is compared with what was signed. */
    val verified: Boolean,
    val stack: Boolean,
    /** The largest number of rows or keys in one request. */
    val maxBatch: Long,
    /** Number of queries left until hints have to be made again; null if unlimited. */
    val budget: Long?,
)

private fun JSONObject.number(name: String) = if (isNull(name)) null else getDouble(name)

internal fun lookupCost(json: JSONObject) = LookupCost(
    epoch = json.getLong("epoch"),
    requested = json.getInt("requested"),
    paddedLookups = json.getInt("padded_lookups"),
    rounds = json.getInt("rounds"),
    up = json.getLong("up"),
    down = json.getLong("down"),
    setupUp = json.getLong("setup_up"),
    setupDown = json.getLong("setup_down"),
    total = json.getDouble("total"),
    query = json.getDouble("query"),
    roundTrip = json.getDouble("round_trip"),
    recover = json.getDouble("recover"),
    server = json.number("server"),
    queued = json.number("queued"),
    rowsOpened = json.getLong("rows_opened"),
    leakage = json.getString("leakage"),
)

internal fun tableInfo(json: JSONObject) = TableInfo(
    name = json.getString("name"),
    epoch = json.getLong("epoch"),
    snapshot = json.getString("snapshot"),
    anchor = if (json.isNull("anchor")) null else json.getString("anchor"),
    rows = json.getLong("rows"),
    rowBytes = json.getLong("row_bytes"),
    scheme = json.getString("scheme"),
    servers = json.getInt("servers"),
    kind = json.getString("kind"),
    keyForm = if (json.isNull("key_form")) null else json.getString("key_form"),
    value = json.getString("value"),
    signer = json.getString("signer"),
    trust = json.getString("trust"),
    verified = json.getBoolean("verified"),
    stack = json.getBoolean("stack"),
    maxBatch = json.getLong("max_batch"),
    budget = if (json.isNull("budget")) null else json.getLong("budget"),
)
