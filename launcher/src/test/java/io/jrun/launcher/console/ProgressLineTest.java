package io.jrun.launcher.console;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.console.LogMultiplexer.LogSource;
import io.jrun.launcher.job.TerminalStreams;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Progress bars on a terminal; {@code CLEAR} and {@code bar} are what the terminal is sent. */
class ProgressLineTest {
    private static final LogSource RANK_0 = new LogSource(1, 0, false);
    private static final LogSource RANK_1 = new LogSource(1, 1, false);
    private static final String CLEAR = "\r\033[K";

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final LogMultiplexer mux = new LogMultiplexer(
            out, err, new RankPrefix(true, Optional.empty(), false, false), new TerminalStreams(true, true));

    @Test
    void onlyTheLatestOfAChunkIsShown() {
        assertThat(shown(RANK_0, "10%\r20%\r")).isEqualTo(bar("[0@n] 20%"));
        assertThat(shown(RANK_0, "30%\r")).isEqualTo(CLEAR + bar("[0@n] 30%"));
    }

    @Test
    void linesOfOthersComeAboveIt() throws InterruptedException {
        shown(RANK_0, "10%\r");
        assertThat(shown(RANK_1, "hello\n")).isEqualTo(CLEAR + "[1@n] hello\n" + bar("[0@n] 10%"));
        mux.printLine("jrun: word");
        mux.awaitPrinted();
        assertThat(err).hasToString(CLEAR + "jrun: word\n" + bar("[0@n] 10%"));
    }

    @Test
    void newlineLeavesIt() {
        shown(RANK_0, "100%\r");
        assertThat(shown(RANK_0, "\n")).isEqualTo(CLEAR + "[0@n] 100%\n");
        assertThat(shown(RANK_0, "next\n")).isEqualTo("[0@n] next\n");
    }

    @Test
    void lineOfItsOwnerTakesItsPlace() {
        shown(RANK_0, "90%\r");
        assertThat(shown(RANK_0, "done\n")).isEqualTo(CLEAR + "[0@n] done\n");
        assertThat(shown(RANK_0, "a\r\n")).isEqualTo("[0@n] a\n");
    }

    @Test
    void endOfItsStreamLeavesIt() {
        shown(RANK_0, "50%\r");
        out.reset();
        mux.print(RANK_0, new WorkerPlace("n", 0), new byte[0], true);
        assertThat(out).hasToString(CLEAR + "[0@n] 50%\n");
    }

    @Test
    void furtherPiecesOfALongLineAreMarked() {
        assertThat(shown(RANK_0, "aa")).isEqualTo("[0@n] aa\n");
        assertThat(shown(RANK_0, "bb\ncc\n")).isEqualTo("[0@n+] bb\n[0@n] cc\n");
        assertThat(shown(RANK_0, "10%\r")).isEqualTo(bar("[0@n] 10%"));
        assertThat(shown(RANK_0, "20%\r")).isEqualTo(CLEAR + bar("[0@n] 20%"));
    }

    @Test
    void returnsGoUnchangedWhereThereIsNoTerminal() throws InterruptedException {
        LogMultiplexer half = new LogMultiplexer(
                out, err, new RankPrefix(true, Optional.empty(), false, false), new TerminalStreams(true, false));
        half.print(RANK_1, new WorkerPlace("n", 0), bytes("1%\r"), false);
        half.print(new LogSource(1, 0, true), new WorkerPlace("n", 0), bytes("10%\r20%\r\n"), false);
        half.printLine("jrun: word");
        half.awaitPrinted();
        assertThat(err).hasToString("[0@n] 10%\r20%\r\njrun: word\n");
    }

    private String shown(LogSource source, String data) {
        out.reset();
        mux.print(source, new WorkerPlace("n", 0), bytes(data), false);
        return out.toString(StandardCharsets.UTF_8);
    }

    private static String bar(String text) {
        return "\033[?7l" + text + "\033[?7h";
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
