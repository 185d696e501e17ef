package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.LinearStack;
import io.jrun.train.fsdp.CommunicationSpan.Kind;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.ModelBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** When the collectives of a step begin, and what is whole at that time. */
class FsdpOverlapTest {
    private static final int LAYERS = 4;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** The observations of one rank in its second step. */
    private record Seen(List<CommunicationSpan> spans, ConcurrentMap<String, Long> computed, List<Long> wholeBytes) {
        CommunicationSpan span(String unit, Kind kind, int which) {
            return spans.stream()
                    .filter(span -> span.unit().equals(unit) && span.kind() == kind)
                    .toList()
                    .get(which);
        }
    }

    private static Seen train(FsdpOptions options) {
        List<Seen> seen = new ArrayList<>();
        LocalWorld.run(2, world -> {
            ConcurrentMap<String, Long> computed = new ConcurrentHashMap<>();
            List<Long> whole = new ArrayList<>();
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), options);
            Consumer<ModelBlock> probe = block -> block.surround(forward -> x -> {
                computed.put(block.name(), System.nanoTime());
                whole.add(fsdp.wholeBytes());
                return forward.apply(x);
            });
            LinearStack stack = new LinearStack(LAYERS, 64, probe.andThen(block -> FullyShard.apply(block, fsdp)));
            FullyShard.apply(stack, fsdp);
            for (int i = 0; i < 2; i++) {
                whole.clear();
                try (var step = fsdp.step()) {
                    step.backward(stack.loss());
                    whole.add(fsdp.wholeBytes());
                }
            }
            if (world.rank() == 0) {
                seen.add(new Seen(fsdp.spans(), computed, whole));
            }
        });
        return seen.getFirst();
    }

    @Test
    void theNextUnitIsGatheredWhileAUnitComputes() {
        Seen seen = train(FsdpOptions.DEFAULT);
        for (int i = 0; i + 1 < LAYERS; i++) {
            CommunicationSpan next = seen.span("layer" + (i + 1), Kind.GATHER, 0);
            assertThat(next.launchedNanos()).isLessThan(seen.computed().get("layer" + i));
        }
        // The backward pass: the gather of a unit begins before the reduction of the unit behind it.
        for (int i = LAYERS - 2; i >= 0; i--) {
            assertThat(seen.span("layer" + i, Kind.GATHER, 1).launchedNanos())
                    .isLessThan(seen.span("layer" + (i + 1), Kind.REDUCE, 0).launchedNanos());
        }
        // A reduction ends while the next unit's backward pass runs, or after it.
        assertThat(seen.span("layer1", Kind.REDUCE, 0).launchedNanos())
                .isLessThan(seen.span("layer0", Kind.REDUCE, 0).launchedNanos());
    }

    @Test
    void withoutPrefetchAUnitIsGatheredWhenItComputes() {
        Seen seen = train(FsdpOptions.DEFAULT.withPrefetch(0));
        for (int i = 1; i + 1 < LAYERS; i++) {
            assertThat(seen.span("layer" + (i + 1), Kind.GATHER, 0).launchedNanos())
                    .isGreaterThan(seen.computed().get("layer" + i));
        }
    }

    @Test
    void aUnitIsFreedAfterItsUse() {
        long unit = 4 * 64 * 64;
        Seen resharded = train(FsdpOptions.DEFAULT);
        assertThat(resharded.wholeBytes()).containsExactly(unit, unit, unit, unit, 0L);
        assertThat(resharded.spans().stream().filter(span -> span.kind() == Kind.GATHER))
                .hasSize(2 * LAYERS);
        Seen kept = train(FsdpOptions.DEFAULT.withReshardAfterForward(FsdpOptions.KEEP));
        assertThat(kept.wholeBytes()).containsExactly(unit, 2 * unit, 3 * unit, 4 * unit, 0L);
        assertThat(kept.spans().stream().filter(span -> span.kind() == Kind.GATHER))
                .hasSize(LAYERS);
    }
}
