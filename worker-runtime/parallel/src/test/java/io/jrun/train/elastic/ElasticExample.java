package io.jrun.train.elastic;

import io.jrun.comm.elastic.Elastic;
import io.jrun.comm.elastic.ElasticRound;
import io.jrun.train.ddp.DistributedDataParallel;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Goes on when a worker is killed. Start: {@code jrun --nproc-per-node=2 --max-restarts=3 ElasticExample.java}. */
public final class ElasticExample {
    private ElasticExample() {}

    /** Trains 1000 steps. */
    public static void main(String[] args) {
        System.out.println("the training ends after step " + train(1000).step());
    }

    /** Each round goes on from the last commit, on the workers that are left and on new ones. */
    static TrainingState<LinearImpl, SGD> train(int steps) {
        LinearImpl model = new LinearImpl(1, 1);
        var state = new TrainingState<>(
                model, () -> new SGD(model.parameters(), new SGDOptions(0.1)), new ElasticSampler(100, 10, 1));
        Elastic.run(state, round -> {
            try (var ddp = new DistributedDataParallel<>(state.model(), round.group())) {
                while (state.step() < steps) {
                    step(ddp, state, round);
                    round.commit();
                }
            }
        });
        return state;
    }

    /** Learns that sample i has the value i / 100. */
    private static void step(
            DistributedDataParallel<LinearImpl> ddp, TrainingState<LinearImpl, SGD> state, ElasticRound round) {
        try (var step = ddp.step()) {
            var share = state.sampler().next(round.group()); // this rank's samples of the batch
            Tensor x = torch.tensor(share.samples()).view(-1, 1).div(new Scalar(100.0));
            state.optimizer().zero_grad();
            step.backward(torch.mse_loss(state.model().forward(x), x).mul(new Scalar(share.weight())));
            state.optimizer().step();
            state.stepDone();
        }
    }
}
