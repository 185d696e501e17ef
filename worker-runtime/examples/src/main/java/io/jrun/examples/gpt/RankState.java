package io.jrun.examples.gpt;

import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** The state that one rank saves. The states of the optimizer are copies, which the end of the object frees. */
record RankState(StateDict dict, Map<String, Tensor> optimizer) implements AutoCloseable {
    private static final String MODEL = "model.";
    private static final String OPTIMIZER = "optimizer.";

    /** The state of a model, with texts. */
    static RankState of(TrainedModel model, Map<String, String> texts) {
        Map<String, Tensor> optimizer = model.optimizer().state();
        StateDict state = new StateDict();
        texts.forEach(state::putText);
        model.state().putParameters(state, MODEL);
        model.state().putOptimizer(state, OPTIMIZER, optimizer);
        return new RankState(state, optimizer);
    }

    /** Gives a model this rank's parts of a checkpoint. */
    static void load(TrainedModel model, SavedCheckpoint saved) {
        model.state().loadParameters(saved, MODEL);
        Map<String, Tensor> optimizer = model.state().readOptimizer(saved, OPTIMIZER);
        model.optimizer().load(optimizer, saved.step());
        optimizer.values().forEach(Tensor::close);
    }

    @Override
    public void close() {
        optimizer.values().forEach(Tensor::close);
    }
}
