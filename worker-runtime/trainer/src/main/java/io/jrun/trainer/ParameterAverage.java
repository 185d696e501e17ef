package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.ExponentialAverage;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The averages of {@code --ema}, with their place in a checkpoint. A rank has the averages of its parts of the
 * parameters.
 *
 * @param parts the averages as parts of whole tensors
 */
record ParameterAverage(ExponentialAverage average, ShardedState parts) implements AutoCloseable {
    private static final String PREFIX = "average.";
    private static final String UPDATES_KEY = "average_updates";

    static ParameterAverage of(TrainedModel model, double decay) {
        Map<String, ShardedTensor> parameters = new LinkedHashMap<>(model.parameters());
        parameters.values().removeIf(part -> !part.isHere());
        ExponentialAverage average = new ExponentialAverage(parameters, decay);
        parameters.replaceAll((name, part) ->
                part.withLocal(Objects.requireNonNull(average.averages().get(name))));
        return new ParameterAverage(average, new ShardedState(parameters));
    }

    /** Adds this rank's parts of the averages. */
    void put(StateDict state, TrainingOptimizer optimizer) {
        optimizer.putParameters(state, PREFIX, parts);
        state.putText(UPDATES_KEY, Long.toString(average.updates()));
    }

    /** Loads the averages. A checkpoint without averages leaves an average that begins with the next step. */
    void load(SavedCheckpoint saved) {
        String updates = saved.texts().get(UPDATES_KEY);
        if (updates != null) {
            parts.loadParameters(saved, PREFIX);
            average.load(average.averages(), Long.parseLong(updates));
        }
    }

    @Override
    public void close() {
        average.close();
    }
}
