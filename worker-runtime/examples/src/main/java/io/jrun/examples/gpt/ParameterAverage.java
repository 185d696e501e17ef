package io.jrun.examples.gpt;

import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.optim.ExponentialAverage;
import io.jrun.train.tensor.ModuleTensors;
import org.bytedeco.pytorch.Module;

/** The averages of {@code --ema}, with their place in a checkpoint. */
record ParameterAverage(ExponentialAverage average) implements AutoCloseable {
    private static final String PREFIX = "average.";
    private static final String UPDATES_KEY = "average_updates";

    static ParameterAverage of(Module module, double decay) {
        return new ParameterAverage(new ExponentialAverage(ModuleTensors.parameters(module), decay));
    }

    void put(StateDict state) {
        state.putAll(PREFIX, average.averages());
        state.putText(UPDATES_KEY, Long.toString(average.updates()));
    }

    /** Loads the averages. A checkpoint without averages leaves an average that begins with the next step. */
    void load(SavedCheckpoint saved) {
        String updates = saved.texts().get(UPDATES_KEY);
        if (updates != null) {
            saved.load(new StateDict().putAll(PREFIX, average.averages()));
            average.load(average.averages(), Long.parseLong(updates));
        }
    }

    @Override
    public void close() {
        average.close();
    }
}
