package io.jrun.train.data;

import io.jrun.train.json.JsonObject;
import io.jrun.train.json.JsonWriter;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The position of a {@link DataLoader} in its stream of samples. The position is equal on all ranks. A loader that
 * starts here gives the samples that the saved loader would have given next. With another number of ranks, and an equal
 * number of samples in a global batch, each global batch has the same set of samples.
 *
 * @param seed decides the order of each epoch
 * @param epoch the current epoch, from 0
 * @param consumed samples of this epoch that all ranks together have taken
 */
public record DataLoaderState(long seed, long epoch, long consumed) {
    /** Checks the range. */
    public DataLoaderState {
        if (epoch < 0 || consumed < 0) {
            throw new IllegalArgumentException(
                    "epoch and consumed must not be negative, were " + epoch + " and " + consumed);
        }
    }

    /** The beginning of the stream. */
    public static DataLoaderState start(long seed) {
        return new DataLoaderState(seed, 0, 0);
    }

    /** One JSON object: {@code {"seed":1,"epoch":0,"consumed":256}}. */
    public String toJson() {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("seed", seed);
        object.put("epoch", epoch);
        object.put("consumed", consumed);
        return JsonWriter.write(object);
    }

    /**
     * Reads {@link #toJson}.
     *
     * @throws IllegalArgumentException in one line, if the text is no such object
     */
    public static DataLoaderState parse(String json) {
        JsonObject object = JsonObject.parse("data loader state", json);
        return new DataLoaderState(object.integer("seed"), object.integer("epoch"), object.integer("consumed"));
    }
}
