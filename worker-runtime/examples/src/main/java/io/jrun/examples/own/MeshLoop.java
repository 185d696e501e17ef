package io.jrun.examples.own;

import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.TrainState;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.model.InitialValues;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.tensorparallel.TensorParallel;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A loop by hand: ranks share states and layers, checkpoints, resume. Arguments: ranks of tp, steps, a folder. */
public final class MeshLoop {
    /** Trains on all ranks. */
    public static void main(String[] args) {
        try (World world = Distributed.init()) {
            var model = new OwnModel(new ModelSetup(64, 16, Device.CPU, 1)).build();
            train(model, world, Integer.parseInt(args[0]), Long.parseLong(args[1]), args[2]);
        }
    }

    /** Trains, from the newest checkpoint on. */
    public static void train(LayeredModel model, World world, int tp, long steps, String folder) {
        var mesh = DeviceMesh.of(world, "shard", world.size() / tp, "tp", tp);
        TensorParallel.apply(model, mesh.axis("tp"), model.tensorParallelPlan());
        new InitialValues(1, model.blockCount()).fill(model);
        var sharded = FullyShard.apply(model, mesh.axis("shard"));
        long share = 4L * tp / world.size(); // texts of a step on this rank
        try (mesh;
                var optimizer = sharded.optimizer(FusedAdamW.DEFAULT, ParameterGroup.all(0.1), _ -> 1e-3);
                var checkpoints = CheckpointManager.open(folder, world.group(), world.runId(), Retention.DEFAULT)) {
            var state = new TrainState(sharded.parameters(), optimizer);
            for (long step = state.resume(checkpoints); step < steps; step++) {
                try (var scope = sharded.step()) {
                    optimizer.zeroGradients();
                    Tensor texts = torch.arange(new Scalar(68 * step), new Scalar(68 * step + 68))
                            .view(4, 17);
                    Tensor mine = texts.remainder(new Scalar(64L)).narrow(0, share * mesh.coordinate("shard"), share);
                    scope.backward(model.loss(mine.narrow(1, 0, 16), mine.narrow(1, 1, 16)));
                    Gradients.clip(sharded.parameters().values(), 1.0);
                    optimizer.step();
                }
                if ((step + 1) % 3 == 0) {
                    state.save(checkpoints, step + 1);
                }
            }
        }
    }
}
