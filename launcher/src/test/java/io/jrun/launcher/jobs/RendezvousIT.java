package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** torchrun's way: the same command on every node. Here all nodes are this machine. */
class RendezvousIT extends RealJobs {
    /** A worker that says its place, and ends by itself only when it is told to. */
    private static final String WAITING =
            "echo rank $RANK of $WORLD_SIZE; trap 'exit 5' TERM; while :; do sleep 0.05; done";

    private int port;

    @BeforeEach
    void findPort() {
        port = freePort();
    }

    /** Below the ports that the kernel gives to those who name none. */
    static int freePort() {
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(20_000, 29_000);
            try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return port;
            } catch (IOException e) {
                // another process has the port
            }
        }
        throw new AssertionError("no free port");
    }

    private Running node(String nodes, String... words) {
        return nodeUnder(List.of(), nodes, words);
    }

    private Running nodeUnder(List<String> wrapper, String nodes, String... words) {
        List<String> line = new ArrayList<>(List.of("--nnodes=" + nodes, "--rdzv-endpoint=localhost:" + port));
        if (List.of(words).stream().noneMatch(word -> word.startsWith("--rdzv-id"))) {
            line.add("--rdzv-id=meeting");
        }
        line.addAll(List.of(words));
        return jrun.startUnder(wrapper, line.toArray(String[]::new));
    }

    /** As torch's TCPStore: rank 0 listens at MASTER_ADDR:MASTER_PORT, and the other ranks connect. */
    private static final String STORE = """
            import os, socket, time
            rank, address = int(os.environ['RANK']), (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
            family = socket.getaddrinfo(*address)[0][0]
            if rank == 0:
                server = socket.socket(family)
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                server.bind(address)
                server.listen(9)
                for other in range(1, int(os.environ['WORLD_SIZE'])):
                    server.accept()[0].sendall(b'stored')
                print('served')
            while rank > 0:
                try:
                    with socket.create_connection(address) as store:
                        print(*address, store.recv(9).decode())
                        break
                except ConnectionRefusedError:
                    time.sleep(0.01)
            """;

    private Running storing(String address, String... words) {
        List<String> line =
                new ArrayList<>(List.of("--master-addr=" + address, "--master-port=" + port, "--rdzv-id=storing"));
        line.addAll(List.of(words));
        line.addAll(List.of("python3", "-uc", STORE));
        return jrun.start(line.toArray(String[]::new));
    }

    @Test
    void workersListenAtTheAddressThatTheUserNamesAlsoWhereTheNodesMet() {
        Result alone = storing("[::1]", "--nproc-per-node=2").await();
        assertThat(alone.exitCode()).as(alone.err()).isZero();
        assertThat(alone.sortedOut().stream().map(RendezvousIT::withoutPrefix))
                .containsExactly("served", "::1 " + port + " stored");
        Running second = storing("localhost", "--nnodes=2", "--node-rank=1", "--nproc-per-node=2");
        Running first = storing("localhost", "--nnodes=2", "--node-rank=0");
        Result hosting = first.await();
        assertThat(hosting.exitCode()).as(hosting.err()).isZero();
        assertThat(withoutPrefix(hosting.out())).isEqualTo("served\n");
        Result joined = second.await();
        assertThat(joined.exitCode()).as(joined.err()).isZero();
        assertThat(joined.out().lines().map(RendezvousIT::withoutPrefix))
                .containsExactly("localhost " + port + " stored", "localhost " + port + " stored");
    }

    @Test
    void nodesMeetInAnyOrderAndEachHasAndShowsTheWorkersOfItsOwnCommand() {
        String program = "echo $RANK of $WORLD_SIZE on $GROUP_RANK of $GROUP_WORLD_SIZE, $LOCAL_WORLD_SIZE here";
        Running third = node("3", "--node-rank=2", "sh", "-c", program);
        Running second = node("3", "--node-rank=1", "--nproc-per-node=1", "sh", "-c", program);
        Running first = node("3", "--node-rank=0", "--nproc-per-node=2", "sh", "-c", program);
        assertThat(shown(first)).containsExactly("0 of 5 on 0 of 3, 2 here", "1 of 5 on 0 of 3, 2 here");
        assertThat(shown(second)).containsExactly("2 of 5 on 1 of 3, 1 here");
        assertThat(shown(third)).containsExactly("3 of 5 on 2 of 3, 2 here", "4 of 5 on 2 of 3, 2 here");
    }

    /** The workers' lines of a job that succeeds. */
    private static List<String> shown(Running job) {
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        return result.sortedOut().stream().map(RendezvousIT::withoutPrefix).toList();
    }

    private static String withoutPrefix(String line) {
        return line.replaceFirst("^\\[.*?] ", "");
    }

    @Test
    void aFailureEndsEveryNodeWithItsCode() {
        String program = "[ $RANK = 1 ] && exit 9; " + WAITING;
        Running first = node("2", "--rdzv-backend=c10d", "sh", "-c", program);
        Running second = node("2", "--rdzv-backend=c10d", "sh", "-c", program);
        List<Result> results = List.of(first.await(), second.await());
        assertThat(results).extracting(Result::exitCode).containsExactly(9, 9);
        assertThat(results)
                .filteredOn(result -> result.err().contains("first failure: rank 1"))
                .hasSize(1);
        assertThat(results)
                .filteredOn(result -> result.err().contains("has ended with exit code 9"))
                .hasSize(1);
    }

    @Test
    void aSignalToAnyNodeStopsTheJob() {
        Running hosting = node("2", "--node-rank=0", "sh", "-c", WAITING);
        Running joined = node("2", "--node-rank=1", "sh", "-c", WAITING).awaitOutput("rank 1 of 2");
        hosting.awaitOutput("rank 0 of 2");
        joined.signal("TERM");
        assertThat(joined.await().exitCode()).isEqualTo(143);
        assertThat(hosting.await().exitCode()).isEqualTo(143);
    }

    @Test
    void theLossOfTheHostingNodeEndsTheOthers() {
        Running hosting = node("2", "--node-rank=0", "sh", "-c", WAITING);
        Running joined = node("2", "--node-rank=1", "sh", "-c", WAITING).awaitOutput("rank 1 of 2");
        hosting.awaitOutput("rank 0 of 2");
        hosting.signal("KILL");
        Result result = joined.await();
        assertThat(result.exitCode()).isEqualTo(69);
        assertThat(result.err()).contains("was lost");
        assertThat(hosting.await().exitCode()).isEqualTo(137);
    }

    @Test
    void aReleasedNodePrintsTheReason() {
        String[] options = {"--max-restarts=1", "--node-cooldown=1", "sh", "-c", WAITING};
        Running hosting = node("1:2", StandingAgent.join(new String[] {"--node-rank=0"}, options));
        Running stalled = node("1:2", StandingAgent.join(new String[] {"--node-rank=1"}, options));
        stalled.awaitOutput("rank 1 of 2").signal("STOP");
        hosting.awaitOutput("rank 0 of 1"); // restarted without it
        stalled.signal("CONT");
        Result result = stalled.await();
        assertThat(result.exitCode()).as(result.err()).isEqualTo(69);
        assertThat(result.err())
                .contains("the launcher of the job has released this node: no answer to")
                .doesNotContain("was lost");
        hosting.signal("TERM");
        assertThat(hosting.await().exitCode()).isEqualTo(143);
    }

    @Test
    void eachNodeShowsAllThatItsWorkersPrintHoweverSlowItsTerminal() throws IOException {
        int lines = 200_000;
        String program = "[ $RANK = 0 ] || seq " + lines + "; echo done > done-$RANK";
        List<String> slow =
                List.of("bash", "-c", "exec \"$@\" > >(while [ ! -e drain ]; do sleep 0.05; done; cat)", "bash");
        Running joined = nodeUnder(slow, "2", "--node-rank=1", "sh", "-c", program);
        Running hosting = node("2", "--node-rank=0", "sh", "-c", program);
        assertThat(hosting.await().exitCode()).isZero(); // does not wait for another node's terminal
        Files.writeString(folder.resolve("drain"), "");
        Result result = joined.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(joined.out().lines().map(RendezvousIT::withoutPrefix))
                .hasSize(lines)
                .endsWith(Integer.toString(lines));
    }

    @Test
    void aMissingNodeIsNamed() {
        Result result =
                node("2", "--node-rank=0", "--rdzv-conf=join_timeout=1", "true").await();
        assertThat(result.exitCode()).isEqualTo(69);
        assertThat(result.err()).contains("only 1 of 2 nodes have joined", "missing: node 1");
        Result other =
                node("2", "--node-rank=1", "--rdzv-conf=join_timeout=1", "true").await();
        assertThat(other.exitCode()).isEqualTo(69);
        assertThat(other.err()).contains("was not reached within 1 s", "Connection refused");
    }

    @Test
    void aNodeOfAnotherJobIsRefused() {
        Running hosting = node("2", "--node-rank=0", "--rdzv-id=one", "sh", "-c", "echo $RANK");
        Result stranger = node("2", "--node-rank=1", "--rdzv-id=two", "true").await();
        assertThat(stranger.exitCode()).as(stranger.err()).isEqualTo(2);
        assertThat(stranger.err()).contains("the nodes of job 'one'", "this node belongs to job 'two'");
        assertThat(node("2", "--node-rank=1", "--rdzv-id=one", "true").await().exitCode())
                .isZero();
        assertThat(hosting.await().exitCode()).isZero();
    }

    @Test
    void nodesThatComeLateAreTakenInAndSoIsOneInThePlaceOfALostOne() {
        ElasticProgram program = ElasticProgram.in(folder);
        Running hosting = elastic(program);
        JRun.waitFor(() -> Beginning.count(hosting.out(), 1) == 1, "a world of one");
        Running late = elastic(program);
        JRun.waitFor(() -> Beginning.count(hosting.out(), 2) == 1, "a world of two");
        late.awaitOutput("rank 1 of 2");
        late.signal("KILL");
        JRun.waitFor(() -> Beginning.count(hosting.out(), 1) == 2, "a world of one again");
        Running instead = elastic(program); // its place is free when it has cooled down
        JRun.waitFor(() -> Beginning.count(hosting.out(), 2) == 2, "a world of two again");
        program.finish();
        assertThat(instead.await().exitCode()).isZero();
        Result result = hosting.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(Beginning.pids(Beginning.in(result.out()), 0).stream().distinct())
                .hasSize(1);
        assertThat(late.await().exitCode()).isEqualTo(137);
    }

    private Running elastic(ElasticProgram program) {
        return node(
                "1:2",
                "--rdzv-conf=last_call_timeout=1",
                "--node-cooldown=1",
                "--max-restarts=1",
                program.jar().toString());
    }
}
