package io.jrun.train.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.junit.jupiter.api.Test;

/** The example of the package's page. */
class PipelineExampleTest {
    private static List<LinearImpl> layers() {
        List<LinearImpl> layers = List.of(new LinearImpl(4, 8), new LinearImpl(8, 1));
        try (NoGradGuard _ = new NoGradGuard()) {
            for (LinearImpl layer : layers) {
                layer.weight().fill_(new Scalar(0.1));
                layer.bias().fill_(new Scalar(0.2));
            }
        }
        return layers;
    }

    @Test
    void twoRanksHaveTheLossOfOne() {
        Libtorch.load();
        List<Double> losses = Collections.synchronizedList(new ArrayList<>());
        for (int ranks : new int[] {1, 2}) {
            LocalWorld.run(ranks, world -> losses.add(PipelineExample.train(world, layers(), 20)));
        }
        assertThat(losses).hasSize(3).containsOnly(losses.getFirst());
        assertThat(losses.getFirst()).isBetween(0.0, 0.01);
    }
}
