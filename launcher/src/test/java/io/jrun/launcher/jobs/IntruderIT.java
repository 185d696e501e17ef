package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Strangers call the data plane of a job that runs: they are turned away, told of once, and the job ends well. */
class IntruderIT extends RealJobs {
    private static final int TIMEOUT_MILLIS = 30_000;
    private static final String LISTENS = "0A";

    @Test
    void strangersAreReportedOnceAndChangeNothing() throws Exception {
        Jars.program(folder.resolve("job.jar"), "Job", """
                import io.jrun.comm.*;
                import java.lang.foreign.MemorySegment;
                import java.nio.file.*;

                public class Job {
                    public static void main(String[] args) throws Exception {
                        try (World world = Distributed.init()) {
                            world.group().barrier();
                            System.out.println("ready " + world.rank());
                            while (!Files.exists(Path.of("go"))) {
                                Thread.sleep(10);
                            }
                            // A group of its own has connections of its own.
                            ProcessGroup later = world.group().split(0, world.rank());
                            float[] data = {1 + world.rank()};
                            later.allReduce(MemorySegment.ofArray(data), DataType.F32, 1, ReduceOp.SUM);
                            System.out.println("sum " + data[0]);
                            later.close();
                        }
                    }
                }
                """);
        Running job = jrun.with("JRUN_TRANSPORT", "tcp").start("--nproc-per-node=2", "job.jar");
        job.awaitOutput("ready 0").awaitOutput("ready 1");
        List<Socket> silent = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            int port = port(job.processesOfRank(rank));
            for (int seed = 0; seed < 20; seed++) {
                assertTurnedAway(port, seed);
            }
            silent.add(new Socket(InetAddress.getLoopbackAddress(), port));
        }
        Files.createFile(folder.resolve("go"));
        Result result = job.await();
        for (Socket socket : silent) {
            socket.close();
        }
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .filteredOn(line -> line.endsWith("sum 3.0"))
                .hasSize(2);
        assertThat(result.err().lines().filter(line -> line.contains("the caller does not speak this protocol")))
                .as("one line of each rank")
                .hasSize(2)
                .allMatch(line -> line.contains("refused a connection from /127.0.0.1:"));
    }

    private static void assertTurnedAway(int port, int seed) throws IOException {
        byte[] noise = new byte[500];
        new Random(seed).nextBytes(noise);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(TIMEOUT_MILLIS);
            socket.getOutputStream().write(noise);
            assertThat(socket.getInputStream().read()).isEqualTo(-1);
        } catch (SocketException _) {
            return; // A reset says the same.
        }
    }

    /** The addresses at which one of these processes listens, from the socket tables of the kernel. Source: proc(5). */
    private static int port(List<String> pids) throws IOException {
        Set<String> inodes = new HashSet<>();
        for (String pid : pids) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("/proc", pid, "fd"))) {
                for (Path file : files) {
                    if (Files.isSymbolicLink(file)) {
                        inodes.add(Files.readSymbolicLink(file).toString());
                    }
                }
            }
        }
        for (String table : List.of("tcp", "tcp6")) {
            for (String line : Files.readAllLines(Path.of("/proc/net", table), StandardCharsets.US_ASCII)) {
                String[] fields = line.strip().split("\\s+", -1);
                if (fields[3].equals(LISTENS) && inodes.contains("socket:[" + fields[9] + "]")) {
                    return Integer.parseInt(fields[1].substring(fields[1].indexOf(':') + 1), 16);
                }
            }
        }
        throw new AssertionError("no process of " + pids + " listens");
    }
}
