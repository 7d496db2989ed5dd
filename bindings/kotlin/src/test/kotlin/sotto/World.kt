package sotto

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit

/** Key of a witness that has cosigned nothing. */
const val WITNESS = "w1.example+89d3dde6+BIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"

/** A real `sotto serve` on a free port, with tables `words` and `hashes` (64 rows: the row's number, 32 times). */
object World {
    private val command = System.getProperty("sotto.command")
    private val folder: Path = Files.createTempDirectory("sotto-kotlin")
    val pin: String
    val snapshot: String
    val otherPin: String
    val url: String

    init {
        val words = folder.resolve("words.csv")
        Files.writeString(words, "word,meaning\naria,air\nsotto,under\nvoce,voice\n")
        val hashes = folder.resolve("hashes.bin")
        Files.write(hashes, ByteArray(64 * 32) { (it / 32).toByte() })
        val tables = folder.resolve("tables")
        val scheme = arrayOf("--scheme", "simplepir")
        val encoded = run("encode", "$words", "--key", "word", "--value", "meaning", *scheme, "--out", "$tables/words")
        pin = fact(encoded, "public key")
        snapshot = fact(encoded, "snapshot")
        otherPin = fact(run("encode", "$hashes", "--row-bytes", "32", *scheme, "--post-quantum", "--out", "$tables/hashes"), "public key")
        val any = arrayOf("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
        val server = ProcessBuilder(command, "serve", "$tables/words", "$tables/hashes", *any).redirectErrorStream(true).start()
        Runtime.getRuntime().addShutdownHook(Thread { server.destroy() })
        val output = server.inputStream.bufferedReader()
        url = generateSequence { output.readLine() }.firstNotNullOf { Regex("serving on (http://[^,]+),").find(it)?.groupValues?.get(1) }
        Thread { output.forEachLine { } }.apply { isDaemon = true }.start()
    }

    fun scratch(name: String): String = folder.resolve(name).toString()

    private fun fact(output: String, name: String) = Regex("(?m)^ *$name +(\\S+)").find(output)!!.groupValues[1]

    private fun run(vararg words: String): String {
        val process = ProcessBuilder(command, *words).redirectErrorStream(true).start()
        val output = process.inputStream.bufferedReader().readText()
        check(process.waitFor(60, TimeUnit.SECONDS) && process.exitValue() == 0) { output }
        return output
    }
}
