package io.jrun.launcher.console;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.console.LogMultiplexer.LogSource;
import io.jrun.launcher.job.TerminalStreams;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LogMultiplexerTest {
    private static final LogSource OUT = new LogSource(1, 3, false);
    private static final LogSource ERR = new LogSource(1, 3, true);

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void aTemplateNamesTheWorkerAsTorchrunDoes() {
        var template = new RankPrefix.Template("[${role_name}$local_rank|${rank}@${hostname} $$$other]:", "actor");
        new LogMultiplexer(out, err, new RankPrefix(true, Optional.of(template), false, false), TerminalStreams.NONE)
                .print(OUT, new WorkerPlace("node1", 1), bytes("a\nb\n"), false);
        assertThat(out).hasToString("[actor1|3@node1 $$other]:a\n[actor1|3@node1 $$other]:b\n");
    }

    @Test
    void everyLineCarriesRankAndHost() {
        LogMultiplexer mux = new LogMultiplexer(
                out, err, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        mux.print(OUT, new WorkerPlace("node1", 0), bytes("a\n\nlast"), false);
        mux.print(ERR, new WorkerPlace("node1", 0), bytes("e\n"), false);
        assertThat(out).hasToString("[3@node1] a\n[3@node1] \n[3@node1] last\n");
        assertThat(err).hasToString("[3@node1] e\n");
    }

    @Test
    void furtherPiecesOfALongLineAreMarkedAndOthersLinesComeBetween() {
        LogMultiplexer mux = new LogMultiplexer(
                out, err, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        mux.print(OUT, new WorkerPlace("n", 0), bytes("aa"), false);
        mux.print(new LogSource(1, 4, false), new WorkerPlace("n", 0), bytes("other\n"), false);
        mux.print(OUT, new WorkerPlace("n", 0), bytes("bb"), false);
        mux.print(OUT, new WorkerPlace("n", 0), bytes("cc\ndd\n"), false);
        mux.print(OUT, new WorkerPlace("n", 0), bytes("ee"), false);
        mux.print(OUT, new WorkerPlace("n", 0), bytes("\nff\n"), false);
        assertThat(out).hasToString("[3@n] aa\n[4@n] other\n[3@n+] bb\n[3@n+] cc\n[3@n] dd\n[3@n] ee\n[3@n] ff\n");
    }

    @Test
    void bytesThatAreNoTextPassUnchanged() {
        LogMultiplexer mux = new LogMultiplexer(
                out, err, new RankPrefix(false, Optional.empty(), false, false), TerminalStreams.NONE);
        byte[] odd = {(byte) 0xff, 0, (byte) 0xc3, '\r', '\n'};
        mux.print(OUT, new WorkerPlace("node1", 0), odd, false);
        assertThat(out.toByteArray()).isEqualTo(odd);
    }

    @Test
    void coloursOnlyOnRequest() {
        LogMultiplexer mux =
                new LogMultiplexer(out, err, new RankPrefix(true, Optional.empty(), true, false), TerminalStreams.NONE);
        mux.print(OUT, new WorkerPlace("n", 0), bytes("x\n"), false);
        mux.print(ERR, new WorkerPlace("n", 0), bytes("x\n"), false);
        assertThat(out.toString(StandardCharsets.UTF_8)).startsWith("\033[35m[3@n]\033[0m x");
        assertThat(err).hasToString("[3@n] x\n");
    }

    @Test
    void drainedMeansThatEveryExpectedStreamHasEnded() throws InterruptedException {
        LogMultiplexer mux = new LogMultiplexer(
                out, err, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        mux.expect(OUT);
        mux.expect(ERR);
        Thread feeder = Thread.ofPlatform().start(() -> {
            mux.print(OUT, new WorkerPlace("n", 0), bytes("late\n"), true);
            mux.print(ERR, new WorkerPlace("n", 0), bytes(""), true);
        });
        mux.awaitDrained(Duration.ofSeconds(20));
        assertThat(out).hasToString("[3@n] late\n");
        feeder.join();
    }

    @Test
    void drainingGivesUpOnSilenceAndOnRequest() throws InterruptedException {
        LogMultiplexer mux = new LogMultiplexer(
                out, err, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        mux.expect(OUT);
        mux.awaitDrained(Duration.ofMillis(10));
        mux.giveUp();
        mux.awaitDrained(Duration.ofDays(1));
        assertThat(out.size()).isZero();
    }

    @Test
    void workerThatNeverStartedIsNotWaitedFor() throws InterruptedException {
        LogMultiplexer mux = new LogMultiplexer(
                out, err, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        mux.expect(OUT);
        mux.expect(ERR);
        mux.forget(1, 3);
        mux.awaitDrained(Duration.ofDays(1));
        assertThat(out.size()).isZero();
    }

    @Test
    void readerThatWentAwayHoldsUpNothing() {
        OutputStream broken = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        };
        LogMultiplexer mux = new LogMultiplexer(
                broken, err, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        mux.print(OUT, new WorkerPlace("n", 0), bytes("x\n"), false);
        mux.print(ERR, new WorkerPlace("n", 0), bytes("y\n"), false);
        assertThat(err).hasToString("[3@n] y\n");
    }

    @Test
    void messagesOfJrunDoNotWaitForTheTerminalAndKeepTheirOrder() throws InterruptedException {
        StoppedTerminal terminal = new StoppedTerminal();
        LogMultiplexer mux = new LogMultiplexer(
                terminal, terminal, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        Thread feeder = Thread.ofPlatform().start(() -> mux.print(OUT, new WorkerPlace("n", 0), bytes("x\n"), false));
        terminal.stopped.await();
        mux.printLine("one");
        mux.printLine("two");
        terminal.goesOn.countDown();
        mux.awaitPrinted();
        feeder.join();
        assertThat(terminal.shown).hasToString("[3@n] x\none\ntwo\n");
    }

    @Test
    void messagesOfJrunTakeBoundedMemoryAndDroppedLinesAreCounted() throws InterruptedException {
        StoppedTerminal terminal = new StoppedTerminal();
        LogMultiplexer mux = new LogMultiplexer(
                terminal, terminal, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        for (int line = 0; line < 100; line++) {
            mux.printLine("x".repeat(100_000));
        }
        terminal.goesOn.countDown();
        mux.awaitPrinted();
        mux.printLine("last");
        mux.awaitPrinted();
        List<String> lines =
                terminal.shown.toString(StandardCharsets.UTF_8).lines().toList();
        long kept = lines.stream().filter(line -> line.startsWith("x")).count();
        assertThat(kept).isBetween(10L, 11L);
        assertThat(lines.subList((int) kept, lines.size()))
                .containsExactly(
                        "jrun: dropped " + (100 - kept) + " lines of jrun here, because the terminal was blocked",
                        "last");
    }

    @Test
    void aCallerThatGivesUpDoesNotWaitForTheTerminal() throws InterruptedException {
        StoppedTerminal terminal = new StoppedTerminal();
        LogMultiplexer mux = new LogMultiplexer(
                terminal, terminal, new RankPrefix(true, Optional.empty(), false, false), TerminalStreams.NONE);
        mux.printLine("x");
        mux.giveUp();
        mux.awaitPrinted();
        assertThat(terminal.shown.size()).isZero();
        terminal.goesOn.countDown();
    }

    /** Takes nothing before it goes on, as after Ctrl-S. */
    private static final class StoppedTerminal extends OutputStream {
        private final CountDownLatch stopped = new CountDownLatch(1);
        private final CountDownLatch goesOn = new CountDownLatch(1);
        private final ByteArrayOutputStream shown = new ByteArrayOutputStream();

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            stopped.countDown();
            try {
                goesOn.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            shown.write(bytes, offset, length);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
