package com.example;

import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.TrainState;
import io.jrun.train.data.DistributedSampler;
import io.jrun.train.data.SamplerOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.model.InitialValues;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TensorParallel;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Learns y = sin(x). All ranks share the states of the model. With the argument N, N ranks each share the layers. */
public final class Train {
    static LinearLayer linear(long from, long to) {
        return new LinearLayer(from, to, true, LinearLayer.Layout.LINEAR, Device.CPU);
    }

    static final class Net extends LayeredModel {
        Net() {
            super(new ModelSetup(1, 1, Device.CPU, 1));
            first("in", () -> linear(1, 64), LinearLayer::forward);
            block(Block::new, Block::forward);
            block(Block::new, Block::forward);
            last("out", () -> linear(64, 1), LinearLayer::forward);
        }

        @Override
        public Tensor outputLoss(Tensor outputs, Tensor targets) {
            return torch.mse_loss(outputs, targets);
        }

        @Override
        public Map<String, ParallelStyle> tensorParallelPlan() {
            return Map.of("block*.up", ParallelStyle.COLUMN, "block*.down", ParallelStyle.ROW);
        }
    }

    static final class Block extends CompositeModule {
        final LinearLayer up = add("up", linear(64, 256));
        final LinearLayer down = add("down", linear(256, 64));

        Tensor forward(Tensor x) {
            return x.add(down.forward(torch.tanh(up.forward(x))));
        }
    }

    public static void main(String[] args) {
        int tp = args.length == 0 ? 1 : Integer.parseInt(args[0]);
        var model = new Net().build();
        try (World world = Distributed.init();
                var mesh = DeviceMesh.of(world, "shard", world.size() / tp, "tp", tp)) {
            TensorParallel.apply(model, mesh.axis("tp"), model.tensorParallelPlan());
            new InitialValues(1, model.blockCount()).fill(model);
            var sharded = FullyShard.apply(model, mesh.axis("shard"));
            try (var optimizer = sharded.optimizer(FusedAdamW.DEFAULT, ParameterGroup.all(0), _ -> 0.003);
                    var checkpoints = CheckpointManager.open(
                            "checkpoints", world.group(), world.runId(), Retention.DEFAULT)) {
                var state = new TrainState(sharded.parameters(), optimizer);
                var sampler = DistributedSampler.of(1024, mesh.group("shard"), SamplerOptions.TRAINING);
                long first = state.resume(checkpoints) + 1;
                if (world.rank() == 0 && first > 1) {
                    System.out.printf("goes on after step %d of the folder checkpoints%n", first - 1);
                }
                for (long step = first; step <= 100; step++) {
                    try (var scope = sharded.step()) { // frees the step's native memory
                        optimizer.zeroGradients();
                        sampler.setEpoch(step); // a resumed job has the same order
                        double[] angles = sampler.indices().mapToDouble(i -> Math.PI * (i - 512) / 512).toArray();
                        Tensor x = Tensor.create(angles, angles.length, 1).to(torch.ScalarType.Float);
                        Tensor loss = model.loss(x, x.sin());
                        scope.backward(loss); // the gradients are now the mean over all ranks
                        Gradients.clip(sharded.parameters().values(), 1.0);
                        optimizer.step();
                        if (world.rank() == 0 && step % 20 == 0) {
                            System.out.printf("step %d loss %.4f%n", step, loss.item_double());
                        }
                    }
                    if (step % 50 == 0) {
                        state.save(checkpoints, step);
                    }
                }
            }
        }
    }
}
