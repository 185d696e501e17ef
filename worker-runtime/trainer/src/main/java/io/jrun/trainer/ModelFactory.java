package io.jrun.trainer;

import io.jrun.comm.World;
import io.jrun.comm.file.OutputFile;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.model.TrainableModel;
import io.jrun.trainer.data.ChatData;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.data.TokenWindows;
import io.jrun.trainer.data.TrainingData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Function;
import org.bytedeco.pytorch.Tensor;

/** Defines the model of a training, its data, its callbacks and its file. All ranks get equal setups. */
@FunctionalInterface
public interface ModelFactory {
    /**
     * A model with samples of the program. The options of {@code --data} have no effect on them.
     *
     * @param model makes a new object for each setup; {@code ModelSetup.vocabulary()} is that of the data
     */
    static ModelFactory of(Function<ModelSetup, ModelDefinition> model, TrainingData<?> data) {
        return new ModelFactory() {
            @Override
            public ModelDefinition of(ModelSetup setup) {
                return model.apply(setup);
            }

            @Override
            public TrainingData<?> open(DataOptions options, int context, World world) {
                return data;
            }
        };
    }

    /**
     * The model for a setup. Each call makes a new object.
     *
     * @throws io.jrun.trainer.arguments.InvalidArgumentException with one line, if no such model can be made
     */
    ModelDefinition of(ModelSetup setup);

    /**
     * Whether the model has layers of experts. Options that do not work with experts are then refused. A model with
     * such a layer is refused if this method returns false.
     */
    default boolean hasExperts() {
        return false;
    }

    /** The most tokens of one text; empty if the model takes the number of {@code --context}. */
    default OptionalInt longestContext() {
        return OptionalInt.empty();
    }

    /** The options of the data, with the values of options that are not given. */
    default DataOptions data(DataOptions given) {
        return given;
    }

    /**
     * Opens the data of the training. By default windows of the text or the token files of {@code --data}, or its
     * conversations. Collective.
     *
     * @param context tokens of a window, see {@code --context}
     * @throws io.jrun.train.data.DataException in one line, if the data cannot be used
     */
    default TrainingData<?> open(DataOptions options, int context, World world) {
        return options.chat().isPresent()
                ? ChatData.open(options, context, world)
                : TokenWindows.open(options, context, world);
    }

    /** The callbacks of the program after steps, evaluations and checkpoints; none by default. Called once. */
    default List<TrainingCallback> callbacks() {
        return List.of();
    }

    /** Checks that {@link #save} can write, before the first step. By default {@code out} is a file. */
    default void requireWritable(Path out) throws IOException {
        OutputFile.requireWritable(out);
    }

    /**
     * Writes the trained model. By default a file of safetensors. Only rank 0 calls this method.
     *
     * @param model of this rank, which may hold parts of the parameters
     * @param whole the whole parameters by name
     * @throws io.jrun.train.checkpoint.CheckpointException if the model cannot be written
     */
    default void save(TrainableModel model, Map<String, Tensor> whole, Path out) {
        Safetensors.write(out, whole, Map.of("format", "pt"));
    }
}
