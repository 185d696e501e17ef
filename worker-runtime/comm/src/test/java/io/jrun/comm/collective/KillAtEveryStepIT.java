package io.jrun.comm.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.PausePoint;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * In every algorithm, one rank dies before each of its sends and receives in turn. Every other rank ends with the exact
 * result or with the one cause. Ranks are threads, and their links are queues, which still deliver the earlier messages
 * of a dead rank.
 */
@Timeout(120)
class KillAtEveryStepIT {
    private static final int COUNT = 41;
    private static final int BYTES = COUNT * Float.BYTES;

    /** The shared state of the ranks of one run: messages under way, and the reason why no more messages come. */
    private static final class Wires {
        private final Map<List<Integer>, ArrayDeque<byte[]>> queues = new HashMap<>();
        private @Nullable CommException cause;

        synchronized void put(int from, int to, MemorySegment data) {
            queues.computeIfAbsent(List.of(from, to), _ -> new ArrayDeque<>()).add(data.toArray(ValueLayout.JAVA_BYTE));
            notifyAll();
        }

        synchronized byte[] take(int from, int to) {
            try {
                ArrayDeque<byte[]> queue = queues.computeIfAbsent(List.of(from, to), _ -> new ArrayDeque<>());
                while (queue.isEmpty()) {
                    if (cause != null) {
                        throw cause;
                    }
                    wait();
                }
                return queue.remove();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        synchronized void fail(CommException failure) {
            cause = failure;
            notifyAll();
        }
    }

    /** The end of a rank at its last step. */
    private static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    private record Sent() implements PeerLinks.PeerTransfer {
        @Override
        public boolean isDone() {
            return true;
        }
    }

    private static final class Incoming implements PeerLinks.PeerTransfer {
        private final int peer;
        private final MemorySegment into;
        private boolean done;

        Incoming(int peer, MemorySegment into) {
            this.peer = peer;
            this.into = into;
        }

        @Override
        public boolean isDone() {
            return done;
        }
    }

    /** One rank's links, which end at its last step. */
    private static final class MortalLinks implements PeerLinks {
        private final Wires wires;
        private final int rank;
        private final int size;
        private final Map<Integer, ArrayDeque<Incoming>> posted = new HashMap<>();
        private MemorySegment scratch = MemorySegment.NULL;
        private int stepsLeft;

        MortalLinks(Wires wires, int rank, int size, int steps) {
            this.wires = wires;
            this.rank = rank;
            this.size = size;
            this.stepsLeft = steps;
        }

        private void step() {
            if (stepsLeft-- == 0) {
                throw new Killed();
            }
        }

        @Override
        public int rank() {
            return rank;
        }

        @Override
        public int size() {
            return size;
        }

        @Override
        public PeerTransfer send(int peer, MemorySegment data) {
            step();
            wires.put(rank, peer, data);
            return new Sent();
        }

        @Override
        public PeerTransfer receive(int peer, MemorySegment into) {
            step();
            Incoming incoming = new Incoming(peer, into);
            posted.computeIfAbsent(peer, _ -> new ArrayDeque<>()).add(incoming);
            return incoming;
        }

        @Override
        public void await(PeerTransfer transfer) {
            while (transfer instanceof Incoming incoming && !incoming.isDone()) {
                Incoming first =
                        posted.getOrDefault(incoming.peer, new ArrayDeque<>()).remove();
                byte[] message = wires.take(first.peer, rank);
                assertThat(message).hasSize((int) first.into.byteSize());
                first.into.copyFrom(MemorySegment.ofArray(message));
                first.done = true;
            }
        }

        @Override
        public MemorySegment scratch(long bytes) {
            if (scratch.byteSize() < bytes) {
                scratch = Arena.ofAuto().allocate(bytes, 64);
            }
            return scratch;
        }
    }

    /** The call of each rank, and the expected result. */
    private record Part(OpKind kind, int rank, int size, int root, MemorySegment input, MemorySegment output) {
        static Part of(OpKind kind, int rank, int size, int root) {
            MemorySegment input = Arena.ofAuto().allocate((long) BYTES * size, 64);
            for (int at = 0; at < COUNT * size; at++) {
                input.setAtIndex(ValueLayout.JAVA_FLOAT, at, value(rank, at));
            }
            boolean isInPlace = kind == OpKind.ALL_REDUCE || kind == OpKind.REDUCE || kind == OpKind.BROADCAST;
            MemorySegment output = isInPlace ? input : Arena.ofAuto().allocate((long) BYTES * size, 64);
            return new Part(kind, rank, size, root, input, output);
        }

        Call call() {
            Deadline deadline = Deadline.after(Duration.ofMinutes(1));
            int count = kind == OpKind.BARRIER ? 0 : COUNT;
            return new Call(0, kind, DataType.F32, ReduceOp.SUM, count, root, input, output, deadline);
        }

        void check(String what) {
            int length = switch (kind) {
                case ALL_REDUCE, BROADCAST, REDUCE_SCATTER, SCATTER -> COUNT;
                case REDUCE -> rank == root ? COUNT : 0;
                case GATHER -> rank == root ? COUNT * size : 0;
                case ALL_GATHER, ALL_TO_ALL -> COUNT * size;
                default -> 0;
            };
            for (int at = 0; at < length; at++) {
                float expected = expected(at);
                if (output.getAtIndex(ValueLayout.JAVA_FLOAT, at) != expected) {
                    assertThat(output.getAtIndex(ValueLayout.JAVA_FLOAT, at))
                            .as(what + ": element " + at + " on rank " + rank)
                            .isEqualTo(expected);
                }
            }
        }

        private float expected(int at) {
            return switch (kind) {
                case ALL_REDUCE, REDUCE -> sum(at);
                case REDUCE_SCATTER -> sum(rank * COUNT + at);
                case BROADCAST -> value(root, at);
                case SCATTER -> value(root, rank * COUNT + at);
                case ALL_TO_ALL -> value(at / COUNT, rank * COUNT + at % COUNT);
                default -> value(at / COUNT, at % COUNT);
            };
        }

        private float sum(int at) {
            return IntStream.range(0, size).map(each -> (int) value(each, at)).sum();
        }

        private static float value(int rank, int at) {
            return rank * 1000 + at;
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = OpKind.class,
            names = {"SEND", "RECV", "ALLOCATE", "ALLOCATE_SHARED"},
            mode = EnumSource.Mode.EXCLUDE)
    void everyOtherEndsWithTheResultOrTheCause(OpKind kind) throws Exception {
        for (int size = 2; size <= 5; size++) {
            for (Algorithm algorithm : algorithms(kind, size)) {
                for (int victim = 0; victim < size; victim++) {
                    int steps = 0;
                    while (diesAfter(steps, victim, kind, size, algorithm)) {
                        steps++;
                    }
                    assertThat(steps).as(kind + " by " + algorithm).isPositive();
                }
            }
        }
    }

    /** Returns the selector's choice for the kind under every forced name. */
    private static Set<Algorithm> algorithms(OpKind kind, int size) {
        Set<Algorithm> chosen = EnumSet.noneOf(Algorithm.class);
        for (Algorithm forced : Algorithm.values()) {
            chosen.add(AlgorithmSelector.BY_SIZE.forcing(forced.label()).choose(kind, BYTES, size, false));
        }
        return chosen;
    }

    /** Whether the victim had that many steps to do; if not, the operation succeeds everywhere. */
    private static boolean diesAfter(int steps, int victim, OpKind kind, int size, Algorithm algorithm)
            throws Exception {
        String what =
                kind + " by " + algorithm + " of " + size + ", rank " + victim + " dead after " + steps + " steps";
        CommException cause = new CommException(ErrorCode.PEER_LOST, what);
        Wires wires = new Wires();
        List<CompletableFuture<@Nullable Throwable>> ends = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            Part part = Part.of(kind, rank, size, size - 1);
            MortalLinks links = new MortalLinks(wires, rank, size, rank == victim ? steps : Integer.MAX_VALUE);
            CompletableFuture<@Nullable Throwable> end = new CompletableFuture<>();
            ends.add(end);
            Thread.ofVirtual().start(() -> end.complete(end(part, links, algorithm, wires, cause, what)));
        }
        boolean died = ends.get(victim).get(60, TimeUnit.SECONDS) instanceof Killed;
        for (int rank = 0; rank < size; rank++) {
            Throwable end = ends.get(rank).get(60, TimeUnit.SECONDS);
            if (rank != victim) {
                assertThat(end == null || (died && end.equals(cause)))
                        .as(what + ": rank " + rank + " ended with " + end)
                        .isTrue();
            }
        }
        return died;
    }

    private static @Nullable Throwable end(
            Part part, MortalLinks links, Algorithm algorithm, Wires wires, CommException cause, String what) {
        try (Arena arena = Arena.ofShared()) {
            Call call = part.call();
            KernelReduction arithmetic = new KernelReduction(arena, PausePoint.NONE);
            CollectiveAlgorithms.run(links, call, algorithm, arithmetic.bind(call, part.size()));
            part.check(what);
            return null;
        } catch (Killed killed) {
            wires.fail(cause);
            return killed;
        } catch (Throwable failure) {
            return failure;
        }
    }
}
