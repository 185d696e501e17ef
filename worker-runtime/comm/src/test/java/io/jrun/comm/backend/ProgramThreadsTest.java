package io.jrun.comm.backend;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.RuntimeThread;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** In a process of its own, which has no threads of a test's. */
@Timeout(60)
class ProgramThreadsTest {
    /** Starts one kind of thread after the other; the last ones stay. */
    public static final class Program {
        private Program() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            tell("alone");
            var _ = RuntimeThread.start("jrun's", Program::stay);
            CompletableFuture.runAsync(() -> {}).join();
            boolean _ = ForkJoinPool.commonPool().awaitQuiescence(30, TimeUnit.SECONDS);
            CompletableFuture<Void> _ = new CompletableFuture<Void>().orTimeout(1, TimeUnit.HOURS);
            tell("an idle pool and timers");
            CountDownLatch end = new CountDownLatch(1);
            CompletableFuture<Void> busy = CompletableFuture.runAsync(() -> await(end));
            tell("a busy pool");
            end.countDown();
            busy.join();
            CountDownLatch over = new CountDownLatch(1);
            Thread platform = Thread.ofPlatform().daemon().start(() -> await(over));
            tell("a thread");
            over.countDown();
            platform.join();
            boolean _ = ForkJoinPool.commonPool().awaitQuiescence(30, TimeUnit.SECONDS);
            tell("none again");
            ProgressThread.ofParts("piece", Program::spin).start();
            tell("a piece on the network");
            ProgressThread.ofOperations("operation", Program::spin).start();
            tell("a continuation");
            var _ = Thread.ofVirtual().start(Program::stay);
            tell("a virtual thread");
        }

        private static void tell(String what) {
            System.out.println(what + ": " + ProgramThreads.areBeside(Thread.currentThread()));
        }

        private static void spin() {
            while (true) {
                Thread.onSpinWait();
            }
        }

        private static void stay() {
            await(new CountDownLatch(1));
        }

        private static void await(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException _) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Test
    void threadsThatMayCallAreSeen() throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Program.class.getName())
                .redirectErrorStream(true)
                .start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(printed.lines())
                .containsExactly(
                        "alone: false",
                        "an idle pool and timers: false",
                        "a busy pool: true",
                        "a thread: true",
                        "none again: false",
                        "a piece on the network: false",
                        "a continuation: true",
                        "a virtual thread: true");
        assertThat(process.waitFor()).isZero();
    }
}
