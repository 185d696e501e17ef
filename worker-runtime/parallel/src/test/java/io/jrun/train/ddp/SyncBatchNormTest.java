package io.jrun.train.ddp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Against libtorch's batch norm over the samples of all ranks in one batch. */
class SyncBatchNormTest {
    private static final int CHANNELS = 3;
    /** Samples of each rank; the last one has none. */
    private static final int[] SAMPLES = {4, 1, 0};

    private static final int ALL = 5;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor random(long seed, long... sizes) {
        try (Generator generator = torch.createCPUGenerator(seed)) {
            return torch.randn(sizes, new GeneratorOptional(generator), new TensorOptions(torch.ScalarType.Float));
        }
    }

    private static Tensor batch(int pass) {
        return random(pass, ALL, CHANNELS, 2, 2).mul(new Scalar(3)).add(new Scalar(1));
    }

    private static void setWeights(Map<String, Tensor> parameters) {
        try (NoGradGuard _ = new NoGradGuard()) {
            Objects.requireNonNull(parameters.get("weight")).copy_(random(77, CHANNELS));
            Objects.requireNonNull(parameters.get("bias")).copy_(random(78, CHANNELS));
        }
    }

    @Test
    void valuesGradientsAndRunningStatisticsEqualThoseOfOneBatch() {
        BatchNorm2dImpl serial = new BatchNorm2dImpl(new BatchNormOptions(CHANNELS));
        setWeights(ModuleTensors.parameters(serial));
        List<Tensor> inputs = new ArrayList<>();
        List<Tensor> outputs = new ArrayList<>();
        for (int pass = 0; pass < 2; pass++) {
            Tensor x = batch(pass).requires_grad_(true);
            Tensor y = serial.forward(x);
            y.mul(random(50 + pass, ALL, CHANNELS, 2, 2)).sum().backward();
            inputs.add(x);
            outputs.add(y);
        }
        serial.eval();
        Tensor evaluated = serial.forward(batch(9));
        LocalWorld.run(SAMPLES.length, world -> {
            SyncBatchNorm norm = new SyncBatchNorm(CHANNELS, world.group());
            setWeights(ModuleTensors.parameters(norm));
            long begin = 0;
            for (int rank = 0; rank < world.rank(); rank++) {
                begin += SAMPLES[rank];
            }
            long count = SAMPLES[world.rank()];
            for (int pass = 0; pass < 2; pass++) {
                Tensor x = batch(pass).narrow(0, begin, count).clone().requires_grad_(true);
                Tensor y = norm.forward(x);
                y.mul(random(50 + pass, ALL, CHANNELS, 2, 2).narrow(0, begin, count))
                        .sum()
                        .backward();
                assertClose(y, outputs.get(pass).narrow(0, begin, count));
                assertClose(x.grad(), inputs.get(pass).grad().narrow(0, begin, count));
            }
            ModuleTensors.parameters(norm).forEach((name, parameter) -> {
                Tensor sum = parameter.grad().clone();
                new TensorCollectives(world.group()).allReduce(sum, ReduceOp.SUM);
                assertClose(
                        sum,
                        Objects.requireNonNull(ModuleTensors.parameters(serial).get(name))
                                .grad());
            });
            ModuleTensors.buffers(serial)
                    .forEach((name, buffer) -> assertClose(
                            Objects.requireNonNull(ModuleTensors.buffers(norm).get(name)), buffer));
            norm.eval();
            assertClose(norm.forward(batch(9)), evaluated);
        });
    }

    /** Autocast gives bfloat16 inputs. 300 is no bfloat16 number, so the counts must be of a wider type. */
    @Test
    void inputsOfFewerBitsAreNormalisedInFloat32() {
        Tensor whole = random(3, 301, CHANNELS).to(torch.ScalarType.BFloat16);
        BatchNorm1dImpl serial = new BatchNorm1dImpl(new BatchNormOptions(CHANNELS));
        Tensor wide = whole.to(torch.ScalarType.Float).requires_grad_(true);
        Tensor expected = serial.forward(wide);
        expected.mul(random(4, 301, CHANNELS)).sum().backward();
        LocalWorld.run(2, world -> {
            SyncBatchNorm norm = new SyncBatchNorm(CHANNELS, world.group());
            long begin = world.rank() == 0 ? 0 : 300;
            long count = world.rank() == 0 ? 300 : 1;
            Tensor x = whole.narrow(0, begin, count).clone().requires_grad_(true);
            Tensor y = norm.forward(x);
            y.mul(random(4, 301, CHANNELS).narrow(0, begin, count)).sum().backward();
            assertRounded(y, expected.narrow(0, begin, count));
            assertRounded(x.grad(), wide.grad().narrow(0, begin, count));
            ModuleTensors.buffers(serial)
                    .forEach((name, buffer) -> assertClose(
                            Objects.requireNonNull(ModuleTensors.buffers(norm).get(name)), buffer));
        });
    }

    /** A bfloat16 number has 8 bits. The gradient of the output is rounded too, so small gradients of x are not exact. */
    private static void assertRounded(Tensor actual, Tensor expected) {
        assertThat(actual.scalar_type().intern()).isEqualTo(torch.ScalarType.BFloat16);
        assertThat(torch.allclose(actual.to(torch.ScalarType.Float), expected, 0x1p-7, 0x1p-6, false))
                .as(() -> actual + " and " + expected)
                .isTrue();
    }

    private static void assertClose(Tensor actual, Tensor expected) {
        assertThat(TensorMemory.form(actual)).isEqualTo(TensorMemory.form(expected));
        assertThat(torch.allclose(actual, expected, 1e-5, 1e-5, false))
                .as(() -> actual + " and " + expected)
                .isTrue();
    }
}
