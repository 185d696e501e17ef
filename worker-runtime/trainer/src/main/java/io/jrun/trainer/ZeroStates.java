package io.jrun.trainer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.zero.PartitionedStages;
import io.jrun.train.zero.ZeroDataParallel;
import io.jrun.train.zero.ZeroOptimizer;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** An optimizer over flat memory whose states are spread over the ranks. */
record ZeroStates(ZeroOptimizer optimizer, ScheduleOfStep schedule) implements TrainingOptimizer {
    /** The states beside gradients that each rank holds whole. */
    static ZeroStates stageOne(
            UpdateOptions update, DistributedDataParallel<TrainableModel> model, ProcessGroup group) {
        ScheduleOfStep schedule = new ScheduleOfStep();
        return new ZeroStates(ZeroOptimizer.stageOne(model, group, update.rule(), update.groups(), schedule), schedule);
    }

    /** The states beside gradients that are spread too. */
    static ZeroStates stageTwo(UpdateOptions update, ZeroDataParallel<TrainableModel> model) {
        ScheduleOfStep schedule = new ScheduleOfStep();
        return new ZeroStates(ZeroOptimizer.stageTwo(model, update.rule(), update.groups(), schedule), schedule);
    }

    /** The states on a mesh. */
    static ZeroStates ofStages(UpdateOptions update, PartitionedStages stages) {
        ScheduleOfStep schedule = new ScheduleOfStep();
        return new ZeroStates(ZeroOptimizer.ofStages(stages, update.rule(), update.groups(), schedule), schedule);
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
