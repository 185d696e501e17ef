package io.jrun.examples.gpt;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.TensorParallel;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The model of train.jar on tensor parallel ranks. */
class SharedLayersTest {
    private static final int STEPS = 3;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor bytes(int step) {
        long[] numbers = new long[2 * 16];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (i * 37L + step * 53L + 11) % 256;
        }
        return Tensor.create(numbers, 2, 16);
    }

    private static void train(Gpt model) {
        SGD optimizer = new SGD(model.parameters(), new SGDOptions(0.1));
        for (int step = 0; step < STEPS; step++) {
            try (PointerScope _ = new PointerScope()) {
                optimizer.zero_grad();
                model.loss(bytes(step), bytes(step + 1)).backward();
                optimizer.step();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"true,false", "false,true"})
    void parametersEqualTheSerialOnes(boolean isTied, boolean isSequenceParallel) {
        GptConfig config = new GptConfig(2, 32, 4, 16, isTied);
        Gpt serial = new Gpt(config, 1);
        train(serial);
        Map<String, Tensor> expected = ModuleTensors.parameters(serial);
        LocalWorld.run(2, world -> {
            Gpt model = new Gpt(config, 1);
            MeshAxis axis = new MeshAxis("tp", world.group());
            Map<String, ShardedTensor> parameters =
                    TensorParallel.parallelize(model, axis, isSequenceParallel, model.tensorParallelPlan());
            train(model);
            try (NoGradGuard _ = new NoGradGuard()) {
                parameters.forEach((name, parameter) -> {
                    Tensor difference = parameter.whole(axis).sub(Objects.requireNonNull(expected.get(name)));
                    assertThat(difference.abs().max().item_double()).as(name).isLessThan(1e-6);
                });
            }
        });
    }
}
