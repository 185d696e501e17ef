package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.MixedNet;
import io.jrun.train.TinyGpt;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LBFGS;
import org.bytedeco.pytorch.LBFGSOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LossClosure;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A model and each kind of optimizer of libtorch continue from a checkpoint. */
class OptimizerResumeTest {
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

    private void save(long step, Module module, Optimizer optimizer) {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(
                    step,
                    new StateDict()
                            .putAll("model.", ModelState.of(module))
                            .putAll("optimizer.", OptimizerState.of(optimizer, ModuleTensors.parameters(module))));
        }
    }

    private void load(long step, Module module, Optimizer optimizer) {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            SavedCheckpoint saved = manager.open(step);
            ModelState.load(module, saved.read("model."));
            OptimizerState.load(optimizer, ModuleTensors.parameters(module), saved.read("optimizer."));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aResumedRunEqualsAnUninterruptedOneBitForBit(Kind kind) {
        TinyGpt whole = new TinyGpt(1, 16, CONTEXT);
        Optimizer wholeOptimizer = kind.optimizer(whole);
        train(whole, wholeOptimizer, 0, 5);
        save(5, whole, wholeOptimizer);
        train(whole, wholeOptimizer, 5, 10);

        TinyGpt second = new TinyGpt(2, 16, CONTEXT);
        Optimizer secondOptimizer = kind.optimizer(second);
        load(5, second, secondOptimizer);
        train(second, secondOptimizer, 5, 10);
        assertThat(bits(second)).isEqualTo(bits(whole));
    }

    /** More ranks than JavaCPP has places for callbacks. Without a lock such a save ended the process with SIGSEGV. */
    @Test
    void sixteenRanksOfAProcessSaveAtTheSameTime() {
        LinearImpl model = new LinearImpl(512, 1024); // A save takes longer than the start of all ranks.
        Optimizer optimizer = Kind.SGD_MOMENTUM.optimizer(model);
        model.forward(torch.ones(1, 512)).sum().backward();
        optimizer.step();
        Map<String, Tensor> parameters = ModuleTensors.parameters(model);
        LocalWorld.run(16, world -> {
            for (int save = 0; save < 3; save++) {
                world.group().barrier();
                assertThat(OptimizerState.of(optimizer, parameters).keySet())
                        .containsExactlyInAnyOrder("weight.momentum_buffer", "bias.momentum_buffer");
            }
        });
    }

    @Test
    void parametersOfFourTypesAndTheirOptimizerStateComeBackBitForBit() {
        MixedNet whole = new MixedNet(1);
        Optimizer wholeOptimizer = Kind.SGD_MOMENTUM.optimizer(whole);
        train(whole, wholeOptimizer, 0, 3);
        save(3, whole, wholeOptimizer);
        MixedNet second = new MixedNet(2);
        Optimizer secondOptimizer = Kind.SGD_MOMENTUM.optimizer(second);
        load(3, second, secondOptimizer);
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
    void anotherModelIsRefusedAndNothingChanged() {
        TinyGpt model = new TinyGpt(1, 8, CONTEXT);
        save(3, model, Kind.ADAMW.optimizer(model));
        TinyGpt wider = new TinyGpt(1, 16, CONTEXT);
        byte[] before = bits(wider);
        assertThatThrownBy(() -> load(3, wider, Kind.ADAMW.optimizer(wider)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("'token.weight' is Float[50, 8] in the checkpoint but Float[50, 16]");
        assertThat(bits(wider)).isEqualTo(before);
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

    /** libtorch writes tensors of LBFGS that are not defined. */
    @Test
    void theStateOfLbfgsIsRefusedInOneLine() {
        LinearImpl module = new LinearImpl(2, 2);
        LBFGS optimizer = new LBFGS(module.parameters(), new LBFGSOptions(0.1));
        try (LossClosure loss = new LossClosure() {
            @Override
            public Tensor call() {
                Tensor sum = module.forward(torch.ones(2, 2)).sum();
                sum.backward();
                return sum;
            }
        }) {
            Tensor _ = optimizer.step(loss);
        }
        assertThatThrownBy(() -> OptimizerState.of(optimizer, ModuleTensors.parameters(module)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("the state of the optimizer LBFGS cannot be saved");
    }
}
