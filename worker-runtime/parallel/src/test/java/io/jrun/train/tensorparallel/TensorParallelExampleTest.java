package io.jrun.train.tensorparallel;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.TensorParallelExample.FeedForward;
import java.util.Map;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** The example of the package's page. */
class TensorParallelExampleTest {
    @Test
    void aSharedLayerComputesWhatTheWholeLayerComputes() {
        Libtorch.load();
        FeedForward whole = new FeedForward();
        Map<String, Tensor> values = ModuleTensors.parameters(whole);
        Tensor x = torch.rand(3, 8);
        try (NoGradGuard _ = new NoGradGuard()) {
            values.values().forEach(parameter -> parameter.copy_(torch.rand_like(parameter)));
        }
        Tensor expected = whole.forward(x);
        LocalWorld.run(2, world -> {
            FeedForward layer = new FeedForward();
            try (NoGradGuard _ = new NoGradGuard()) {
                ModuleTensors.parameters(layer).forEach((name, parameter) -> parameter.copy_(values.get(name)));
            }
            try (DeviceMesh mesh = DeviceMesh.of(world, "tp", 2)) {
                TensorParallelExample.share(layer, mesh);
                assertThat(layer.up.weight().size(0)).isEqualTo(16);
                assertThat(layer.forward(x).allclose(expected, 1e-5, 1e-5, false))
                        .isTrue();
            }
        });
    }
}
