package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.NetworkHosts.Traffic;
import io.jrun.comm.WorkerPrograms.Counted;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;

/**
 * The bytes that each host sends, counted by its interface, compared with the formula of the algorithm. An interface
 * counts packets and their bytes with Ethernet, IP and TCP headers (14 + 20 + 32 bytes a packet), including
 * acknowledgements. Without these, payload, frame headers and TCP retransmissions remain.
 */
@Timeout(120)
class BytesOnTheWireIT {
    private static final long BYTES = 1_200_000;
    private static final int REPETITIONS = 5;

    /** Ethernet, IP, and TCP with its timestamp option. */
    private static final long PACKET_HEADERS = 14 + 20 + 32;

    /**
     * The payload of a packet of 1500 bytes. On a busy machine, TCP sends such a probe when an acknowledgement is late.
     */
    private static final long MAX_SEGMENT = 1448;

    private static final long FRAME_HEADER = 64;

    /** The count of all ranks of a host in all repetitions: up to 8 steps of up to 3 segments each. */
    private static final long MAX_FRAMES = 24 * REPETITIONS;

    /** Neighbour discovery, whose packets are of another form. */
    private static final long STRAY_BYTES = 2000;

    @BeforeAll
    static void hosts() throws Exception {
        NetworkHosts.assumePossible();
    }

    /**
     * Each case: operation, algorithm, and for each host its sent bytes as a multiple of the size of one rank's part.
     * The root is rank 0 or the rank after {@code @}. Rank 1's uneven block has all parts but one, the
     * last rank's block has one part, and the other blocks are empty. Only flat operations use the network between
     * ranks of one host.
     */
    @ParameterizedTest(name = "{0}: {1}")
    @SampledCases(
            count = 2,
            value = {
                "1+1, allReduce halving-doubling 1 1",
                "1+1+1, allReduce ring 4/3 4/3 4/3; allReduce direct 4/3 4/3 4/3; broadcast chain 1 1 0;"
                        + " reduceScatter ring 2 2 2; reduceScatter direct 2 2 2; allGather ring 2 2 2; allGather direct 2 2 2;"
                        + " reduce ring 2/3 1 1; reduce direct 2/3 1 1; allToAll pairwise 2 2 2",
                "1+1+1+1, allReduce recursive-doubling 2 2 2 2; reduce tree 0 1 1 1; broadcast tree 2 0 1 0;"
                        + " gather tree 0 1 2 1; gather direct 0 1 1 1; scatter tree 3 0 1 0; scatter direct 3 0 0 0",
                "2+1, allReduce ring 1 1; allReduce direct 1 1; allReduce halving-doubling 1 1;"
                        + " allReduce recursive-doubling 1 1; reduce tree 0 1; reduce ring 1/2 1; broadcast tree 1 0;"
                        + " broadcast chain 1 0; gather tree 0 1; gather direct 0 1; scatter tree 1 0; scatter direct 1 0;"
                        + " allToAll pairwise 2 2; allGather ring 2 1; allGather direct 2 1;"
                        + " reduceScatter ring 1 2; reduceScatter direct 1 2; reduce@1 tree 0 1; reduce@1 ring 1/2 1",
                "1+2, allGather ring 1 2; reduceScatter direct 2 1; reduce@2 ring 1 1/2",
                "2+2, allReduce ring 1 1; reduceScatter ring 2 2; allGather ring 2 2; broadcast tree 1 0;"
                        + " allGatherV ring 3 1; allGatherV direct 3 1; reduceScatterV ring 1 3; reduceScatterV direct 1 3;"
                        + " gather tree 0 2; gather direct 0 2; scatter tree 2 0; scatter direct 2 0; allToAll pairwise 4 4",
                "3+1, allReduce ring 1 1; gather direct 0 1; allToAll pairwise 3 3; allGather ring 3 1;"
                        + " reduceScatter direct 1 3; allGatherV direct 3 1; reduceScatterV ring 1 3; reduce@2 tree 0 1",
                "4+2, allReduce ring 1 1; scatter direct 2 0; allToAll pairwise 8 8; allGather direct 4 2;"
                        + " reduceScatter ring 2 4; allGatherV ring 5 1; reduceScatterV direct 1 5; reduce@3 ring 1/2 1",
                "1+1+2, allGather ring 3 2 3; allGather direct 2 2 4; reduceScatter ring 3 3 2; reduceScatter direct 3 3 2;"
                        + " allGatherV direct 0 6 2; reduceScatterV ring 4 1 3; reduce@3 ring 1 1 2/3"
            })
    void hostsSendWhatTheFormulaSays(String topology, String cases) throws Exception {
        List<Integer> nodes =
                Arrays.stream(topology.split("\\+")).map(Integer::valueOf).toList();
        List<String> arguments = new ArrayList<>(List.of(Long.toString(BYTES), Integer.toString(REPETITIONS)));
        arguments.addAll(Arrays.asList(cases.split("; ", -1)));
        try (NetworkHosts hosts = NetworkHosts.start(nodes.size(), "");
                TestAgent agent = new TestAgent(nodes, hosts, TransportKind.AUTO)) {
            List<Process> processes = agent.start(Counted.class, List.of(), arguments.toArray(String[]::new));
            for (String one : arguments.subList(2, arguments.size())) {
                List<Traffic> before = new ArrayList<>();
                List<Traffic> after = new ArrayList<>();
                List<Long> insideBefore = new ArrayList<>();
                List<Long> insideAfter = new ArrayList<>();
                count(one + " begin", agent, hosts, nodes, before, insideBefore);
                count(one + " end", agent, hosts, nodes, after, insideAfter);
                List<String> shares = Arrays.asList(one.split(" ", -1)).subList(2, 2 + nodes.size());
                for (int host = 0; host < nodes.size(); host++) {
                    Traffic sent = after.get(host).since(before.get(host));
                    long payload = Math.round(fraction(shares.get(host)) * BYTES) * REPETITIONS;
                    long resent = sent.resentSegments() * MAX_SEGMENT;
                    assertThat(sent.bytes() - sent.packets() * PACKET_HEADERS)
                            .as(one + ": bytes from host " + host + " without headers")
                            .isBetween(
                                    payload - STRAY_BYTES, payload + MAX_FRAMES * FRAME_HEADER + STRAY_BYTES + resent);
                    if (!isFlat(one)) {
                        assertThat(insideAfter.get(host) - insideBefore.get(host))
                                .as(one + ": bytes from rank to rank of host " + host + " by network")
                                .isLessThan(STRAY_BYTES);
                    }
                }
            }
            for (Process process : processes) {
                assertThat(TestAgent.exitCode(process)).as(agent.output(0)).isZero();
            }
        }
    }

    // All ranks stand still when the counters are read.
    private static void count(
            String mark,
            TestAgent agent,
            NetworkHosts hosts,
            List<Integer> nodes,
            List<Traffic> sent,
            List<Long> inside)
            throws Exception {
        int ranks = nodes.stream().mapToInt(Integer::intValue).sum();
        for (int rank = 0; rank < ranks; rank++) {
            agent.awaitOutput(rank, "counted " + mark);
        }
        for (int host = 0; host < nodes.size(); host++) {
            sent.add(hosts.sent(host));
            inside.add(hosts.sentInside(host));
        }
        agent.set("go on after " + mark);
    }

    private static boolean isFlat(String one) {
        return one.startsWith("gather") || one.startsWith("scatter") || one.startsWith("allToAll");
    }

    private static double fraction(String text) {
        List<String> parts = Arrays.asList(text.split("/", -1));
        return Double.parseDouble(parts.getFirst()) / (parts.size() == 1 ? 1 : Double.parseDouble(parts.getLast()));
    }
}
