package io.jrun.train.ddp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.JavaProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Native memory of steps is freed by the step, hooks are not lost to the collector. Soak: -Djrun.soak=true. */
class DdpMemoryTest {
    private static final int RANKS = 2;
    private static final long LIMIT_KIB = 5 * 1024;
    /** The JVM's own share must not move: heap touched at start, no second compiler that comes in late. */
    private static final List<String> STEADY = List.of("-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC");

    @TempDir
    private Path folder;

    @Test
    void aWorkerGrowsByLessThanFiveMebibytes() throws IOException, InterruptedException {
        boolean isSoak = Boolean.getBoolean("jrun.soak");
        String first = isSoak ? "2000" : "200";
        String last = isSoak ? "10000" : "1000";
        String printed = JavaProcess.start(
                        folder,
                        SoakMain.class,
                        STEADY,
                        Map.of("MALLOC_ARENA_MAX", "2", "OMP_NUM_THREADS", "1"),
                        Integer.toString(RANKS),
                        first,
                        last)
                .join(isSoak ? 1200 : 300);
        long grown = printed.lines()
                .filter(line -> line.startsWith("grown KiB: "))
                .mapToLong(line -> Long.parseLong(line.substring("grown KiB: ".length())))
                .findFirst()
                .orElseThrow();
        System.out.println(
                "DDP step memory: grown by " + grown / RANKS + " KiB per worker from step " + first + " to " + last);
        assertThat(grown / RANKS).isLessThan(LIMIT_KIB);
    }
}
