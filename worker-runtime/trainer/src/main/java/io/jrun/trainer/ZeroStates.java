package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.reducer.GradientReducer;
import io.jrun.train.zero.ZeroOptimizer;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** An optimizer over flat memory whose states are spread over the ranks. */
record ZeroStates(ZeroOptimizer optimizer, ScheduleOfStep schedule) implements TrainingOptimizer {
    /** The states of the parameters of a reducer. */
    static ZeroStates of(UpdateOptions update, GradientReducer reducer) {
        ScheduleOfStep schedule = new ScheduleOfStep();
        return new ZeroStates(ZeroOptimizer.of(reducer, update.rule(), update.groups(), schedule), schedule);
    }

    /** Parameters without gradients, and buffers, have no parts. */
    @Override
    public void putParameters(StateDict into, String prefix, ShardedState parameters) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        parameters.parameters().forEach((name, parameter) -> tensors.put(name, parameter.local()));
        optimizer.putParts(into, prefix, tensors);
        Map<String, ShardedTensor> others = new LinkedHashMap<>(parameters.parameters());
        others.keySet().removeAll(optimizer.names());
        new ShardedState(others).putParameters(into, prefix);
    }

    @Override
    public boolean hasPartsOnly() {
        return optimizer.hasPartsOnly();
    }

    @Override
    public Collection<Tensor> put(StateDict into, String prefix, ShardedState parameters) {
        optimizer.putStates(into, prefix);
        return List.of();
    }

    @Override
    public void load(SavedCheckpoint saved, String prefix, ShardedState parameters) {
        optimizer.loadStates(saved, prefix);
    }
}
