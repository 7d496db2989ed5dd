package sotto

import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows
import java.io.IOException
import java.net.ServerSocket
import java.nio.file.Files
import java.nio.file.Path
import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger
import kotlin.concurrent.thread

class TableTest {
    private val http = HttpTransport(World.url)

    private fun text(bytes: ByteArray?) = bytes?.toString(Charsets.UTF_8)

    private fun hash(row: Int) = ByteArray(32) { row.toByte() }

    @Test
    fun `rows and keys are found`() {
        val stages = mutableListOf<String>()
        val options = Options(progress = { stage, _, _ -> stages += stage })
        Sotto.connect(World.url, "words", World.pin, options).use { table ->
            assertTrue("ready" in stages, "$stages")
            assertNull(table.last)
            assertEquals("under", text(table["sotto"]))
            assertNull(table["basso"])
            assertEquals(listOf("voice", null, "air"), table.getMany(listOf("voce", "basso", "aria")).map(::text))
            val last = table.last!!
            assertEquals(3, last.requested)
            assertTrue(last.up > 0 && last.down > 0 && last.rounds == 1)
            assertTrue(last.leakage.startsWith("The server saw one request"), last.leakage)
            assertEquals("pinned", table.about.trust)
            assertEquals(World.snapshot, table.about.snapshot)
            assertEquals("key", table.about.kind)
        }
        Sotto.connect(World.url, "hashes").use { table ->
            assertArrayEquals(hash(7), table[7])
            assertArrayEquals(hash(63), table[63L])
            assertEquals(listOf(3, 5).map { hash(it).toList() }, table.getMany(listOf(3, 5L)).map { it!!.toList() })
        }
    }

    @Test
    fun `recorded lookups of every scheme are replayed`() {
        val texts = Files.newDirectoryStream(Path.of("../../spec/vectors"), "*.json").use { it.toList() }
        assertTrue(texts.size > 20, "$texts")
        for (text in texts) {
            val beside = Path.of("$text".removeSuffix("json") + "bin")
            val vector = Files.readAllBytes(text) + (if (Files.exists(beside)) Files.readAllBytes(beside) else ByteArray(0))
            val row = Regex(""""value": *"([0-9a-f]*)"""").find(Files.readString(text))!!.groupValues[1]
            assertEquals(row, Sotto.selfTest(vector).joinToString("") { "%02x".format(it) }, "$text")
        }
        assertThrows<MisuseException> { Sotto.selfTest(ByteArray(3)) }
    }

    @Test
    fun `a transport of the caller's sends every request`() {
        val sent = mutableListOf<Request>()
        val table = Sotto.connect("here", "words", World.pin) { request -> http.call(request).also { sent += request } }
        table.use {
            assertEquals("voice", text(it["voce"]))
            val ask = sent.last()
            assertEquals("POST" to "application/octet-stream", ask.method to ask.headers["content-type"])
            assertEquals("GET /v1/tables/words", "${sent[0].method} ${sent[0].path}")
        }
    }

    @Test
    fun `another key and another snapshot are refused`() {
        val key = assertThrows<PeerException> { Sotto.connect(World.url, "words", World.otherPin) }
        assertEquals("wrong-key", key.code)
        Sotto.connect(World.url, "words", World.pin, Options(snapshot = World.snapshot)).use { assertEquals("air", text(it["aria"])) }
        val other = assertThrows<PeerException> { Sotto.connect(World.url, "words", null, Options(snapshot = "7".repeat(64))) }
        assertEquals("other-snapshot", other.code)
        assertNull(Sotto.connect(World.url, "words", World.pin).use { it.about.anchor })
        val elsewhere = assertThrows<PeerException> { Sotto.connect(World.url, "words", null, Options(anchor = "block-1")) }
        assertEquals("other-anchor", elsewhere.code)
        assertTrue("operator" in other.fix, other.fix)
        assertThrows<MisuseException> { Sotto.connect(World.url, "words", "sotto-pk:zz") }
        assertThrows<PeerException> { Sotto.connect(World.url, "nothing") }
        assertThrows<MisuseException> { Sotto.connect(World.url, "No Name") }
        for (maxWait in listOf(Double.NaN, Double.POSITIVE_INFINITY, -1.0, 1e300)) {
            assertThrows<MisuseException> { Sotto.connect(World.url, "words", null, Options(maxWait = maxWait)) }
        }
    }

    @Test
    fun `a pin of two keys demands both signatures and a policy its witnesses`() {
        assertTrue(World.otherPin.startsWith("sotto-pq:"))
        Sotto.connect(World.url, "hashes", World.otherPin).use { assertEquals(5, it[5].first()) }
        val one = World.pin + World.otherPin.takeLast(64)
        val missing = assertThrows<PeerException> { Sotto.connect(World.url, "words", one.replace("sotto-pk:", "sotto-pq:")) }
        assertEquals("no-ml-dsa-signature", missing.code)
        val policy = assertThrows<PeerException> { Sotto.connect(World.url, "words", null, Options(policy = "witness w1 $WITNESS\nquorum w1\n")) }
        assertEquals("not-logged", policy.code)
        assertThrows<MisuseException> { Sotto.connect(World.url, "words", null, Options(policy = "quorum w1\n")) }
        assertThrows<MisuseException> { Sotto.connect(World.url, "words", null, Options(witnessAge = Double.NaN)) }
    }

    @Test
    fun `what can be no row and no key is asked for all the same`() {
        val asks = AtomicInteger()
        val counting = Transport { request -> http.call(request).also { if (request.path.endsWith("/ask")) asks.incrementAndGet() } }
        Sotto.connect("here", "hashes", null, Options(), counting).use { table ->
            assertThrows<RowException> { table[64] }
            assertThrows<RowException> { table[-1] }
            for (wrong in listOf(-1, Long.MIN_VALUE)) assertThrows<RowException> { table.getMany(listOf(1, wrong)) }
            for (wrong in listOf(null, true, 1.5, Double.NaN, listOf(1))) assertThrows<MisuseException> { table.getMany(listOf(wrong)) }
            assertEquals(9, asks.get())
        }
        Sotto.connect("here", "words", null, Options(), counting).use { table ->
            assertThrows<MisuseException> { table["\uD800"] }
            assertEquals(10, asks.get())
        }
    }

    @Test
    fun `a transport's exception is the cause`() {
        var broken: Exception? = null
        val options = Options(maxWait = 0.1)
        Sotto.connect("here", "hashes", null, options, { request -> broken?.let { throw it } ?: http.call(request) }).use { table ->
            broken = IOException("the cable is out")
            val lost = assertThrows<NetworkException> { table[1] }
            assertEquals(broken, lost.cause)
            assertTrue("the cable is out" in lost.message!!, lost.message)
            broken = java.util.concurrent.TimeoutException("too late")
            assertEquals(broken, assertThrows<TimeoutException> { table[1] }.cause)
            broken = null
            assertArrayEquals(hash(1), table[1])
            // A lie is never handed out.
            val lying = Transport { request -> http.call(request).let { Response(it.status, ByteArray(it.body.size) { 1 }, it.headers) } }
            assertThrows<PeerException> { Sotto.connect("here", "hashes", null, options, lying) }
        }
        val nobody = ServerSocket(0).use { it.localPort }
        assertThrows<NetworkException> { Sotto.connect("http://127.0.0.1:$nobody", "words", null, options) }
        assertThrows<NetworkException> { Sotto.connect("no address", "words", null, options) }
    }

    @Test
    fun `a server that stalls is given up`() {
        ServerSocket(0).use { silent ->
            val url = "http://127.0.0.1:${silent.localPort}"
            val hurried = HttpTransport(url, timeout = Duration.ofMillis(300))
            assertThrows<TimeoutException> { Sotto.connect(url, "words", null, Options(maxWait = 0.1), hurried) }
        }
    }

    @Test
    fun `threads share a table, and callbacks may not`() {
        lateinit var table: Table
        var within: Throwable? = null
        val calling = Transport { request ->
            if (request.path.endsWith("/ask")) within = runCatching { table[2] }.exceptionOrNull()
            http.call(request)
        }
        table = Sotto.connect("here", "hashes", null, Options(), calling)
        val rows = (0 until 16).map { row -> row to arrayOfNulls<ByteArray>(1) }
        rows.map { (row, place) -> thread { place[0] = table[row] } }.forEach { it.join() }
        for ((row, place) in rows) assertArrayEquals(hash(row), place[0])
        assertTrue(within is MisuseException, "$within")
        table.close()
        table.close()
        assertTrue("closed" in assertThrows<MisuseException> { table[1] }.message!!)
    }

    @Test
    fun `folders keep what they are given, and a wrong one is named`() {
        val options = Options(cache = World.scratch("cache"))
        val once = List(2) { Sotto.connect(World.url, "words", World.pin, options).use { table -> table["sotto"]; table.last!!.setupDown } }
        assertTrue(once[1] < once[0], "the hint came twice: $once")
        val file = Files.createFile(Path.of(World.scratch("a-file"))).toString()
        assertThrows<StorageException> { Sotto.connect(World.url, "words", null, Options(cache = "$file/cache")) }
    }

    @Test
    fun `what suspends finds the same, and can be cancelled`() = runBlocking {
        val table = Sotto.open(World.url, "hashes")
        val several = (1L..4L).map { row -> async { table.row(row) } }
        several.forEachIndexed { i, found -> assertArrayEquals(hash(i + 1), found.await()) }
        assertEquals(2, table.findMany(listOf(1, 2)).size)
        table.close()
        ServerSocket(0).use { silent ->
            val opening = async { Sotto.open("http://127.0.0.1:${silent.localPort}", "words") }
            delay(300)
            opening.cancelAndJoin()
            assertTrue(opening.isCancelled)
        }
    }
}
