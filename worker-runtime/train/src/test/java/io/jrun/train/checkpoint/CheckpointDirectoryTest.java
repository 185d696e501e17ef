package io.jrun.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.MixedNet;
import io.jrun.train.TinyGpt;
import io.jrun.train.storage.AtomicFile;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CheckpointDirectoryTest {
    private static final int CONTEXT = 8;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    enum Kind {
        ADAMW,
        ADAM,
        SGD_MOMENTUM,
        SGD_PLAIN;

        Optimizer optimizer(Module module) {
            TensorVector parameters = module.parameters();
            return switch (this) {
                case ADAMW -> new AdamW(parameters, new AdamWOptions(1e-2));
                case ADAM -> new Adam(parameters, new AdamOptions(1e-2));
                case SGD_MOMENTUM -> {
                    SGDOptions options = new SGDOptions(1e-2);
                    options.momentum().put(0.9);
                    yield new SGD(parameters, options);
                }
                case SGD_PLAIN -> new SGD(parameters, new SGDOptions(1e-2));
            };
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aResumedRunEqualsAnUninterruptedOneBitForBit(Kind kind) {
        TinyGpt whole = new TinyGpt(1, 16, CONTEXT);
        Optimizer wholeOptimizer = kind.optimizer(whole);
        train(whole, wholeOptimizer, 0, 10);

        TinyGpt first = new TinyGpt(1, 16, CONTEXT);
        Optimizer firstOptimizer = kind.optimizer(first);
        train(first, firstOptimizer, 0, 5);
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        directory.save(5, first, firstOptimizer, Map.of("note", "half"));

        TinyGpt second = new TinyGpt(2, 16, CONTEXT);
        Optimizer secondOptimizer = kind.optimizer(second);
        assertThat(directory.latest()).hasValue(5);
        assertThat(directory.load(5, second, secondOptimizer)).containsEntry("note", "half");
        train(second, secondOptimizer, 5, 10);

        assertThat(bits(second)).isEqualTo(bits(whole));
    }

    @Test
    void parametersOfFourTypesAndTheirOptimizerStateComeBackBitForBit() {
        MixedNet whole = new MixedNet(1);
        Optimizer wholeOptimizer = Kind.SGD_MOMENTUM.optimizer(whole);
        train(whole, wholeOptimizer, 0, 3);
        CheckpointDirectory.of(folder).save(3, whole, wholeOptimizer, Map.of());
        MixedNet second = new MixedNet(2);
        Optimizer secondOptimizer = Kind.SGD_MOMENTUM.optimizer(second);
        CheckpointDirectory.of(folder).load(3, second, secondOptimizer);
        assertThat(bits(second)).isEqualTo(bits(whole));
        train(whole, wholeOptimizer, 3, 5);
        train(second, secondOptimizer, 3, 5);
        assertThat(bits(second)).isEqualTo(bits(whole));
    }

    private static void train(MixedNet model, Optimizer optimizer, int from, int to) {
        for (int step = from; step < to; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                model.loss(step, true).backward();
                optimizer.step();
            }
        }
    }

    @Test
    void forgettingTheOptimizerStateIsNoticed() {
        TinyGpt whole = new TinyGpt(1, 16, CONTEXT);
        train(whole, Kind.ADAMW.optimizer(whole), 0, 10);
        TinyGpt halves = new TinyGpt(1, 16, CONTEXT);
        train(halves, Kind.ADAMW.optimizer(halves), 0, 5);
        train(halves, Kind.ADAMW.optimizer(halves), 5, 10);
        assertThat(bits(halves)).isNotEqualTo(bits(whole));
    }

    @Test
    void theNewestTwoAreKept() throws IOException {
        TinyGpt model = new TinyGpt(1, 8, CONTEXT);
        Optimizer optimizer = Kind.ADAMW.optimizer(model);
        CheckpointDirectory directory = CheckpointDirectory.of(folder.resolve("new"));
        assertThat(directory.latest()).isEmpty();
        for (long step : new long[] {1, 2, 10, 10}) {
            directory.save(step, model, optimizer, Map.of());
        }
        assertThat(directory.latest()).hasValue(10);
        try (Stream<Path> entries = Files.list(folder.resolve("new"))) {
            assertThat(entries.map(entry -> entry.getFileName().toString()))
                    .containsExactlyInAnyOrder("step-00000002", "step-00000010");
        }
    }

    @Test
    void anotherRunsLaterCheckpointsDoNotPushOutTheNewOne() throws IOException {
        TinyGpt model = new TinyGpt(1, 8, CONTEXT);
        Optimizer optimizer = Kind.ADAMW.optimizer(model);
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        for (long step : new long[] {300, 320, 50, 100, 150}) {
            directory.save(step, model, optimizer, Map.of());
        }
        assertThat(checkpoints())
                .containsExactlyInAnyOrder("step-00000100", "step-00000150", "step-00000300", "step-00000320");
    }

    @Test
    void anUnfinishedSaveIsNotACheckpointAndTheNextSaveTidiesUp() throws IOException {
        TinyGpt model = new TinyGpt(1, 8, CONTEXT);
        Optimizer optimizer = Kind.ADAMW.optimizer(model);
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        Files.createDirectories(AtomicFile.temporary(folder.resolve("step-00000007")));
        assertThat(directory.latest()).isEmpty();
        // A saver that was killed between moving step 10 away and moving its replacement there.
        directory.save(10, model, optimizer, Map.of());
        Files.move(folder.resolve("step-00000010"), folder.resolve(".step-00000010.replaced"));
        directory.save(20, model, optimizer, Map.of());
        assertThat(checkpoints()).containsExactlyInAnyOrder("step-00000010", "step-00000020");
    }

    /** Killed between setting the earlier checkpoint of a step aside and giving the new one its name. */
    @Test
    void aSaverThatIsKilledWhileItReplacesACheckpointLeavesTheEarlierOne() throws Exception {
        Path checkpoints = folder.resolve("checkpoints");
        CheckpointDirectory directory = CheckpointDirectory.of(checkpoints);
        TinyGpt earlier = new TinyGpt(1, 8, CONTEXT);
        directory.save(10, earlier, Kind.ADAMW.optimizer(earlier), Map.of("note", "earlier"));
        JavaProcess saver = JavaProcess.start(folder, Replace.class, List.of(), Map.of(), checkpoints.toString());
        saver.awaitOutput("in the middle", 60);
        saver.kill();

        assertThat(directory.latest()).hasValue(10);
        assertThat(directory.metadata(10)).containsEntry("note", "earlier");
        TinyGpt loaded = new TinyGpt(2, 8, CONTEXT);
        directory.load(10, loaded, Kind.ADAMW.optimizer(loaded));
        assertThat(bits(loaded)).isEqualTo(bits(earlier));
        directory.save(10, loaded, Kind.ADAMW.optimizer(loaded), Map.of("note", "later"));
        assertThat(directory.metadata(10)).containsEntry("note", "later");
        try (Stream<Path> entries = Files.list(checkpoints)) {
            assertThat(entries.map(entry -> entry.getFileName().toString())).containsExactly("step-00000010");
        }
    }

    /** Replaces the checkpoint of step 10 and stops in the middle. */
    static final class Replace {
        public static void main(String[] args) {
            Libtorch.load();
            TinyGpt model = new TinyGpt(3, 8, CONTEXT);
            new CheckpointDirectory(Path.of(args[0]), Replace::stop)
                    .save(10, model, Kind.ADAMW.optimizer(model), Map.of());
        }

        private static void stop() {
            System.out.println("in the middle");
            while (true) {
                LockSupport.park();
            }
        }
    }

    private List<String> checkpoints() throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).toList();
        }
    }

    @Test
    void anotherModelIsRejectedAndNothingChanged() {
        TinyGpt model = new TinyGpt(1, 8, CONTEXT);
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        directory.save(3, model, Kind.ADAMW.optimizer(model), Map.of());

        TinyGpt wider = new TinyGpt(1, 16, CONTEXT);
        byte[] before = bits(wider);
        assertThatThrownBy(() -> directory.load(3, wider, Kind.ADAMW.optimizer(wider)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("'token.weight' is Float[50, 8] in the checkpoint but Float[50, 16]");
        assertThat(bits(wider)).isEqualTo(before);
        assertThatThrownBy(() -> directory.load(4, wider, Kind.ADAMW.optimizer(wider)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("step-00000004")
                .hasMessageContaining("[3]");
    }

    @Test
    void unknownOptimizerStateIsNamed() {
        TinyGpt model = new TinyGpt(1, 8, CONTEXT);
        Optimizer optimizer = Kind.ADAMW.optimizer(model);
        train(model, optimizer, 0, 1);
        Map<String, Tensor> parameters = ModuleTensors.parameters(model);
        Map<String, Tensor> state = new LinkedHashMap<>(OptimizerState.of(optimizer, parameters));
        assertThat(state).containsKeys("head.bias.exp_avg", "head.bias.exp_avg_sq", "head.bias.step");
        state.put("ghost.exp_avg", Tensor.create(1f));
        assertThatThrownBy(() -> OptimizerState.load(optimizer, parameters, state))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("ghost.exp_avg");
    }

    private static void train(TinyGpt model, Optimizer optimizer, int from, int to) {
        for (int step = from; step < to; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                model.loss(TinyGpt.tokens(step, 2, CONTEXT), TinyGpt.tokens(step + 1000, 2, CONTEXT))
                        .backward();
                optimizer.step();
            }
        }
    }

    private static byte[] bits(Module model) {
        byte[][] parts = ModuleTensors.parameters(model).values().stream()
                .map(tensor -> TensorMemory.segment(tensor).toArray(ValueLayout.JAVA_BYTE))
                .toArray(byte[][]::new);
        byte[] all = new byte[Arrays.stream(parts).mapToInt(part -> part.length).sum()];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }
}
