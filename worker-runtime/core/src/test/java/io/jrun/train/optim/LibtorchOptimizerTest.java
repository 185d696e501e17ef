package io.jrun.train.optim;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.mesh.Parameters;
import java.util.Map;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** libtorch's optimizers and the optimizer over flat memory make the same steps of one rule and one schedule. */
class LibtorchOptimizerTest {
    private static final int STEPS = 6;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    static Stream<Arguments> rules() {
        LearningRateSchedule falling = LearningRateSchedule.linear(0.1, 1, 0.1, STEPS);
        LearningRateSchedule cycle = OneCycle.of(0.1, STEPS);
        return Stream.of(
                Arguments.of(new FusedAdamW(0.8, 0.95, 1e-6), falling),
                Arguments.of(new FusedAdamW(0.8, 0.95, 1e-6), cycle),
                Arguments.of(FusedSgd.PLAIN, falling),
                Arguments.of(new FusedSgd(0.9, true), cycle));
    }

    private static Tensor train(Tensor parameter, ParameterOptimizer optimizer) {
        try (PointerScope _ = new PointerScope();
                optimizer) {
            for (int step = 0; step < STEPS; step++) {
                optimizer.zeroGradients();
                parameter.sub(new Scalar(step + 1.0)).square().sum().backward();
                optimizer.step();
            }
            assertThat(optimizer.steps()).isEqualTo(STEPS);
        }
        return parameter;
    }

    private static Tensor parameter() {
        return torch.arange(new Scalar(7)).to(torch.ScalarType.Double).set_requires_grad(true);
    }

    @ParameterizedTest
    @MethodSource("rules")
    void makesTheStepsOfTheFlatOptimizer(UpdateRule rule, LearningRateSchedule schedule) {
        Tensor flat = parameter();
        Tensor actual = parameter();
        Tensor expected = train(
                flat, new FlatOptimizer(Parameters.of(Map.of("p", flat)), rule, ParameterGroup.all(0.1), schedule));
        Tensor found = train(actual, new LibtorchOptimizer(Parameters.of(Map.of("p", actual)), rule, 0.1, schedule));
        assertThat(found.sub(expected).abs().max().item_double()).isLessThan(1e-12);
        assertThat(found.sub(parameter()).abs().max().item_double()).isGreaterThan(0.01);
    }
}
