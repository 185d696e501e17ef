package io.jrun.train.elastic;

import io.jrun.comm.WorkerSetup;
import io.jrun.comm.elastic.Elastic;
import io.jrun.comm.elastic.ElasticRound;
import io.jrun.train.NativeSetup;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.Step;
import java.io.UncheckedIOException;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains a step in a world of one, in place of {@link NativeSetup}: what the agent makes the workers' archive of classes from
 * should hold the thousand and more that every use of libtorch loads, whatever is in this node's cache.
 */
public final class TrainingRehearsal implements WorkerSetup {
    private static final int WIDTH = 4;
    private static final double LEARNING_RATE = 0.1;

    @Override
    public void prepare() {
        new NativeSetup().prepare();
        try {
            Network network = new Network();
            var state = new TrainingState<>(
                    network,
                    () -> new SGD(network.parameters(), new SGDOptions(LEARNING_RATE)),
                    new ElasticSampler(WIDTH, WIDTH, 0));
            Elastic.run(state, round -> train(state, round));
        } catch (UncheckedIOException | LinkageError e) {
            System.err.println("jrun: " + e.getMessage()); // the archive will hold what was loaded until here
        }
    }

    private static void train(TrainingState<Network, SGD> state, ElasticRound round) {
        try (var model = new DistributedDataParallel<>(state.model(), round.group());
                Step step = model.step()) {
            ElasticSampler.Share share = state.sampler().next(round.group());
            state.optimizer().zero_grad();
            Tensor input = torch.ones(share.samples().length, WIDTH);
            Tensor loss = torch.mse_loss(state.model().layer.forward(input), input);
            step.backward(loss.mul(new Scalar(share.weight())));
            state.optimizer().step();
            state.stepDone();
        }
        round.commit();
    }

    private static final class Network extends Module {
        private final LinearImpl layer = register_module("layer", new LinearImpl(WIDTH, WIDTH));
    }
}
