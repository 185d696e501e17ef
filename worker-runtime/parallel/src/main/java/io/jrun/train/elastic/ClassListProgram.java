package io.jrun.train.elastic;

import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.elastic.Elastic;
import io.jrun.comm.elastic.ElasticRound;
import io.jrun.train.Libtorch;
import io.jrun.train.data.DataLoaderState;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.step.Step;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A worker's program that trains some steps, loses a rank, and continues with a new rank. jrun makes the class-data
 * archive of the workers from the classes that this program loads: more than a thousand classes of libtorch, the
 * classes that join ranks, the classes that read and write JSON, and the classes that a failure needs.
 */
public final class ClassListProgram {
    private static final int WIDTH = 4;
    private static final int STEPS = 4;
    private static final int LOST_AT = 2;
    private static final double LEARNING_RATE = 0.1;

    /** A reduction so large that the runtime loads its vector code. */
    private static final int LARGE = 8 << 20; // floats

    private ClassListProgram() {}

    /** Entry point. */
    public static void main(String[] args) {
        try {
            Libtorch.load();
        } catch (UncheckedIOException | LinkageError e) {
            // The archive then holds the classes that are loaded without libtorch.
            System.err.println("jrun: " + e.getMessage());
            try (World world = Distributed.init()) {
                world.group().barrier();
            }
            return;
        }
        Libtorch.setThreads(1);
        DataLoaderState _ = DataLoaderState.parse(DataLoaderState.start(0).toJson());
        Network network = new Network();
        var state = new TrainingState<>(
                network,
                () -> new SGD(network.parameters(), new SGDOptions(LEARNING_RATE)),
                new ElasticSampler(WIDTH, WIDTH, 0));
        Elastic.run(state, round -> train(state, round));
    }

    private static void train(TrainingState<Network, SGD> state, ElasticRound round) {
        boolean isLost = round.world().restartCount() == 0 && round.world().rank() > 0;
        round.group().allReduce(MemorySegment.ofArray(new float[LARGE]), DataType.F32, LARGE, ReduceOp.SUM);
        try (var model = new DistributedDataParallel<>(state.model(), round.group())) {
            while (state.step() < STEPS) {
                step(model, state, round);
                round.commit();
                if (isLost && state.step() == LOST_AT) {
                    Runtime.getRuntime().halt(1);
                }
            }
        }
    }

    private static void step(
            DistributedDataParallel<Network> model, TrainingState<Network, SGD> state, ElasticRound round) {
        try (Step step = model.step()) {
            ElasticSampler.Share share = state.sampler().next(round.group());
            state.optimizer().zero_grad();
            Tensor input = Tensor.create(new float[share.samples().length * WIDTH], share.samples().length, WIDTH);
            Tensor loss = torch.mse_loss(state.model().layer.forward(input), input);
            step.backward(loss.mul(new Scalar(share.weight())));
            state.optimizer().step();
            state.stepDone();
            System.out.printf(Locale.ROOT, "step %d: loss %.4f%n", state.step(), loss.item_double());
        }
    }

    private static final class Network extends Module {
        private final LinearImpl layer = register_module("layer", new LinearImpl(WIDTH, WIDTH));
    }
}
