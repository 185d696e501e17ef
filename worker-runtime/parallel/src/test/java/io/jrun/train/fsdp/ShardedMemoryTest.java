package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.TransportKind;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.DrawnCases;
import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.LinearStack;
import io.jrun.train.LiveMemory;
import io.jrun.train.StackTraining;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.ModelBlock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Bytes of the allocator, and bytes that the kernel has sent: the formulas of Rajbhandari et al., arXiv:1910.02054. */
class ShardedMemoryTest {
    static final int RANKS = 4;
    static final int LAYERS = 4;
    static final long WIDTH = 1024;
    static final long PARAMETERS = LAYERS * WIDTH * WIDTH;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /**
     * One process for each kind: the allocator still holds what earlier trainings have left to the collector. The JVM's
     * own compiler allocates and frees some megabytes in the meantime.
     */
    @ParameterizedTest
    @MethodSource("kinds")
    void theStatesTakeTheBytesOfTheFormula(StackTraining kind) throws IOException, InterruptedException {
        String printed = JavaProcess.start(
                        folder, StatesMain.class, List.of("-Xmx256m"), Map.of("OMP_NUM_THREADS", "1"), kind.name())
                .join();
        Matcher line = Pattern.compile("states of (\\d+) bytes").matcher(printed);
        assertThat(line.find()).as(printed).isTrue();
        double perParameter = Long.parseLong(line.group(1)) / (double) RANKS / PARAMETERS;
        double expected = kind.bytesPerParameter(RANKS);
        System.out.printf(
                "%s on %d ranks: %.3f bytes a parameter, formula %.3f%n", kind, RANKS, perParameter, expected);
        assertThat(perParameter).isCloseTo(expected, Percentage.withPercentage(10));
    }

    /** One of the kinds in a run; all of them in a long one. */
    static List<StackTraining> kinds() {
        return DrawnCases.of(List.of(StackTraining.values()), 1);
    }

    /** The kernel counts what all ranks of this process write to sockets. */
    @ParameterizedTest
    @MethodSource("kinds")
    void aStepSendsTheBytesOfTheFormula(StackTraining kind) {
        assertSent(
                kind.toString(),
                false,
                (world, measure) -> kind.train(world, LAYERS, WIDTH, 3, measure),
                kind.volumes() * (RANKS - 1.0) / RANKS);
    }

    /** Two copies of two parts: a deterministic group adds the gradients by one all-reduce over all ranks. */
    @ParameterizedTest
    @CsvSource({"false, 2.0", "true, 2.5"})
    void copiesOfPartsSendTheBytesOfTheFormula(boolean isDeterministic, double volumes) {
        assertSent("hybrid", isDeterministic, ShardedMemoryTest::trainCopies, volumes);
    }

    private static void trainCopies(World world, Runnable measure) {
        try (DeviceMesh mesh = DeviceMesh.of(world, "dp", 2, "shard", 2)) {
            var fsdp = new FullyShardedDataParallel(mesh.axis("shard"), mesh.axis("dp"), FsdpOptions.DEFAULT);
            LinearStack stack = new LinearStack(LAYERS, WIDTH, block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(stack, fsdp);
            step(fsdp, stack);
            measure.run();
            step(fsdp, stack);
            measure.run();
        }
    }

    private static void step(FullyShardedDataParallel fsdp, LinearStack stack) {
        try (var step = fsdp.step()) {
            step.backward(stack.loss());
        }
    }

    /** Compares the bytes between the two measurements with a formula, in parts of the bytes of all parameters. */
    private static void assertSent(
            String kind, boolean isDeterministic, BiConsumer<World, Runnable> training, double volumes) {
        AtomicLong sent = new AtomicLong();
        LocalWorld.run(
                LocalWorldOptions.ofSize(RANKS).withTransport(TransportKind.TCP).withDeterministic(isDeterministic),
                world -> training.accept(world, () -> {
                    world.group().barrier();
                    if (world.rank() == 0) {
                        sent.set(written() - sent.get());
                    }
                    world.group().barrier();
                }));
        double formula = volumes * 4.0 * PARAMETERS;
        System.out.printf(
                "%s on %d ranks: %.0f bytes a rank and step, formula %.0f%n",
                kind, RANKS, sent.get() / (double) RANKS, formula);
        assertThat(sent.get() / (double) RANKS).isCloseTo(formula, Percentage.withPercentage(2));
    }

    private static long written() {
        try {
            return Files.readAllLines(Path.of("/proc/self/io")).stream()
                    .filter(line -> line.startsWith("wchar: "))
                    .mapToLong(line -> Long.parseLong(line.substring("wchar: ".length())))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Each rank holds its part of the earlier units, and one whole unit. */
    @Test
    void noRankHoldsTheWholeModelWhileItIsBuiltOrComputes() {
        int layers = 12;
        long unit = 4 * WIDTH * WIDTH;
        AtomicLong peak = new AtomicLong();
        LocalWorld.run(RANKS, world -> StackTraining.FSDP.train(world, 2, 64, 2, () -> {}));
        LiveMemory.freeUnreachable();
        long before = LiveMemory.bytes() + LiveMemory.sharedBytes();
        Runnable measure =
                () -> peak.accumulateAndGet(LiveMemory.bytes() + LiveMemory.sharedBytes() - before, Math::max);
        Consumer<ModelBlock> probe = block -> {
            measure.run();
            block.surround(forward -> x -> {
                measure.run();
                return forward.apply(x);
            });
        };
        LocalWorld.run(RANKS, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            LinearStack stack = new LinearStack(layers, WIDTH, probe.andThen(block -> FullyShard.apply(block, fsdp)));
            FullyShard.apply(stack, fsdp);
            try (var step = fsdp.step()) {
                step.backward(stack.loss());
                measure.run();
            }
        });
        // Shards and their gradients, two whole units of each rank, and the gradients of a unit that travel.
        double units = peak.get() / (double) unit / RANKS;
        System.out.printf("peak of a model of %d units on %d ranks: %.2f units a rank%n", layers, RANKS, units);
        assertThat(units).isLessThan(2.0 * layers / RANKS + 5).isLessThan(layers);
    }
}
