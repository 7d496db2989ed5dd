package sotto

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible

/** Opens a table like [Sotto.connect], on a thread for blocking calls. Cancellation interrupts the transport. */
suspend fun Sotto.open(
    url: String,
    table: String,
    pin: String? = null,
    options: Options = Options(),
    transport: Transport = HttpTransport(url),
): Table = runInterruptible(Dispatchers.IO) { connect(url, table, pin, options, transport) }

/** As `table[row]`. */
suspend fun Table.row(row: Long): ByteArray = runInterruptible(Dispatchers.IO) { get(row) }

/** As `table[key]`. */
suspend fun Table.find(key: String): ByteArray? = runInterruptible(Dispatchers.IO) { get(key) }

/** As [Table.getMany]. */
suspend fun Table.findMany(lookups: Iterable<Any?>): List<ByteArray?> = runInterruptible(Dispatchers.IO) { getMany(lookups) }
