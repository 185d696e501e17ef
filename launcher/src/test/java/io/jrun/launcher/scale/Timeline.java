package io.jrun.launcher.scale;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

/**
 * The course of a simulated job, and when what was over: all nodes arrive; the first round begins, and when all have
 * the table of peers a worker fails; the second begins, and when all have its table all workers succeed. Thread-safe.
 */
final class Timeline {
    private static final int EXIT_CODE = 7;
    private static final double NANOS = 1e9;

    private final int nodes;
    private final ProcessHandle launcher;
    private final List<SimulatedNode> arrived = new ArrayList<>();
    private final ExecutorService director = Executors.newSingleThreadExecutor(
            work -> Thread.ofPlatform().daemon().name("jrun-director").unstarted(work));
    private final long startNanos = System.nanoTime();
    private long arrivedNanos;
    private long readyNanos;
    private long failedNanos;
    private long heardNanos;
    private long stoppedNanos;
    private long againNanos;
    private Duration failedCpu = Duration.ZERO;
    private Duration heardCpu = Duration.ZERO;
    private final int reportSeconds;
    private Duration reportCpu = Duration.ZERO;
    private double reportedSeconds;
    private int ready;
    private int heard;
    private int stopped;

    /**
     * Begins now.
     *
     * @param launcher whose memory is of interest
     * @param reportSeconds for so long each worker reports metrics once a second, after the restart
     */
    Timeline(int nodes, ProcessHandle launcher, int reportSeconds) {
        this.reportSeconds = reportSeconds;
        this.nodes = nodes;
        this.launcher = launcher;
    }

    synchronized void arrived(SimulatedNode node) {
        arrived.add(node);
        arrivedNanos = System.nanoTime();
    }

    /** A node has the peers of this round. */
    synchronized void ready(int round) {
        ready++;
        if (ready == nodes) {
            readyNanos = System.nanoTime();
            director.execute(this::fail);
        } else if (ready == 2 * nodes) {
            againNanos = System.nanoTime();
            director.execute(() -> {
                report();
                arrived.forEach(SimulatedNode::succeed);
            });
        }
        if (round != (ready - 1) / nodes + 1) {
            throw new IllegalStateException("round " + round + " has begun before the one before it was over");
        }
    }

    /** Spreads the reports of each second over the second, as real ranks do. */
    private void report() {
        Duration before = launcherCpu();
        long begin = System.nanoTime();
        for (long step = 1; step <= reportSeconds; step++) {
            for (int node = 0; node < nodes; node++) {
                long due = begin + (long) ((step - 1 + (double) node / nodes) * NANOS);
                LockSupport.parkNanos(Math.max(0, due - System.nanoTime()));
                arrived.get(node).report(step);
            }
        }
        reportedSeconds = (System.nanoTime() - begin) / NANOS;
        reportCpu = launcherCpu().minus(before);
    }

    private void fail() {
        synchronized (this) {
            failedCpu = launcherCpu();
            failedNanos = System.nanoTime();
        }
        arrived.get(nodes / 2).fail(EXIT_CODE);
    }

    /** A node has heard of the failure. */
    synchronized void abortConfirmed() {
        heard++;
        heardNanos = System.nanoTime();
        if (heard == nodes) {
            heardCpu = launcherCpu();
        }
    }

    private Duration launcherCpu() {
        return launcher.info().totalCpuDuration().orElse(Duration.ZERO);
    }

    /** A node's workers are gone. */
    synchronized void stopped() {
        stopped++;
        stoppedNanos = System.nanoTime();
    }

    /** The result at the end, times in seconds. */
    synchronized String json() {
        if (heard != nodes || stopped != nodes || ready != 2 * nodes) {
            throw new IllegalStateException(
                    heard + " nodes heard of the failure, " + stopped + " were stopped, and " + ready + " got peers");
        }
        return String.format(
                Locale.ROOT,
                "{\"nodes\":%d,\"handshakes\":%.3f,\"launch\":%.3f,\"told\":%.3f,\"toldLauncherCpu\":%.3f,\"restart\":%.3f,\"end\":%.3f,"
                        + "\"reports\":%.3f,\"reportsLauncherCpu\":%.3f,\"launcherMebibytes\":%d}",
                nodes,
                (arrivedNanos - startNanos) / NANOS,
                (readyNanos - arrivedNanos) / NANOS,
                (heardNanos - failedNanos) / NANOS,
                heardCpu.minus(failedCpu).toNanos() / NANOS,
                (againNanos - stoppedNanos) / NANOS,
                (System.nanoTime() - againNanos) / NANOS - reportedSeconds,
                reportedSeconds,
                reportCpu.toNanos() / NANOS,
                peakMebibytes());
    }

    /** The most memory that the launcher has held. */
    private long peakMebibytes() {
        try (var lines = Files.lines(Path.of("/proc/" + launcher.pid() + "/status"))) {
            return lines.filter(line -> line.startsWith("VmHWM:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) / 1024)
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException("the launcher has gone before its agents", e);
        }
    }
}
