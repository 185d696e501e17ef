package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every submitted collective has the result of the blocking call, and runs after earlier submissions. */
@Timeout(120)
class AsyncTest {
    private static final int RANKS = 3;

    /** Elements of a block, and of a whole buffer. */
    private static final int COUNT = 5;

    private static final int ALL = RANKS * COUNT;
    private static final long[] COUNTS = {4, 1, 2};
    private static final DataType TYPE = DataType.I32;
    private static final ReduceOp SUM = ReduceOp.SUM;

    /** A call with memory of {@link #ALL} elements each. */
    private interface Called {
        void run(ProcessGroup group, MemorySegment in, MemorySegment out);
    }

    private interface Submitted {
        Work run(ProcessGroup group, MemorySegment in, MemorySegment out);
    }

    private record Form(String name, Called called, Submitted submitted) {}

    private static final List<Form> FORMS = List.of(
            new Form(
                    "broadcast",
                    (group, in, _) -> group.broadcast(in, TYPE, ALL, 1),
                    (group, in, _) -> group.broadcastAsync(in, TYPE, ALL, 1)),
            new Form(
                    "allReduce",
                    (group, in, _) -> group.allReduce(in, TYPE, ALL, SUM),
                    (group, in, _) -> group.allReduceAsync(in, TYPE, ALL, SUM)),
            new Form(
                    "reduce",
                    (group, in, _) -> group.reduce(in, TYPE, ALL, SUM, 1),
                    (group, in, _) -> group.reduceAsync(in, TYPE, ALL, SUM, 1)),
            new Form(
                    "allGather",
                    (group, in, out) -> group.allGather(in, out, TYPE, COUNT),
                    (group, in, out) -> group.allGatherAsync(in, out, TYPE, COUNT)),
            new Form(
                    "allGatherV",
                    (group, in, out) -> group.allGatherV(in, out, TYPE, COUNTS),
                    (group, in, out) -> group.allGatherVAsync(in, out, TYPE, COUNTS)),
            new Form(
                    "reduceScatter",
                    (group, in, out) -> group.reduceScatter(in, out, TYPE, COUNT, SUM),
                    (group, in, out) -> group.reduceScatterAsync(in, out, TYPE, COUNT, SUM)),
            new Form(
                    "reduceScatterV",
                    (group, in, out) -> group.reduceScatterV(in, out, TYPE, SUM, COUNTS),
                    (group, in, out) -> group.reduceScatterVAsync(in, out, TYPE, SUM, COUNTS)),
            new Form(
                    "gather",
                    (group, in, out) -> group.gather(in, out, TYPE, COUNT, 2),
                    (group, in, out) -> group.gatherAsync(in, out, TYPE, COUNT, 2)),
            new Form(
                    "gatherV",
                    (group, in, out) -> group.gatherV(in, out, TYPE, 2, COUNTS),
                    (group, in, out) -> group.gatherVAsync(in, out, TYPE, 2, COUNTS)),
            new Form(
                    "scatter",
                    (group, in, out) -> group.scatter(in, out, TYPE, COUNT, 0),
                    (group, in, out) -> group.scatterAsync(in, out, TYPE, COUNT, 0)),
            new Form(
                    "scatterV",
                    (group, in, out) -> group.scatterV(in, out, TYPE, 0, COUNTS),
                    (group, in, out) -> group.scatterVAsync(in, out, TYPE, 0, COUNTS)),
            new Form(
                    "allToAll",
                    (group, in, out) -> group.allToAll(in, out, TYPE, COUNT),
                    (group, in, out) -> group.allToAllAsync(in, out, TYPE, COUNT)),
            new Form(
                    "allToAllV",
                    (group, in, out) -> group.allToAllV(in, exchanged(group), out, exchanged(group), TYPE),
                    (group, in, out) -> group.allToAllVAsync(in, exchanged(group), out, exchanged(group), TYPE)),
            new Form("barrier", (group, _, _) -> group.barrier(), (group, _, _) -> group.barrierAsync()));

    /** Between any two ranks as many either way. */
    private static long[] exchanged(ProcessGroup group) {
        long[] counts = new long[RANKS];
        Arrays.setAll(counts, peer -> (group.groupRank() + peer) % RANKS);
        return counts;
    }

    @Test
    void everyCollectiveIsListed() {
        List<String> methods = Arrays.stream(ProcessGroup.class.getMethods())
                .map(Method::getName)
                .filter(name -> name.endsWith("Async"))
                .filter(name -> !name.equals("sendAsync") && !name.equals("recvAsync")) // MessagesTest has these.
                .distinct() // BufferTest has the forms for buffers.
                .toList();
        assertThat(FORMS).extracting(form -> form.name() + "Async").containsExactlyInAnyOrderElementsOf(methods);
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void submittedAndCalledGiveTheSameInTheSameOrder(TransportKind transport) {
        LocalWorld.run(LocalWorldOptions.ofSize(RANKS).withTransport(transport), world -> {
            for (Form form : FORMS) {
                assertThat(submit(world.group(), form))
                        .as(form.name() + " on rank " + world.rank())
                        .isEqualTo(call(world.group(), form));
            }
        });
    }

    /** The output of this rank, then the input buffers of all ranks after the call. */
    private static List<String> call(ProcessGroup group, Form form) {
        int[] in = Arrays.copyOfRange(everybodys(), group.groupRank() * ALL, (group.groupRank() + 1) * ALL);
        int[] out = new int[ALL];
        int[] left = new int[RANKS * ALL];
        form.called().run(group, MemorySegment.ofArray(in), MemorySegment.ofArray(out));
        group.allGather(MemorySegment.ofArray(in), MemorySegment.ofArray(left), TYPE, ALL);
        return List.of(Arrays.toString(out), Arrays.toString(left));
    }

    /**
     * Reuses an input buffer: the input arrives just before the call and is overwritten right after it, without a wait
     * in between.
     */
    private static List<String> submit(ProcessGroup group, Form form) {
        MemorySegment in = MemorySegment.ofArray(new int[ALL]);
        int[] out = new int[ALL];
        int[] left = new int[RANKS * ALL];
        List<Work> works = new ArrayList<>();
        works.add(group.scatterAsync(MemorySegment.ofArray(everybodys()), in, TYPE, ALL, 0));
        works.add(form.submitted().run(group, in, MemorySegment.ofArray(out)));
        works.add(group.allGatherAsync(in, MemorySegment.ofArray(left), TYPE, ALL));
        works.add(group.scatterAsync(MemorySegment.ofArray(new int[RANKS * ALL]), in, TYPE, ALL, 0));
        works.getLast().await();
        assertThat(works).as(form.name()).allMatch(Work::isDone);
        assertThat(works).as(form.name()).allMatch(work -> work.exception().isEmpty());
        return List.of(Arrays.toString(out), Arrays.toString(left));
    }

    /** The inputs of all ranks, one behind the other. */
    private static int[] everybodys() {
        int[] inputs = new int[RANKS * ALL];
        Arrays.setAll(inputs, i -> 1 + i * i % 101);
        return inputs;
    }
}
