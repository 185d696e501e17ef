package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.step.Step;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Objects in fields of a model live from pass to pass, or are errors. */
class ResultScopeTest {
    private PointerScope scope;
    private @Nullable TensorOptional mask;
    private @Nullable DoubleOptional scale;
    private @Nullable Tensor table;
    private long maskLength;

    @BeforeEach
    void open() {
        Libtorch.setThreads(1);
        scope = new PointerScope();
    }

    @AfterEach
    void close() {
        scope.close();
    }

    private static ModelBlock block(UnaryOperator<Tensor> forward) {
        return new ModelBlock("block0", 0, new LinearImpl(1, 1), forward);
    }

    private Tensor attention(Tensor x, @Nullable DoubleOptional scale) {
        return torch.scaled_dot_product_attention(x, x, x, mask, 0, false, scale, false);
    }

    private static TensorOptional causal() {
        return new TensorOptional(torch.ones(4, 4).tril().log());
    }

    /** libtorch would read a freed optional value as none. */
    @Test
    void anOptionalTensorOfAnEarlierPassIsAnErrorThatSaysHowToKeepIt() {
        ModelBlock block = block(x -> {
            if (mask == null) {
                mask = causal();
            }
            return attention(x, null);
        });
        Tensor x = torch.randn(1, 1, 4, 8);
        Tensor _ = block.forward(x);
        assertThatThrownBy(() -> block.forward(x))
                .isInstanceOf(RuntimeException.class)
                .hasMessageContaining("TensorMemory.own(optional)");
    }

    @Test
    void anOwnedOptionalTensorAndAnOptionalNumberThatTheFirstPassHasMadeAreThereInTheSecond() {
        ModelBlock block = block(x -> {
            if (mask == null) {
                mask = TensorMemory.own(causal());
                scale = new DoubleOptional(3);
            }
            return attention(x, scale);
        });
        Tensor x = torch.randn(1, 1, 4, 8);
        Tensor first = block.forward(x);
        assertThat(block.forward(x).equal(first)).isTrue();
        Objects.requireNonNull(mask).close();
        try (Step _ = new Step(loss -> {}, () -> {})) {
            mask = null;
            assertThat(block.forward(x).equal(first)).isTrue();
        }
        assertThat(block.forward(x).equal(first)).isTrue();
        Objects.requireNonNull(mask).close();
    }

    /** The block runs again in the backward pass. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anOwnedMaskForTheLengthOfTheTextWorksInEachStep(boolean isRecomputed) {
        LinearImpl projection = new LinearImpl(4, 4);
        ModelBlock block = new ModelBlock("block0", 0, projection, x -> {
            ownMaskOf(x.size(1));
            return attention(projection.forward(x), null);
        });
        if (isRecomputed) {
            Recompute.apply(block);
        }
        Tensor shorter = torch.rand(1, 8, 4);
        Tensor longer = torch.rand(1, 16, 4);
        double[] first = new double[3];
        for (int i = 0; i < first.length; i++) {
            try (Step step = new Step(Tensor::backward, () -> {})) {
                Tensor token = block.forward(shorter).narrow(1, 0, 1).sum();
                first[i] = token.item_double();
                step.backward(token.add(block.forward(longer).sum()));
            }
        }
        assertThat(first).containsOnly(first[0]);
        Objects.requireNonNull(mask).close();
    }

    private void ownMaskOf(long length) {
        if (length != maskLength) {
            if (mask != null) {
                mask.close();
            }
            mask = TensorMemory.own(
                    new TensorOptional(torch.ones(length, length).tril().log()));
            maskLength = length;
        }
    }

    @Test
    void aMaskThatARecomputationHasMadeIsAnErrorInTheNextStep() {
        LinearImpl projection = new LinearImpl(4, 4);
        ModelBlock block = new ModelBlock("block0", 0, projection, x -> {
            if (mask == null) {
                mask = causal();
            }
            return attention(projection.forward(x), null);
        });
        Recompute.apply(block);
        Tensor x = torch.rand(1, 4, 4);
        try (Step step = new Step(Tensor::backward, () -> {})) {
            Tensor loss = block.forward(x).sum();
            mask = null;
            step.backward(loss);
        }
        assertThat(Objects.requireNonNull(mask).has_value()).isTrue();
        assertThatThrownBy(() -> block.forward(x)).hasMessageContaining("TensorMemory.own(optional)");
    }

    @Test
    void aTensorOfAnEarlierPassIsAnErrorThatSaysHowToKeepIt() {
        ModelBlock block = block(x -> {
            if (table == null) {
                table = torch.ones(4);
            }
            return x.add(table);
        });
        Tensor _ = block.forward(torch.ones(4));
        assertThatThrownBy(() -> block.forward(torch.ones(4)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("a model uses an object of libtorch whose memory is free.")
                .hasMessageContaining("TensorMemory.own(tensor)")
                .hasCauseInstanceOf(NullPointerException.class);
    }

    @Test
    void anOwnedTensorOfAnEarlierPassIsThere() {
        ModelBlock block = block(x -> {
            Tensor kept = table;
            if (kept == null) {
                kept = TensorMemory.own(torch.ones(4));
                table = kept;
            }
            return x.add(kept);
        });
        Tensor first = block.forward(torch.ones(4));
        assertThat(block.forward(torch.ones(4)).equal(first)).isTrue();
        Objects.requireNonNull(table).close();
    }

    @Test
    void anErrorOfTheModelItselfStaysAsItIs() {
        ModelBlock block = block(x -> {
            throw new NullPointerException("of the model");
        });
        assertThatThrownBy(() -> block.forward(torch.ones(4)))
                .isExactlyInstanceOf(NullPointerException.class)
                .hasMessage("of the model");
    }
}
