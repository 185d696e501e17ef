package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.trainer.TrainingRecipe.ParameterType;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.Tensor;

/**
 * The state that one rank saves. The states of the optimizer and of this rank alone are copies, which the end of the
 * object frees.
 */
record RankState(StateDict dict, List<Tensor> copies) implements AutoCloseable {
    private static final String MODEL = "model.";
    private static final String OPTIMIZER = "optimizer.";

    /** The state of a training on a rank, with texts. */
    static RankState of(TrainingSteps training, int rank, Map<String, String> texts) {
        TrainedModel model = training.model();
        Map<String, Tensor> own = training.ownState();
        StateDict state = new StateDict();
        texts.forEach(state::putText);
        model.optimizer().putParameters(state, MODEL, model.state());
        List<Tensor> copies = new ArrayList<>(own.values());
        copies.addAll(model.optimizer().put(state, OPTIMIZER, model.state()));
        state.putAll(own(rank), own);
        return new RankState(state, copies);
    }

    /** Gives a training this rank's parts of a checkpoint. */
    static void load(TrainingSteps training, SavedCheckpoint saved, int rank) {
        TrainedModel model = training.model();
        model.state().loadParameters(saved, MODEL);
        model.optimizer().load(saved, OPTIMIZER, model.state());
        Map<String, Tensor> own = saved.read(own(rank));
        if (!own.isEmpty()) {
            training.loadOwnState(own);
            own.values().forEach(Tensor::close);
        }
    }

    /**
     * Refuses a checkpoint whose parameters have another type than the parameters of this run.
     *
     * @param names of this rank's parameters; buffers may have any type
     */
    static void requireType(
            SavedCheckpoint saved, ParameterType type, CheckpointManager from, Collection<String> names) {
        Set<String> parameters = names.stream().map(name -> MODEL + name).collect(Collectors.toSet());
        saved.tensors().values().stream()
                .filter(tensor -> parameters.contains(tensor.name()))
                .map(tensor -> tensor.type().name().toLowerCase(Locale.ROOT))
                .filter(word -> !word.equals(type.word()))
                .findFirst()
                .ifPresent(word -> {
                    throw new InvalidArgumentException("the checkpoint in " + from + " has parameters of " + word
                            + ", this run's are of " + type.word() + ": give --parameters=" + word
                            + ", or another --checkpoint");
                });
    }

    private static String own(int rank) {
        return String.format(Locale.ROOT, "rank%05d.", rank);
    }

    @Override
    public void close() {
        copies.forEach(Tensor::close);
    }
}
