package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.LinearStack;
import io.jrun.train.ShardedTraining;
import io.jrun.train.UnevenNet;
import io.jrun.train.module.ModuleWrapper;
import io.jrun.train.tensor.ModuleTensors;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What a user may do outside of steps. */
class FsdpStepTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void aUnitThatComputesOutsideAStepSaysWhatToDo() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(world.group(), FsdpOptions.DEFAULT);
            UnevenNet net = new UnevenNet(fsdp);
            fsdp.shardRest(net);
            for (int i = 0; i < 2; i++) { // before the first step, and after it
                assertThatIllegalStateException()
                        .isThrownBy(() -> net.loss(1, 3))
                        .withMessageContaining("unit 'block0' computes outside a step")
                        .withMessageContaining("fsdp.step()");
                try (var step = fsdp.step()) {
                    step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                    assertThatIllegalStateException().isThrownBy(fsdp::step).withMessageContaining("a step is open");
                    assertThatIllegalStateException()
                            .isThrownBy(() -> fsdp.wholeParameters((_, whole) -> whole))
                            .withMessageContaining("a step is open");
                }
            }
        });
    }

    /** Memory that is free must not be read: the process would end. */
    @Test
    void parametersOutsideOfStepsReadNan() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(world.group(), FsdpOptions.DEFAULT);
            LinearStack stack = new LinearStack(2, 8, ModuleWrapper.NONE);
            fsdp.shardRest(stack);
            for (int i = 0; i < 2; i++) {
                try (PointerScope _ = new PointerScope()) {
                    assertThat(stack.loss().item_float()).isNaN();
                    assertThat(ModuleTensors.parameters(stack).values())
                            .allSatisfy(parameter ->
                                    assertThat(parameter.sum().item_float()).isNaN());
                }
                try (var step = fsdp.step()) {
                    Tensor loss = stack.loss();
                    assertThat(loss.item_float()).isFinite();
                    step.backward(loss);
                }
            }
        });
    }

    @Test
    void aStepThatIsClosedComputesNoGradients() {
        LocalWorld.run(1, world -> {
            var fsdp = new FullyShardedDataParallel(world.group(), FsdpOptions.DEFAULT);
            FsdpStep step = fsdp.step();
            step.close();
            try (PointerScope _ = new PointerScope()) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> step.backward(torch.ones(1)))
                        .withMessageContaining("a backward pass runs outside a step");
            }
        });
    }
}
