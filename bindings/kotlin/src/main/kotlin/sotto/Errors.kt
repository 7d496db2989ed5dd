package sotto

import java.util.concurrent.CancellationException

/** Something went wrong: [code] is for programs, [fix] says what to do. */
open class SottoException(message: String, val code: String, val fix: String, cause: Throwable? = null) :
    RuntimeException(message, cause) {
    override fun toString() = if (fix.isEmpty()) "${super.toString()}" else "${super.toString()} (fix: $fix)"
}

/** The call is wrong. */
open class MisuseException(message: String, code: String, fix: String, cause: Throwable? = null) :
    SottoException(message, code, fix, cause)

/** The call is wrong: the table has no such row. */
class RowException(message: String, code: String, fix: String, cause: Throwable? = null) : MisuseException(message, code, fix, cause)

/** The table's parameters are refused. */
class ParamsException(message: String, code: String, fix: String, cause: Throwable? = null) :
    SottoException(message, code, fix, cause)

/** The server or the publisher is at fault: another signature, another snapshot, damaged answers. */
class PeerException(message: String, code: String, fix: String, cause: Throwable? = null) : SottoException(message, code, fix, cause)

/** The network failed, or the server is busy. */
open class NetworkException(message: String, code: String, fix: String, cause: Throwable? = null) :
    SottoException(message, code, fix, cause)

/** No response came in time. */
class TimeoutException(message: String, code: String, fix: String, cause: Throwable? = null) :
    NetworkException(message, code, fix, cause)

/** The disk of this machine failed. */
class StorageException(message: String, code: String, fix: String, cause: Throwable? = null) :
    SottoException(message, code, fix, cause)

/** An answer is unreadable, and the fault unknown. Do not repeat the lookup at once, and do not report it: a server learns from that. */
class UnreadableException(message: String, code: String, fix: String, cause: Throwable? = null) :
    SottoException(message, code, fix, cause)

/** What went wrong, as an exception. A transport that was interrupted, or that has a bug, is what is thrown. */
internal fun thrown(error: NativeError, cause: Throwable?): Throwable {
    val text = { pointer: com.sun.jna.Pointer? -> pointer?.getString(0, "UTF-8") ?: "" }
    val (message, code, fix) = Triple(text(error.message), text(error.code), text(error.fix))
    val status = error.status
    Native.library.sotto_error_free(error)
    if (code == "cancelled" && (cause is InterruptedException || cause is CancellationException || cause is Error)) return cause
    return when (status) {
        -1 -> MisuseException(message, code, fix, cause)
        -2 -> RowException(message, code, fix, cause)
        -3 -> ParamsException(message, code, fix, cause)
        -4 -> PeerException(message, code, fix, cause)
        -5 -> NetworkException(message, code, fix, cause)
        -6 -> TimeoutException(message, code, fix, cause)
        -7 -> StorageException(message, code, fix, cause)
        -8 -> UnreadableException(message, code, fix, cause)
        else -> SottoException(message, code, fix, cause)
    }
}
