package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.tensor.ModuleTensors;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ShardedStagesTest {
    private static final int VOCABULARY = 10;
    private static final int WIDTH = 4;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** The embedding and the output layer have one matrix, which has a name in each of them. */
    private static final class TiedModel extends Module {
        private final EmbeddingImpl tokens = register_module("tokens", new EmbeddingImpl(VOCABULARY, WIDTH));
        private final LinearImpl middle = register_module("middle", new LinearImpl(WIDTH, WIDTH));
        private final Module head = register_module("head", new Module());
        private final Tensor weight = tokens.weight();
        private final Tensor bias = torch.zeros(VOCABULARY).set_requires_grad(true);

        TiedModel() {
            Tensor _ = head.register_parameter("weight", weight);
            Tensor _ = head.register_parameter("bias", bias);
            try (NoGradGuard _ = new NoGradGuard()) {
                ModuleTensors.parameters(this).values().forEach(tensor -> tensor.fill_(new Scalar(0.1)));
            }
        }

        List<PipelineLayer> layers() {
            return List.of(
                    PipelineLayer.of("tokens", tokens, tokens::forward),
                    PipelineLayer.of("middle", middle, middle::forward),
                    new PipelineLayer(
                            "head",
                            Map.of("head.weight", weight, "head.bias", bias),
                            x -> torch.linear(x, weight, bias)));
        }
    }

    @Test
    void theRanksOfAPipelineHaveTheNamesOfTheModelOfOneRank() {
        Set<String> names =
                new TreeSet<>(ModuleTensors.parameters(new TiedModel()).keySet());
        Map<Integer, Set<String>> gathered = new ConcurrentHashMap<>();
        Map<Integer, Set<String>> kept = new ConcurrentHashMap<>();
        LocalWorld.run(4, world -> {
            DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "shard", 2);
            FullyShardedDataParallel parallel = new FullyShardedDataParallel(mesh.axis("shard"), FsdpOptions.DEFAULT);
            PipelineOptions options = PipelineOptions.of(ScheduleKind.ONE_FORWARD_ONE_BACKWARD, 2, 1, 2)
                    .withReplicas(new ShardedStages(parallel));
            try (PipelineParallel _ = new PipelineParallel(
                    new TiedModel().layers(), torch::cross_entropy_loss, mesh.axis("pp"), options)) {
                gathered.put(
                        world.rank(),
                        parallel.wholeParameters((_, whole) -> whole.numel()).keySet());
                kept.put(world.rank(), parallel.parameters().keySet());
            }
        });
        Set<String> all = new TreeSet<>();
        gathered.values().forEach(all::addAll);
        assertThat(names).contains("tokens.weight").doesNotContain("head.weight");
        assertThat(all).isEqualTo(names);
        assertThat(gathered)
                .isEqualTo(kept)
                .allSatisfy((_, ofRank) -> assertThat(ofRank).contains("tokens.weight"));
    }
}
