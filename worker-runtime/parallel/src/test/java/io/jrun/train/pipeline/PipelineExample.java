package io.jrun.train.pipeline;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import java.util.Collections;
import java.util.List;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** Each rank has one layer of the model. Start: {@code jrun --nproc-per-node=2 PipelineExample.java}. */
public final class PipelineExample {
    private PipelineExample() {}

    /** Prints the loss, which all ranks know. */
    public static void main(String[] args) {
        torch.manual_seed(1); // equal first values on all ranks
        List<LinearImpl> layers = List.of(new LinearImpl(4, 8), new LinearImpl(8, 1));
        try (World world = Distributed.init()) {
            System.out.println("the loss of the last step is " + train(world, layers, 20));
        }
    }

    /** Learns zeros from ones. A step sends 4 micro-batches through the ranks. */
    static double train(World world, List<LinearImpl> layers, int steps) {
        var parts = List.of(
                PipelineLayer.of(
                        "first", layers.get(0), x -> torch.gelu(layers.get(0).forward(x))),
                PipelineLayer.of("last", layers.get(1), layers.get(1)::forward));
        double loss = 0;
        try (var mesh = DeviceMesh.of(world, "pp", world.size());
                var model = new PipelineParallel(
                        parts,
                        torch::mse_loss,
                        mesh.axis("pp"),
                        PipelineOptions.of(ScheduleKind.ONE_FORWARD_ONE_BACKWARD, world.size(), 1, 4))) {
            var mine = new TensorVector(model.parameters().values().stream()
                    .map(parameter -> parameter.local())
                    .toArray(Tensor[]::new));
            var optimizer = new SGD(mine, new SGDOptions(0.05)); // of the layers of this rank
            for (int step = 0; step < steps; step++) {
                optimizer.zero_grad();
                loss = model.step(Collections.nCopies(4, torch.ones(2, 4)), Collections.nCopies(4, torch.zeros(2, 1)));
                optimizer.step();
            }
        }
        return loss;
    }
}
