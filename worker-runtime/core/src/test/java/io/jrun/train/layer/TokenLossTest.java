package io.jrun.train.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.LiveMemory;
import io.jrun.train.precision.Autocast;
import java.util.function.BinaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TokenLossTest {
    private PointerScope scope;

    @BeforeEach
    void open() {
        Libtorch.setThreads(1);
        torch.manual_seed(5);
        scope = new PointerScope();
    }

    @AfterEach
    void close() {
        scope.close();
    }

    /** 200 rows of 50257 logits are three pieces; the last has fewer rows. */
    @ParameterizedTest
    @CsvSource({
        "7, 5, Float, false",
        "200, 50257, Float, false",
        "200, 50257, BFloat16, true",
        "200, 50257, BFloat16, false",
        "40, 311, Double, true"
    })
    void lossAndGradientHaveTheBitsOfTorch(long tokens, long vocabulary, torch.ScalarType type, boolean isAutocast) {
        Tensor logits = torch.randn(tokens, vocabulary).mul(new Scalar(4)).to(type);
        Tensor targets = targets(tokens, vocabulary)
                .masked_fill(torch.rand(tokens).lt(new Scalar(0.3)), new Scalar(TokenLoss.IGNORED));
        Tensor own = logits.clone().set_requires_grad(true);
        Tensor torchs = logits.clone().set_requires_grad(true);
        Tensor loss = loss(new TokenLoss()::mean, own, targets, isAutocast);
        Tensor expected = loss(torch::cross_entropy_loss, torchs, targets, isAutocast);
        assertThat(loss.equal(expected)).isTrue();
        loss.backward();
        expected.backward();
        assertThat(own.grad().equal(torchs.grad())).isTrue();
    }

    private static Tensor loss(BinaryOperator<Tensor> of, Tensor logits, Tensor targets, boolean isAutocast) {
        try (Autocast _ = isAutocast ? Autocast.cpuBfloat16() : Autocast.off(torch.DeviceType.CPU)) {
            return of.apply(logits, targets);
        }
    }

    private static Tensor targets(long tokens, long vocabulary) {
        return torch.randint(vocabulary, new long[] {tokens}, new TensorOptions(torch.ScalarType.Long));
    }

    @ParameterizedTest
    @CsvSource({"-5", "5"})
    void aTargetOutsideOfTheVocabularyIsAnError(long target) {
        Tensor targets = torch.zeros_like(targets(2, 5)).fill_(new Scalar(target));
        assertThatThrownBy(() -> new TokenLoss().mean(torch.randn(2, 5), targets))
                .hasMessageContaining(target + " is out of bounds");
    }

    /** Log-probabilities in float32, a gradient in bfloat16, and pieces. torch needs three tensors in float32 at a time. */
    @Test
    void oneTensorInEachTypeIsAliveAtATime() {
        long tokens = 1024;
        long vocabulary = 32768;
        long wideBytes = tokens * vocabulary * Float.BYTES;
        Tensor logits =
                torch.randn(tokens, vocabulary).to(torch.ScalarType.BFloat16).set_requires_grad(true);
        Tensor targets = targets(tokens, vocabulary);
        LiveMemory.freeUnreachable();
        long grown = LiveMemory.greatestGrowth(
                () -> loss(new TokenLoss()::mean, logits, targets, true).backward());
        assertThat(grown).isLessThan(5 * wideBytes / 2);
    }
}
