package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NonFiniteGuardTest {
    private static final int BAD_RANK = 2;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** A step of DDP in which the gradient of one parameter of one rank is NaN before the ranks average it. */
    private static boolean step(World world, NonFinitePolicy policy, double factor, long number) {
        TinyGpt model = new TinyGpt(1, 8, 4);
        Map<String, Tensor> parameters = ModuleTensors.parameters(model);
        try (NonFiniteGuard guard = new NonFiniteGuard(policy, Parameters.of(parameters), world.group());
                DistributedDataParallel<TinyGpt> ddp = new DistributedDataParallel<>(model, world.group());
                Step step = ddp.step()) {
            Tensor loss = model.loss(TinyGpt.tokens(1, 2, 4), TinyGpt.tokens(2, 2, 4));
            if (world.rank() == BAD_RANK) {
                // At 0 the root is finite and its slope is not: the loss stays finite.
                Tensor weight = Objects.requireNonNull(parameters.get("up.weight"));
                loss = loss.add(
                        weight.pow(new Scalar(2)).sum().mul(new Scalar(factor)).sqrt());
            }
            guard.checkLoss(loss);
            step.backward(loss);
            boolean mayStep = guard.mayStep(number);
            assertThat(guard.skipped()).isEqualTo(mayStep ? 0 : 1);
            assertThat(guard.lastSkipped()).contains(mayStep ? "" : "rank 2, step 41: the gradient of 'up.weight'");
            return mayStep;
        }
    }

    @Test
    void theMessageNamesTheRankTheStepAndTheParameterOnAllRanks() {
        LocalWorld.run(
                4,
                world -> assertThatThrownBy(() -> step(world, NonFinitePolicy.STOP, 0, 41))
                        .isInstanceOf(NonFiniteException.class)
                        .hasMessageStartingWith("rank 2, step 41: the gradient of 'up.weight' is not finite."));
    }

    @Test
    void allRanksSkipTheStepOrNone() {
        LocalWorld.run(4, world -> {
            assertThat(step(world, NonFinitePolicy.SKIP, 0, 41)).isFalse();
            assertThat(step(world, NonFinitePolicy.SKIP, 1, 42)).isTrue();
        });
    }

    @Test
    void aLossThatIsNotFiniteIsNamedAndTheNextStepBeginsAnew() {
        LocalWorld.run(3, world -> {
            try (PointerScope _ = new PointerScope();
                    NonFiniteGuard guard = new NonFiniteGuard(NonFinitePolicy.STOP, Map.of(), world.group())) {
                guard.checkLoss(torch.full(new long[0], new Scalar(world.rank() == 1 ? Float.NaN : 1)));
                assertThatThrownBy(() -> guard.mayStep(7))
                        .hasMessageStartingWith("rank 1, step 7: the loss is not finite.");
                assertThat(guard.mayStep(8)).isTrue();
            }
        });
    }

    /** The sum of these finite elements is infinite in float32. */
    @ParameterizedTest
    @CsvSource({"Float,3e38", "Double,3e38", "Double,1e308"})
    void largeFiniteGradientsAreFinite(torch.ScalarType type, double gradient) {
        LocalWorld.run(1, world -> {
            try (PointerScope _ = new PointerScope()) {
                Tensor parameter = torch.ones(4).to(type).set_requires_grad(true);
                try (NonFiniteGuard guard = new NonFiniteGuard(
                        NonFinitePolicy.STOP, Parameters.of(Map.of("p", parameter)), world.group())) {
                    parameter.mul(new Scalar(gradient)).sum().backward();
                    assertThat(guard.mayStep(1)).isTrue();
                }
            }
        });
    }
}
