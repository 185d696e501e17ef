package io.jrun.train.offload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.DrawnCases;
import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.LinearStack;
import io.jrun.train.LiveMemory;
import io.jrun.train.ShardedTraining;
import io.jrun.train.UnevenNet;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Training with states in files: the same bits as in memory, little memory, and a kill at any time. */
class OffloadedOptimizerTest {
    @TempDir
    private Path folder;

    @Test
    void theBitsAreThoseOfTrainingInMemory() {
        for (int ranks : DrawnCases.of(List.of(2, 3), 1)) {
            Map<String, float[]> expected = ShardedTraining.run(
                            ranks, world -> ShardedTraining.fsdp(world, FsdpOptions.DEFAULT, _ -> {}, 1))
                    .getFirst();
            Path files = folder.resolve("of-" + ranks);
            assertThat(ShardedTraining.run(
                            ranks, world -> ShardedTraining.offloaded(world, files, ShardedTraining.STEPS)))
                    .allSatisfy(
                            rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
        }
    }

    /** Weights decay, so an update of a frozen weight would change the weight. */
    @Test
    void frozenParametersDoNotChange() {
        Map<String, float[]> expected = ShardedTraining.run(
                        2, world -> ShardedTraining.fsdp(world, FsdpOptions.DEFAULT, ShardedTraining.FROZEN_WEIGHT, 1))
                .getFirst();
        assertThat(ShardedTraining.run(
                        2,
                        world -> ShardedTraining.offloaded(
                                world, folder, ShardedTraining.STEPS, ShardedTraining.FROZEN_WEIGHT)))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
    }

    @Test
    void folderOfAnotherNumberOfRanksIsRefused() {
        ShardedTraining.run(2, world -> ShardedTraining.offloaded(world, folder, ShardedTraining.STEPS));
        assertThatThrownBy(() -> ShardedTraining.run(
                        3, world -> ShardedTraining.offloaded(world, folder, ShardedTraining.STEPS)))
                .hasMessageContaining("Use the number of ranks that wrote the folders");
        assertThatThrownBy(() -> ShardedTraining.run(
                        1, world -> ShardedTraining.offloaded(world, folder, ShardedTraining.STEPS)))
                .hasMessageContaining(
                        "another number of ranks, another model or another type of parameters wrote the folder");
    }

    @Test
    void parametersOfFewerBitsAreRefused() {
        Consumer<ModelBlock> narrow = block -> block.module().to(torch.ScalarType.BFloat16, false);
        assertThatThrownBy(() -> ShardedTraining.run(1, world -> ShardedTraining.offloaded(world, folder, 1, narrow)))
                .hasStackTraceContaining("are of BFloat16; offloaded parameters are of float32 or float64");
    }

    private static final int RANKS = 2;
    private static final int LAYERS =
            64; // The memory of the JIT compilers is small beside the states of so many layers.
    private static final long WIDTH = 512;

    /** 16 bytes a parameter, of which a rank may have a quarter of its share in memory. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aModelOfFourTimesTheMemoryTrainsWithTheSameBits(boolean isInPass) {
        Libtorch.setThreads(1);
        AtomicReferenceArray<Integer> bits = new AtomicReferenceArray<>(2);
        LocalWorld.run(LocalWorldOptions.ofSize(RANKS).withDeterministic(true), world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            LinearStack stack = stack(block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(stack, fsdp);
            try (FlatOptimizer optimizer = new FlatOptimizer(
                    fsdp.parameters(),
                    FusedAdamW.DEFAULT,
                    ParameterGroup.all(0),
                    LearningRateSchedule.constant(1e-3),
                    fsdp.gradientMemory())) {
                for (int step = 0; step < 2; step++) {
                    try (var scope = fsdp.step()) {
                        optimizer.zeroGradients();
                        scope.backward(stack.loss());
                        optimizer.step();
                    }
                }
                bits.set(0, bits(fsdp));
            }
        });
        long allowed = 16L * LAYERS * WIDTH * WIDTH / 4;
        AtomicLong peak = new AtomicLong();
        LiveMemory.freeUnreachable();
        long before = LiveMemory.bytes();
        LocalWorld.run(LocalWorldOptions.ofSize(RANKS).withDeterministic(true), world -> {
            try (OffloadedOptimizer optimizer = new OffloadedOptimizer(
                    folder.resolve("rank-" + world.rank()),
                    world.group(),
                    FusedAdamW.DEFAULT,
                    ParameterGroup.all(0),
                    LearningRateSchedule.constant(1e-3))) {
                var fsdp = new FullyShardedDataParallel(
                        new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT, optimizer);
                Consumer<ModelBlock> probe = block -> {
                    peak.accumulateAndGet(LiveMemory.bytes() - before, Math::max);
                    block.surround(forward -> x -> {
                        peak.accumulateAndGet(LiveMemory.bytes() - before, Math::max);
                        return forward.apply(x);
                    });
                };
                LinearStack stack = stack(probe.andThen(block -> FullyShard.apply(block, fsdp)));
                FullyShard.apply(stack, fsdp);
                for (int step = 0; step < 2; step++) {
                    try (var scope = fsdp.step()) {
                        if (isInPass) {
                            optimizer.updateInNextPass();
                        }
                        scope.backward(stack.loss());
                        optimizer.step();
                        peak.accumulateAndGet(LiveMemory.bytes() - before, Math::max);
                    }
                }
                bits.set(1, bits(fsdp));
            }
        });
        System.out.printf("offload: states of %d bytes, peak %d%n", 4 * allowed, peak.get());
        assertThat(peak.get()).isLessThan(allowed);
        assertThat(bits.get(1)).isEqualTo(bits.get(0));
    }

    private static LinearStack stack(Consumer<ModelBlock> built) {
        return new LinearStack(LAYERS, WIDTH, built);
    }

    private static int bits(FullyShardedDataParallel fsdp) {
        return fsdp.wholeParameters((_, whole) -> hash(whole)).hashCode();
    }

    private static int hash(Tensor whole) {
        return Arrays.hashCode(TensorMemory.segment(whole).toArray(ValueLayout.JAVA_FLOAT));
    }

    /** With a second pass whose gradients are dropped, or added. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void updatesInThePassGiveTheBitsOfUpdatesAfterThePass(boolean accumulates) {
        List<Map<String, float[]>> trained = new ArrayList<>();
        for (boolean isInPass : List.of(false, true)) {
            trained.add(ShardedTraining.run(
                            2,
                            world -> ShardedTraining.offloaded(
                                    world, folder.resolve("in-pass-" + isInPass), _ -> {}, (net, fsdp, optimizer) -> {
                                        for (int step = 0; step < ShardedTraining.STEPS; step++) {
                                            optimizer.zeroGradients();
                                            pass(world, net, fsdp, optimizer, step, isInPass && !accumulates);
                                            if (!accumulates) {
                                                optimizer.zeroGradients();
                                            }
                                            pass(world, net, fsdp, optimizer, step, isInPass);
                                            optimizer.step();
                                        }
                                    }))
                    .getFirst());
        }
        assertThat(ShardedTraining.bits(trained.getLast())).isEqualTo(ShardedTraining.bits(trained.getFirst()));
    }

    private static void pass(
            World world,
            UnevenNet net,
            FullyShardedDataParallel fsdp,
            OffloadedOptimizer optimizer,
            int step,
            boolean isInPass) {
        if (isInPass) {
            optimizer.updateInNextPass();
        }
        try (var scope = fsdp.step()) {
            scope.backward(net.loss(ShardedTraining.seed(world, step, 0), 3));
        }
    }

    /** The step has the norm of all gradients, and cannot change them any more. */
    @Test
    void aPassThatUpdatesIsTheLastOfAStep() {
        ShardedTraining.run(
                2,
                world -> ShardedTraining.offloaded(world, folder.resolve("last"), _ -> {}, (net, fsdp, optimizer) -> {
                    pass(world, net, fsdp, optimizer, 0, false);
                    double norm = Gradients.norm(fsdp.parameters().values()).value();
                    optimizer.scaleGradients(0.5);
                    assertThatThrownBy(optimizer::updateInNextPass)
                            .hasMessageContaining("the gradients are clipped or scaled by 0.5 already");
                    optimizer.zeroGradients();
                    pass(world, net, fsdp, optimizer, 0, true);
                    assertThat(Gradients.norm(fsdp.parameters().values()).value())
                            .isEqualTo(norm);
                    assertThatThrownBy(() -> Gradients.clip(fsdp.parameters().values(), norm / 2))
                            .hasMessageContaining("the gradients are clipped or scaled after updateInNextPass()");
                    optimizer.zeroGradients();
                    optimizer.updateInNextPass();
                    assertThatThrownBy(() -> optimizer.scaleGradients(0.5))
                            .hasMessageContaining("the gradients are clipped or scaled after updateInNextPass()");
                }));
        assertThatThrownBy(() -> ShardedTraining.run(
                        2,
                        world -> ShardedTraining.offloaded(
                                world, folder.resolve("two"), _ -> {}, (net, fsdp, optimizer) -> {
                                    pass(world, net, fsdp, optimizer, 0, true);
                                    pass(world, net, fsdp, optimizer, 0, false);
                                })))
                .hasStackTraceContaining("which the pass after updateInNextPass() has updated already");
    }

    /** A process that ends in a write of step 4 leaves any bytes where step 4 and its gradients belong. */
    @Test
    void aTornWriteOfTheNextStepLeavesTheLastStep() throws IOException {
        Map<String, float[]> expected = ShardedTraining.run(
                        2, world -> ShardedTraining.offloaded(world, folder.resolve("whole"), 5))
                .getFirst();
        Path torn = folder.resolve("torn");
        ShardedTraining.run(2, world -> ShardedTraining.offloaded(world, torn, 3));
        int files = 0;
        Pattern name = Pattern.compile("unit-\\d+-of-2-ranks-(\\d+)-bytes");
        for (int rank = 0; rank < 2; rank++) {
            for (Path path : list(torn.resolve("rank-" + rank))) {
                Matcher unit = name.matcher(path.getFileName().toString());
                if (unit.matches()) {
                    tear(path, 3L * Integer.parseInt(unit.group(1)));
                    files++;
                }
            }
        }
        assertThat(files).isEqualTo(8);
        assertThat(ShardedTraining.run(2, world -> ShardedTraining.offloaded(world, torn, 5)))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
    }

    private static List<Path> list(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }

    private static void tear(Path path, long versionBytes) {
        try (UnitFile file = new UnitFile(path, versionBytes);
                Arena arena = Arena.ofConfined()) {
            file.write(
                    file.version(4),
                    arena.allocate(Math.max(1, versionBytes))
                            .asSlice(0, versionBytes)
                            .fill((byte) 0x5A));
            file.write(file.gradients(), arena.allocate(64).fill((byte) 0x5A));
        }
    }

    /** One rank was killed before it committed step 3, the other after: both go on from step 2. */
    @Test
    void ranksThatCommittedDifferentStepsGoOnFromTheEarlierOne() throws IOException {
        Map<String, float[]> expected = ShardedTraining.run(
                        2, world -> ShardedTraining.offloaded(world, folder.resolve("whole"), 5))
                .getFirst();
        Path uneven = folder.resolve("uneven");
        ShardedTraining.run(2, world -> ShardedTraining.offloaded(world, uneven, 3));
        Files.writeString(uneven.resolve("rank-1/committed-step"), "2");
        assertThat(ShardedTraining.run(2, world -> ShardedTraining.offloaded(world, uneven, 5)))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
    }

    /** SIGKILL of the process of all ranks at any time of a step. Soak: 50 kills, -Djrun.soak=true. */
    @Test
    void aKilledProcessGoesOnWithTheSameBits() throws IOException, InterruptedException {
        Random random = new Random(Long.getLong("jrun.test.seed", 1));
        for (int kill = 0; kill < (Boolean.getBoolean("jrun.soak") ? 50 : 1); kill++) {
            String name = "killed-" + kill;
            JavaProcess victim = start(name, 100_000);
            // A rank that has made step 2 shows that both ranks have committed step 1.
            victim.awaitOutput("rank " + random.nextInt(2) + " made step " + (2 + random.nextInt(5)));
            victim.kill();
            int last = 3 + Integer.parseInt(Files.readString(folder.resolve(name + "/rank-0/committed-step")));
            String printed = start(name, last).join();
            assertThat(printed).contains("made step " + last).doesNotContain("made step 1\n");
            assertThat(bits(printed))
                    .contains("bits table.weight")
                    .isEqualTo(OffloadMain.bits(ShardedTraining.run(
                                    2, world -> ShardedTraining.offloaded(world, folder.resolve(name + "-whole"), last))
                            .getFirst()));
        }
    }

    private JavaProcess start(String name, int steps) throws IOException {
        return JavaProcess.start(
                folder,
                OffloadMain.class,
                List.of("-Xmx96m"),
                Map.of("OMP_NUM_THREADS", "1"),
                folder.resolve(name).toString(),
                "2",
                Integer.toString(steps));
    }

    private static String bits(String printed) {
        return printed.lines().filter(line -> line.startsWith("bits ")).collect(Collectors.joining("\n"));
    }
}
