package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Each feature of a group beside its plain operations, run and checked once: objects, options of a call, messages from
 * any rank.
 */
final class EveryOption {
    private static final int COUNT = 5000;

    private final ProcessGroup group;
    private final int rank;
    private final int size;

    /** Values of 1 for rank 0, of 2 for rank 1... */
    private final float sum;

    private EveryOption(ProcessGroup group) {
        this.group = group;
        this.rank = group.groupRank();
        this.size = group.size();
        this.sum = size * (size + 1) / 2f;
    }

    static void run(ProcessGroup group) {
        EveryOption options = new EveryOption(group);
        options.objects();
        options.coalesced();
        options.urgent();
        options.scaled();
        options.compressed();
        options.anySource();
    }

    private static MemorySegment filled(int count, float value) {
        float[] floats = new float[count];
        Arrays.fill(floats, value);
        return MemorySegment.ofArray(floats);
    }

    private static void assertFilled(MemorySegment memory, float value, String what) {
        MemorySegment expected = filled((int) (memory.byteSize() / Float.BYTES), value);
        assertThat(memory.mismatch(expected))
                .as("first byte that differs in " + what)
                .isEqualTo(-1);
    }

    private void objects() {
        List<String> words = IntStream.range(0, size)
                .mapToObj(r -> ("word" + r).repeat(r * COUNT))
                .toList();
        assertThat(group.objects().allGather(words.get(rank), Codec.STRING)).isEqualTo(words);
        assertThat(group.objects().broadcast(rank == size - 1 ? words.getLast() : null, size - 1, Codec.STRING))
                .isEqualTo(words.getLast());
    }

    private void coalesced() {
        List<MemorySegment> buffers =
                IntStream.of(1, 0, COUNT).mapToObj(n -> filled(n, rank + 1)).toList();
        group.coalesced().allReduce(buffers, DataType.F32, ReduceOp.SUM);
        buffers.forEach(buffer -> assertFilled(buffer, sum, "coalesced"));
    }

    /** Rank 0 calls it while an operation is pending that the others call only afterwards. */
    private void urgent() {
        MemorySegment bulk = filled(COUNT, rank + 1);
        MemorySegment small = filled(1, rank + 1);
        if (rank == 0) {
            Work pending = group.allReduceAsync(bulk, DataType.F32, COUNT, ReduceOp.SUM);
            group.urgent().allReduce(small, DataType.F32, 1, ReduceOp.SUM);
            pending.await();
        } else {
            group.urgent().allReduce(small, DataType.F32, 1, ReduceOp.SUM);
            group.allReduce(bulk, DataType.F32, COUNT, ReduceOp.SUM);
        }
        assertFilled(small, sum, "urgent");
        assertFilled(bulk, sum, "what an urgent operation overtook");
    }

    private void scaled() {
        MemorySegment buffer = filled(COUNT, 4);
        group.scaled((rank + 1) / 4.0).allReduce(buffer, DataType.F32, COUNT, ReduceOp.SUM);
        assertFilled(buffer, sum, "scaled");
    }

    /** A value with more bits than the type on the wire has. */
    private void compressed() {
        MemorySegment buffer = filled(COUNT, 1 + 0x1p-12f);
        group.compressed(DataType.BF16).allReduce(buffer, DataType.F32, COUNT, ReduceOp.SUM);
        assertFilled(buffer, size, "compressed");
    }

    private void anySource() {
        Messages messages = group.messages();
        if (rank != 0) {
            messages.send(filled(1, rank), DataType.F32, 1, 0, 3);
            return;
        }
        Set<Integer> sources = new TreeSet<>();
        for (int other = 1; other < size; other++) {
            MemorySegment buffer = filled(1, -1);
            int source = messages.recv(buffer, DataType.F32, 1, Messages.ANY_SOURCE, 3)
                    .source();
            assertThat(buffer.get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(source);
            sources.add(source);
        }
        assertThat(sources).isEqualTo(IntStream.range(1, size).boxed().collect(Collectors.toSet()));
    }
}
