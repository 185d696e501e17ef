package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.module.ModelBlock;
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

/** Objects in fields of a model live from pass to pass, or are errors. */
class ResultScopeTest {
    private PointerScope scope;
    private @Nullable TensorOptional mask;
    private @Nullable DoubleOptional scale;
    private @Nullable Tensor table;

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

    /** libtorch reads a freed optional value as none. */
    @Test
    void anOptionalValueThatTheFirstPassHasMadeIsThereInTheSecond() {
        ModelBlock block = block(x -> {
            if (mask == null) {
                mask = new TensorOptional(torch.ones(4, 4).tril().log());
                scale = new DoubleOptional(3);
            }
            return torch.scaled_dot_product_attention(x, x, x, mask, 0, false, scale, false);
        });
        Tensor x = torch.randn(1, 1, 4, 8);
        Tensor first = block.forward(x);
        assertThat(block.forward(x).equal(first)).isTrue();
        try (Step _ = new Step(loss -> {}, () -> {})) {
            mask = null;
            assertThat(block.forward(x).equal(first)).isTrue();
        }
        assertThat(block.forward(x).equal(first)).isTrue();
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
