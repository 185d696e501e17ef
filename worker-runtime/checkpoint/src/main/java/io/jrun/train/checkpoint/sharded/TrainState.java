package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/**
 * The parameters of a model and the states of its optimizer as one state of checkpoints, with the names of
 * {@code train.jar}. A checkpoint can be loaded on another mesh.
 *
 * @param parameters this rank's parts, by name
 * @param optimizer updates these parameters
 */
public record TrainState(Map<String, ShardedTensor> parameters, FlatOptimizer optimizer) {
    private static final String MODEL = "model.";
    private static final String OPTIMIZER = "optimizer.";

    /** @throws IllegalArgumentException if the optimizer updates a tensor that is not one of the parameters */
    public TrainState {
        optimizer.requireUpdates(parameters);
    }

    /** Saves the state after a step. Collective. */
    public void save(CheckpointManager checkpoints, long step) {
        ShardedState parts = new ShardedState(parameters);
        StateDict state = new StateDict();
        parts.putParameters(state, MODEL);
        Map<String, Tensor> copies = optimizer.state();
        parts.putOptimizer(state, OPTIMIZER, copies);
        checkpoints.save(step, state);
        copies.values().forEach(Tensor::close);
    }

    /**
     * Loads the newest checkpoint. Returns its step; 0 without a checkpoint. Collective.
     *
     * @throws CheckpointException if the checkpoint is of another model, or damaged
     * @throws IllegalArgumentException if the checkpoint is of another optimizer; the parameters are then unchanged
     */
    public long resume(CheckpointManager checkpoints) {
        long step = checkpoints.latest().orElse(0);
        if (step > 0) {
            ShardedState parts = new ShardedState(parameters);
            SavedCheckpoint saved = checkpoints.open(step);
            requireSameModel(saved);
            Map<String, Tensor> states = parts.readOptimizer(saved, OPTIMIZER);
            try {
                optimizer.requireFits(states);
                parts.loadParameters(saved, MODEL);
                optimizer.load(states, step);
            } finally {
                states.values().forEach(Tensor::close);
            }
        }
        return step;
    }

    /** The load refuses a checkpoint without a parameter of the model, and this method one with a further parameter. */
    private void requireSameModel(SavedCheckpoint saved) {
        saved.tensors().keySet().stream()
                .filter(name -> name.startsWith(MODEL) && !parameters.containsKey(name.substring(MODEL.length())))
                .findFirst()
                .ifPresent(name -> {
                    throw new CheckpointException("the checkpoint has the tensor '" + name
                            + "', but this model has no such parameter. Use the configuration that the checkpoint was"
                            + " made with, and give Parameters.withBuffers(model) for a model with buffers.");
                });
    }
}
