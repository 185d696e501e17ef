package io.jrun.train.offload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.LinearStack;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.fsdp.CommunicationSpan;
import io.jrun.train.fsdp.CommunicationSpan.Kind;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Parameters in files are read, and gradients written, while other units compute. */
class ReadAheadTest {
    private static final int LAYERS = 6;
    private static final long WIDTH = 256;
    private static final long SHARD_BYTES = 4 * WIDTH * WIDTH / 2;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private OffloadedOptimizer optimizer(World world) {
        return new OffloadedOptimizer(
                folder.resolve("rank-" + world.rank()),
                world.group(),
                FusedAdamW.DEFAULT,
                ParameterGroup.all(0),
                LearningRateSchedule.constant(1e-3));
    }

    /** Calls {@code forward} inside the forward pass of each layer, and {@code backward} inside the backward pass. */
    private static Consumer<ModelBlock> probe(IntConsumer forward, IntConsumer backward) {
        return block -> {
            int layer = block.number();
            AutogradFunction boundary = new AutogradFunction() {
                @Override
                public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
                    return inputs;
                }

                @Override
                public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
                    backward.accept(layer);
                    return gradients;
                }
            };
            block.surround(compute -> x -> {
                forward.accept(layer);
                return AutogradBridge.instance()
                        .apply(boundary, List.of(compute.apply(x)))
                        .getFirst();
            });
        };
    }

    /**
     * A layer computes until the layer behind the prefetched layers has been read. Each step reads each layer twice:
     * for the forward and for the backward pass.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void theNextUnitIsReadWhileAUnitComputes(int prefetch) {
        int distance = 1 + prefetch;
        LocalWorld.run(2, world -> {
            try (OffloadedOptimizer optimizer = optimizer(world)) {
                WatchedOffload watched = new WatchedOffload(optimizer);
                var fsdp = new FullyShardedDataParallel(
                        new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT.withPrefetch(prefetch), watched);
                int[] step = {0};
                LinearStack stack = new LinearStack(
                        LAYERS,
                        WIDTH,
                        probe(
                                        layer -> {
                                            if (layer + distance < LAYERS) {
                                                watched.assertReadAhead("layer" + (layer + distance), 2 * step[0]);
                                            }
                                        },
                                        layer -> {
                                            if (layer - distance >= 0) {
                                                watched.assertReadAhead("layer" + (layer - distance), 2 * step[0] + 1);
                                            }
                                        })
                                .andThen(block -> FullyShard.apply(block, fsdp)));
                FullyShard.apply(stack, fsdp);
                for (; step[0] < 3; step[0]++) {
                    long transferred = transferredByThisThread();
                    try (var scope = fsdp.step()) {
                        scope.backward(stack.loss());
                        transferred = transferredByThisThread() - transferred;
                        optimizer.step();
                    }
                    if (step[0] > 0) { // the first step loads classes
                        assertThat(transferred)
                                .as("bytes of the training thread")
                                .isLessThan(SHARD_BYTES);
                    }
                    assertThat(fsdp.spans())
                            .extracting(CommunicationSpan::kind)
                            .filteredOn(kind -> !kind.isCollective())
                            .hasSize(3 * LAYERS)
                            .filteredOn(kind -> kind == Kind.WRITE)
                            .hasSize(LAYERS);
                }
            }
        });
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .noneMatch(name -> name.startsWith("jrun-offload"));
    }

    /** The bytes that this thread has read and written by itself. */
    private static long transferredByThisThread() {
        try {
            return Files.readAllLines(Path.of("/proc/thread-self/io")).stream()
                    .filter(line -> line.startsWith("rchar: ") || line.startsWith("wchar: "))
                    .mapToLong(line -> Long.parseLong(line.substring("rchar: ".length())))
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A forward pass reads its last two layers for a backward pass. Without one, a step changes the values that were read. */
    @Test
    void aStepAfterAReadIsSeenByTheNextPass() {
        LocalWorld.run(2, world -> {
            try (OffloadedOptimizer optimizer = optimizer(world)) {
                var fsdp = new FullyShardedDataParallel(
                        new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT, new WatchedOffload(optimizer));
                LinearStack stack = new LinearStack(2, WIDTH, block -> FullyShard.apply(block, fsdp));
                FullyShard.apply(stack, fsdp);
                double before;
                double after;
                try (var scope = fsdp.step()) {
                    scope.backward(stack.loss());
                    before = stack.loss().item_double();
                    optimizer.step();
                    after = stack.loss().item_double();
                }
                try (var _ = fsdp.step()) {
                    assertThat(stack.loss().item_double()).isEqualTo(after).isNotEqualTo(before);
                }
            }
        });
    }

    /** The second pass reads the gradients of the first pass while its own gradients travel. */
    @Test
    void gradientsOfTwoPassesAddUpInTheFiles() {
        LocalWorld.run(2, world -> {
            try (OffloadedOptimizer optimizer = optimizer(world)) {
                var fsdp = new FullyShardedDataParallel(
                        new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT, new WatchedOffload(optimizer));
                LinearStack stack = new LinearStack(LAYERS, WIDTH, block -> FullyShard.apply(block, fsdp));
                FullyShard.apply(stack, fsdp);
                try (var scope = fsdp.step()) {
                    scope.backward(stack.loss());
                    double once = Gradients.norm(fsdp.parameters().values()).value();
                    scope.backward(stack.loss());
                    assertThat(Gradients.norm(fsdp.parameters().values()).value())
                            .isEqualTo(2 * once)
                            .isPositive();
                }
            }
        });
    }

    @Test
    void aFileThatCannotBeReadFailsTheStepWithItsUnit() {
        LocalWorld.run(2, world -> {
            try (OffloadedOptimizer optimizer = optimizer(world)) {
                var fsdp = new FullyShardedDataParallel(
                        new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT, optimizer);
                LinearStack stack = new LinearStack(LAYERS, WIDTH, block -> FullyShard.apply(block, fsdp));
                FullyShard.apply(stack, fsdp);
                world.group().barrier();
                if (world.rank() == 1) {
                    truncate(folder.resolve("rank-1/unit-3-of-2-ranks-" + SHARD_BYTES + "-bytes"));
                }
                try (var _ = fsdp.step()) {
                    var failed = assertThatThrownBy(stack::loss);
                    if (world.rank() == 1) {
                        failed.isInstanceOf(OffloadException.class)
                                .hasMessageContaining("unit 'layer3': the read of parameters failed: cannot read")
                                .hasMessageContaining("rank-1/unit-3-of-2-ranks")
                                .hasMessageContaining("the file ends at byte 100")
                                .hasMessageContaining("start the job again");
                    } else {
                        failed.hasMessageContaining("rank 1: a pass failed").hasMessageContaining("unit 'layer3'");
                    }
                }
            }
        });
    }

    private static void truncate(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(100);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aReadThatDoesNotEndHasADeadline() throws InterruptedException {
        CountDownLatch disk = new CountDownLatch(1);
        OffloadedUnit unit =
                new OffloadedUnit("layer3", new UnitFile(folder.resolve("unit-3"), 64), 64, 1, torch.ScalarType.Float);
        FileThreads threads = new FileThreads(Duration.ofMillis(50));
        var read = threads.read(unit, "the read of parameters", () -> await(disk));
        assertThatThrownBy(read::await)
                .isInstanceOf(OffloadException.class)
                .hasMessageContaining("unit 'layer3': the read of parameters in " + folder.resolve("unit-3"))
                .hasMessageContaining("has not ended within PT0.05S, the timeout of the process group");
        assertThatThrownBy(threads::close).hasMessageContaining("has not ended within PT0.05S");
        disk.countDown();
        unit.close();
    }

    private static boolean await(CountDownLatch disk) {
        try {
            return disk.await(1, TimeUnit.MINUTES);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
