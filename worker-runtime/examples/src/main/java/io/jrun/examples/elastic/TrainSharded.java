package io.jrun.examples.elastic;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.elastic.Elastic;
import io.jrun.comm.elastic.ElasticRound;
import io.jrun.comm.elastic.ElasticState;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.sharded.PeerSnapshots;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.elastic.ElasticSampler;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.TensorMemory;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains a network of which each worker holds a part. Each worker keeps a snapshot of its part in the memory of a
 * neighbour, after each step. When a worker is killed, a new worker gets the part of the lost worker from the
 * neighbour, and all workers go on after the last whole step. Takes the options of {@link TrainElastic} without those
 * of checkpoints and holds.
 */
public final class TrainSharded {
    private static final int REPORT_EVERY = 10;
    private static final int COPIES = 2;
    private static final double LEARNING_RATE = 0.01;

    private final ElasticOptions options;
    private final PeerSnapshots snapshots = new PeerSnapshots(COPIES);

    private TrainSharded(ElasticOptions options) {
        this.options = options;
    }

    /** Trains; exits with 2 and a line on stderr if the arguments are unusable. */
    public static void main(String[] args) throws InterruptedException {
        Optional<ElasticOptions> options = ElasticOptions.parseOrExit(ElasticOptions.SHARDED, args);
        if (options.isEmpty()) {
            return;
        }
        Libtorch.setThreads(1);
        TrainSharded training = new TrainSharded(options.get());
        Elastic.run(new InSnapshots(), training::train);
    }

    /** The state is in the snapshots. */
    private static final class InSnapshots implements ElasticState {
        @Override
        public void save() {}

        @Override
        public void restore() {}

        @Override
        public void broadcast(ProcessGroup group, int root) {}
    }

    private void train(ElasticRound round) throws InterruptedException {
        World world = round.world();
        SpiralNet net = new SpiralNet(1);
        FullyShardedDataParallel parallel = FullyShard.apply(net, new MeshAxis("shard", round.group()));
        try (FlatOptimizer optimizer = parallel.optimizer(
                FusedAdamW.DEFAULT, ParameterGroup.all(0), LearningRateSchedule.constant(LEARNING_RATE))) {
            ShardedState parts = new ShardedState(parallel.parameters());
            long step = recover(world, parts, parallel, optimizer);
            ElasticSampler sampler = new ElasticSampler(Spirals.SAMPLES, options.batch(), 1);
            sampler.goTo(step);
            System.out.printf(
                    Locale.ROOT,
                    "rank %d of %d (pid %d) begins at step %d%n",
                    world.rank(),
                    world.size(),
                    ProcessHandle.current().pid(),
                    step);
            while (step < options.steps()) {
                double loss = step(net, parallel, optimizer, sampler.next(round.group()));
                step++;
                try (PointerScope _ = new PointerScope()) {
                    snapshots.take(world, step, state(parts, optimizer.state()));
                }
                if (step % REPORT_EVERY == 0 && world.rank() == 0) {
                    System.out.printf(Locale.ROOT, "step %d: loss of rank 0's samples %.4f%n", step, loss);
                }
                TimeUnit.MILLISECONDS.sleep(options.pauseMillis());
            }
            finish(world, parallel);
        }
    }

    private static double step(
            SpiralNet net, FullyShardedDataParallel parallel, FlatOptimizer optimizer, ElasticSampler.Share share) {
        try (Step scope = parallel.step()) {
            optimizer.zeroGradients();
            Tensor loss = net.loss(share.samples());
            scope.backward(loss.mul(new Scalar(share.weight())));
            optimizer.step();
            return loss.item_double();
        }
    }

    private static StateDict state(ShardedState parts, Map<String, Tensor> optimizer) {
        StateDict state = new StateDict();
        parts.putParameters(state, "model.");
        parts.putOptimizer(state, "optimizer.", optimizer);
        return state;
    }

    /** Fills this rank's parts from the memory of the ranks. Returns the number of steps that were made. */
    private long recover(World world, ShardedState parts, FullyShardedDataParallel parallel, FlatOptimizer optimizer) {
        Map<String, Tensor> states = new LinkedHashMap<>();
        Parameters.here(parallel.parameters()).forEach((name, part) -> {
            states.put(name + ".exp_avg", TensorMemory.own(torch.zeros_like(part)));
            states.put(name + ".exp_avg_sq", TensorMemory.own(torch.zeros_like(part)));
            try (TensorOptions whole = new TensorOptions(torch.ScalarType.Long)) {
                states.put(name + ".step", TensorMemory.own(torch.scalar_tensor(new Scalar(0L), whole)));
            }
        });
        long step = snapshots
                .recover(world, state(parts, states))
                .map(PeerSnapshots.Recovered::step)
                .orElse(0L);
        if (step > 0) {
            optimizer.load(states, step);
        }
        states.values().forEach(Tensor::close);
        return step;
    }

    private void finish(World world, FullyShardedDataParallel parallel) {
        Map<String, Tensor> whole = parallel.wholeParameters((_, tensor) -> TensorMemory.own(tensor.clone()));
        if (world.rank() == 0) {
            options.out().ifPresent(file -> Safetensors.write(file, whole, Map.of()));
        }
    }
}
