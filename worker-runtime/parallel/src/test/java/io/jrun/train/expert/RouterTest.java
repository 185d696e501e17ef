package io.jrun.train.expert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import io.jrun.train.precision.Autocast;
import io.jrun.train.tensor.ModuleTensors;
import java.util.Arrays;
import java.util.Objects;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RouterTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor numbers(long rows, long columns, double step) {
        return torch.arange(new Scalar(rows * columns), new TensorOptions(torch.ScalarType.Double))
                .mul(new Scalar(step))
                .view(rows, columns);
    }

    /**
     * Losses and gradients of torch 2.13: {@code E * (f * p.mean(0)).sum()} and {@code logsumexp(h, 1).square().mean()}
     * of 6 tokens {@code sin(0.7 i)} and a router {@code cos(1.3 i)} of 4 experts. Expert 0 has two tokens, so token 0
     * is the third row, the first of expert 1.
     */
    @ParameterizedTest
    @CsvSource({
        "1,1.0435273331863901,0.006550945030486159,0.6007910583711206",
        "2,0.9872995230092625,0.0036012753851685417,0.6983319030676153"
    })
    void lossesAndWeightsAreThoseOfTorch(int topK, double balance, double gradient, double firstWeight) {
        Router router = new Router(3, new ExpertOptions(4, topK, 0, 0.01, 0.001), Device.CPU);
        router.to(torch.ScalarType.Double, false);
        Tensor weight = Objects.requireNonNull(ModuleTensors.parameters(router).get("weight"));
        weight.detach().copy_(numbers(4, 3, 1.3).cos());
        Routing routing = router.route(numbers(6, 3, 0.7).sin());
        routing.loss().backward();
        assertThat(routing.loss().item_double()).isCloseTo(0.01 * balance + 0.001 * 3.2196771791450054, within(1e-14));
        assertThat(weight.grad().abs().sum().item_double()).isCloseTo(gradient, within(1e-15));
        assertThat(routing.choices().counts()).isEqualTo(topK == 1 ? new long[] {2, 2, 2, 0} : new long[] {2, 4, 2, 4});
        assertThat(routing.tokens_A().select(0, 2).item_long()).isZero();
        assertThat(routing.weights_A().select(0, 2).item_double()).isCloseTo(firstWeight, within(1e-14));
    }

    private static Routing route(double capacity) {
        Router router = new Router(3, new ExpertOptions(4, 2, capacity, 0.01, 0.001), Device.CPU);
        Objects.requireNonNull(ModuleTensors.parameters(router).get("weight"))
                .detach()
                .copy_(numbers(4, 3, 1.3).cos());
        return router.route(numbers(6, 3, 0.7).sin().to(torch.ScalarType.Float));
    }

    /** Rounded logits would give tokens to other experts. */
    @Test
    void autocastDoesNotRoundTheChoice() {
        Routing wide = route(0);
        try (Autocast _ = Autocast.cpuBfloat16()) {
            Routing inside = route(0);
            assertThat(inside.weights_A().equal(wide.weights_A())).isTrue();
            assertThat(inside.loss().item_double()).isEqualTo(wide.loss().item_double());
        }
    }

    /** The loss asks for equal shares of what the tokens want, not of what the experts take. */
    @Test
    void droppedChoicesCountInTheBalance() {
        Routing all = route(0);
        Routing some = route(0.5);
        assertThat(some.choices().counts()).isNotEqualTo(all.choices().counts());
        assertThat(some.loss().item_double()).isEqualTo(all.loss().item_double());
    }

    /** Four tokens. The first choices are experts 0 0 0 1, the second choices 1 1 1 0. */
    @ParameterizedTest
    @CsvSource({"0.5,0 1 3 4,4", "0.75,0 1 2 3 4 5,2", "1,0 1 2 7 3 4 5 6,0", "0,0 1 2 7 3 4 5 6,0"})
    void fullExpertsDropSecondChoicesAndLateTokens(double factor, String positions, int dropped) {
        Tensor experts = Tensor.create(new long[] {0, 0, 0, 1, 1, 1, 1, 0}, 8);
        ExpertOptions options = new ExpertOptions(2, 2, factor, 0, 0);
        AcceptedChoices choices = new AcceptedChoices(experts, 2, options.capacity(4));
        assertThat(choices.load()).containsExactly(4, 4);
        assertThat(choices.positions())
                .containsExactly(Arrays.stream(positions.split(" "))
                        .mapToLong(Long::parseLong)
                        .toArray());
        assertThat(8 - choices.positions().length).isEqualTo(dropped);
    }

    /** Switch Transformer, equation 3, rounded up: 1.25 x 10 / 4 = 3.125. */
    @Test
    void capacityIsAMultipleOfAnEqualShare() {
        assertThat(new ExpertOptions(4, 1, 1.25, 0, 0).capacity(10)).isEqualTo(4);
        assertThat(new ExpertOptions(4, 2, 1, 0, 0).capacity(10)).isEqualTo(5);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 1 | 1 | a layer must have at least 1 expert, not 0",
                "4 | 5 | 1 | a token can have 1 to 4 of 4 experts, not 5",
                "4 | 1 | -1 | must be 0 or more, not -1.0"
            })
    void settingsThatCannotBeAreErrors(int experts, int topK, double factor, String message) {
        assertThatThrownBy(() -> new ExpertOptions(experts, topK, factor, 0, 0)).hasMessageContaining(message);
    }
}
