package io.jrun.comm;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.comm.SameCauseIT.Collective;
import io.jrun.comm.WorkerPrograms.OneOperation;
import io.jrun.comm.backend.OpKind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process is killed in a named phase of every operation, on one node and on several. The other processes end, report
 * one cause that names the process, and leave no resources behind. {@code -Djrun.soak=true} runs every operation in
 * every phase on every data plane; otherwise a sample.
 */
@Timeout(120)
class PhaseKillsIT {
    private static final String COUNT = "120000";
    private static final List<String> PHASES = List.of(
            "enter", "step", "step@2", "step@4", "step@7", "reduce", "reduce@2", "map", "mapped", "exit", "exit@2");

    private static final Plane NODE = new Plane(TransportKind.SHM, List.of(3));
    private static final Plane UNEVEN_NODES = new Plane(TransportKind.AUTO, List.of(2, 1));
    private static final Plane EVEN_NODES = new Plane(TransportKind.AUTO, List.of(2, 2));

    /** The same, the network busy beside the node. */
    private static final Plane PIECES = new Plane(TransportKind.AUTO, List.of(2, 2), "32768");

    private static final Plane TCP = new Plane(TransportKind.TCP, List.of(3));

    /** The transport of the ranks, and the number of ranks of each node. */
    record Plane(TransportKind transport, List<Integer> nodes, String pieceBytes) {
        Plane(TransportKind transport, List<Integer> nodes) {
            this(transport, nodes, "");
        }

        int size() {
            return nodes.stream().mapToInt(Integer::intValue).sum();
        }

        TestAgent agent() throws IOException {
            TestAgent agent = nodes.size() == 1 ? new TestAgent(size(), transport) : new TestAgent(nodes);
            if (!pieceBytes.isEmpty()) {
                agent.setVariable("JRUN_PIECE_BYTES", pieceBytes);
            }
            return agent;
        }

        @Override
        public String toString() {
            return transport + " " + nodes + (pieceBytes.isEmpty() ? "" : " in pieces of " + pieceBytes);
        }
    }

    /** The call in which a rank is killed: the first call, which maps its memory, or a later call. */
    record Case(Plane plane, String program, String operation, String phase, int victim) {
        static Case of(Plane plane, Collective collective, String phase, int victim) {
            return new Case(
                    plane, collective.name(), OpKind.valueOf(collective.name()).methodName(), phase, victim);
        }

        static Case of(Plane plane, OpKind message, String phase, int victim) {
            return new Case(plane, OneOperation.MESSAGES, message.methodName(), phase, victim);
        }

        String place() {
            return operation + '#' + (phase.startsWith("map") ? 1 : 2) + ':' + phase;
        }

        @Override
        public String toString() {
            return place() + " of rank " + victim + ", " + plane;
        }
    }

    static Stream<Case> cases() {
        return Boolean.getBoolean("jrun.soak") ? all() : Seeds.sample(sample(), 4).stream();
    }

    private static List<Case> sample() {
        return List.of(
                Case.of(NODE, Collective.BROADCAST, "step", 2),
                Case.of(NODE, Collective.REDUCE, "reduce", 1),
                Case.of(NODE, Collective.SCATTER, "mapped", 0),
                Case.of(NODE, Collective.ALL_TO_ALL, "step", 1),
                Case.of(NODE, OpKind.SEND, "step@2", 1),
                Case.of(UNEVEN_NODES, Collective.ALL_REDUCE, "step@2", 1),
                Case.of(UNEVEN_NODES, Collective.GATHER, "step@2", 2),
                Case.of(UNEVEN_NODES, Collective.BARRIER, "enter", 0),
                Case.of(UNEVEN_NODES, OpKind.RECV, "enter", 2),
                Case.of(EVEN_NODES, Collective.ALL_GATHER, "step@2", 3),
                Case.of(EVEN_NODES, Collective.REDUCE_SCATTER, "reduce", 2),
                Case.of(PIECES, Collective.ALL_REDUCE, "step@9", 1),
                Case.of(PIECES, Collective.BROADCAST, "step@7", 0),
                Case.of(PIECES, Collective.REDUCE, "reduce@4", 3),
                Case.of(PIECES, Collective.ALL_GATHER, "step@7", 2),
                Case.of(PIECES, Collective.REDUCE_SCATTER, "step@7", 0));
    }

    private static Stream<Case> all() {
        List<Case> all = new ArrayList<>();
        for (Plane plane : List.of(NODE, UNEVEN_NODES, EVEN_NODES, PIECES, TCP)) {
            for (String phase : PHASES) {
                for (Collective collective : Collective.values()) {
                    all.add(Case.of(plane, collective, phase, all.size() % plane.size()));
                }
                for (OpKind message : List.of(OpKind.SEND, OpKind.RECV)) {
                    all.add(Case.of(plane, message, phase, all.size() % plane.size()));
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("cases")
    void theOthersReportOneCause(Case one) throws Exception {
        String runId;
        try (TestAgent agent = one.plane().agent()) {
            runId = agent.runId();
            String pause = "-Djrun.test.pauseAt=" + one.victim() + ':' + one.place();
            List<Process> processes = agent.start(OneOperation.class, List.of(pause), one.program(), COUNT);
            Process victim = processes.get(one.victim());
            String marker = "jrun-test: paused at " + one.place();
            TestAgent.await(
                    "rank " + one.victim() + " writes: " + marker,
                    () -> !victim.isAlive() || agent.hasWritten(one.victim(), marker));
            assumeTrue(
                    !Boolean.getBoolean("jrun.soak") || agent.hasWritten(one.victim(), marker),
                    "rank " + one.victim() + " has no such phase there");
            victim.destroyForcibly();
            Survivors.assertOneCause(agent, processes, one.victim(), "testhost\\d?");
        }
        Survivors.assertNothingIsLeft(runId);
    }
}
