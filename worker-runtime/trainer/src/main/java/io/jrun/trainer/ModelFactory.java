package io.jrun.trainer;

import io.jrun.comm.file.OutputFile;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.token.TokenBatch;
import io.jrun.trainer.data.DataOptions;
import io.jrun.trainer.data.TokenCorpus;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.bytedeco.pytorch.Tensor;

/** Defines the model of a training, its batches and its file. All ranks get equal setups. */
@FunctionalInterface
public interface ModelFactory {
    /**
     * The model for a setup. Each call makes a new object.
     *
     * @throws io.jrun.trainer.arguments.InvalidArgumentException with one line, if no such model can be made
     */
    ModelDefinition of(ModelSetup setup);

    /** Whether the model has layers of experts. */
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
     * The batch of one forward pass; made in the PointerScope of the caller. By default the targets are the next tokens.
     *
     * @param windows texts of S + 1 tokens
     * @param step from 1; 0 for texts that are held out
     * @param corpus has the windows
     */
    default TokenBatch batch(List<long[]> windows, long step, TokenCorpus corpus) {
        return TokenBatch.of(windows);
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
