package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.step.Step;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A forward pass leaves what its backward pass needs, and nothing else. A block of GPT-2 saves 16 vectors of the width
 * for each token: the inputs of both norms (2), the inputs of the four maps (1, 1, 1, 4), the queries, keys and values (3)
 * and the input of the activation (4). The output layer saves the inputs of the norm and of the map, and the
 * probabilities.
 */
class StepMemoryTest {
    private static final long LAYERS = 2;
    private static final long WIDTH = 256;
    private static final long VOCABULARY = 1024;
    private static final long CONTEXT = 256;
    private static final long BATCH = 4;

    private static final int ROUNDS = 3;
    /** Means of the norms, sums of the attention, objects; one more vector of the width for each token makes 1 MiB. */
    private static final long OTHER_BYTES = 700 << 10;

    private PointerScope scope;
    private Gpt2 model;
    private Tensor tokens_BS;

    @BeforeEach
    void build() {
        Libtorch.setThreads(1);
        scope = new PointerScope();
        model = new Gpt2(new Gpt2Config(VOCABULARY, CONTEXT, WIDTH, LAYERS, 4, 4 * WIDTH, 1e-5, true), Device.CPU);
        model.build();
        model.initialize(1);
        tokens_BS = torch.randint(VOCABULARY, new long[] {BATCH, CONTEXT}, new TensorOptions(torch.ScalarType.Long));
    }

    @AfterEach
    void free() {
        scope.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aForwardPassKeepsWhatTheBackwardPassNeeds(boolean isRecomputed) {
        if (isRecomputed) {
            Recompute.apply(model);
        }
        assertKept(isRecomputed ? 1 : 16);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aShardedModelKeepsNoMore(boolean isRecomputed) {
        if (isRecomputed) {
            Recompute.apply(model);
        }
        LocalWorld.run(1, world -> {
            try (PointerScope _ = new PointerScope();
                    DeviceMesh mesh = DeviceMesh.of(world, "shard", 1);
                    Step step = FullyShard.apply(model, mesh.axis("shard")).step()) {
                step.backward(model.loss(tokens_BS, tokens_BS)); // takes the memory for whole parameters
                assertKept(isRecomputed ? 1 : 16);
            }
        });
    }

    /** The gradients of parameters stay, and no gradient that goes from block to block, as long as the scope is open. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBackwardPassFreesTheGradientsOfBlocks(boolean isRecomputed) {
        if (isRecomputed) {
            Recompute.apply(model);
        }
        LiveMemory.freeUnreachable();
        assertThat(LiveMemory.leastGrowth(
                        ROUNDS,
                        () -> AutogradBridge.instance().backward(List.of(model.loss(tokens_BS, tokens_BS)), List.of())))
                .isLessThan(OTHER_BYTES);
    }

    @Test
    void anEvaluationKeepsNothing() {
        try (NoGradGuard _ = new NoGradGuard()) {
            assertThat(keptBytes()).isLessThan(OTHER_BYTES);
        }
    }

    /** @param vectors that a block saves of each token */
    private void assertKept(int vectors) {
        long perToken = (LAYERS * vectors + 2) * WIDTH + VOCABULARY;
        assertThat(keptBytes()).isLessThan(BATCH * CONTEXT * perToken * Float.BYTES + OTHER_BYTES);
    }

    /** The graphs of all rounds live until the end of the test. */
    private long keptBytes() {
        LiveMemory.freeUnreachable();
        return LiveMemory.leastGrowth(ROUNDS, () -> {
            Tensor _ = model.loss(tokens_BS, tokens_BS);
        });
    }
}
