package io.jrun.train.weights;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.Safetensors;
import java.nio.file.Path;
import java.util.Map;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the package's page. */
class WeightsExampleTest {
    @TempDir
    Path folder;

    @Test
    void allRanksHaveTheWeightsOfTheFile() {
        Libtorch.load();
        Path file = folder.resolve("model.safetensors");
        Tensor weight = torch.rand(2, 4);
        Tensor bias = torch.rand(2);
        Safetensors.write(
                file,
                Map.of("classifier.kernel", weight, "classifier.bias", bias, "head.bias", torch.rand(9)),
                Map.of());
        LocalWorld.run(2, world -> {
            LinearImpl model = new LinearImpl(4, 2);
            assertThat(WeightsExample.load(world, file, model) > 0).isEqualTo(world.rank() == 0);
            assertThat(model.weight().equal(weight)).isTrue();
            assertThat(model.bias().equal(bias)).isTrue();
        });
    }
}
