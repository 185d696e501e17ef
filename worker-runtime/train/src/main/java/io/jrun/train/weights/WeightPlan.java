package io.jrun.train.weights;

import io.jrun.comm.Codec;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.StoredTensor;
import io.jrun.train.tensor.TensorMemory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.bytedeco.pytorch.Tensor;

/**
 * The order in which the tensors of a module are read, or the reason why the tensors cannot be read. The reading rank
 * makes the plan and sends the plan to the other ranks.
 *
 * @param failure the reason in one line; empty if all tensors can be read
 * @param names tensors of the module in the order of the files
 */
record WeightPlan(Optional<String> failure, List<String> names) {
    /** Encodes the plan as text with zero characters between the names: names of modules have no zero characters. */
    static final Codec<WeightPlan> CODEC = new Codec<>() {
        private static final String SEPARATOR = "\0";

        @Override
        public byte[] encode(WeightPlan plan) {
            List<String> words = new ArrayList<>(List.of(plan.failure.orElse("")));
            words.addAll(plan.names);
            return String.join(SEPARATOR, words).getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public WeightPlan decode(byte[] bytes) {
            List<String> words = List.of(new String(bytes, StandardCharsets.UTF_8).split(SEPARATOR, -1));
            String failure = words.getFirst();
            return new WeightPlan(
                    failure.isEmpty() ? Optional.empty() : Optional.of(failure), words.subList(1, words.size()));
        }
    };

    static WeightPlan failed(CheckpointException failure) {
        return new WeightPlan(Optional.of(String.valueOf(failure.getMessage())), List.of());
    }

    void requirePossible() {
        failure.ifPresent(message -> {
            throw new CheckpointException(message);
        });
    }

    /**
     * The name in the files of each tensor of a module, in the order of the files.
     *
     * @throws CheckpointException if tensors are missing, unknown, ambiguous or of another shape; the message names the
     *     tensors
     */
    static Map<String, String> match(WeightFiles files, Map<String, Tensor> own, NameMapping mapping, String path) {
        Map<String, String> fileNames = new LinkedHashMap<>();
        TreeSet<String> unknown = new TreeSet<>();
        for (String fileName : files.names()) {
            Optional<String> mapped = mapping.modelName(fileName);
            if (mapped.isPresent()) {
                String name = mapped.get();
                if (!own.containsKey(name)) {
                    unknown.add(name);
                } else if (fileNames.put(name, fileName) != null) {
                    throw new CheckpointException(
                            path + " has two tensors for '" + name + "', one is '" + fileName + "'");
                }
            }
        }
        TreeSet<String> missing = new TreeSet<>(own.keySet());
        missing.removeAll(fileNames.keySet());
        if (!missing.isEmpty() && unknown.isEmpty()) {
            throw new CheckpointException(path + " lacks " + some(missing) + ", and the rest of its tensors fits. The"
                    + " file is of a part of the model, such as a BERT without the head for masked tokens"
                    + " (BertModel). Save the whole model (BertForMaskedLM), or check config.json.");
        }
        if (!unknown.isEmpty()) {
            throw new CheckpointException(path + " is of another model: the file lacks " + some(missing)
                    + " and has unknown "
                    + some(unknown) + ". Check the type and the sizes in config.json.");
        }
        fileNames.forEach((name, fileName) -> requireShape(files, own, name, fileName));
        return fileNames;
    }

    private static void requireShape(WeightFiles files, Map<String, Tensor> own, String name, String fileName) {
        StoredTensor stored = files.fileOf(fileName).stored(fileName);
        Tensor wanted = own.get(name);
        if (wanted != null && !TensorMemory.shape(wanted).equals(stored.shape().toString())) {
            throw new CheckpointException("tensor '" + name + "' has the shape " + stored.shape() + " in "
                    + files.fileOf(fileName).path() + " but " + TensorMemory.shape(wanted)
                    + " in the program. Check the sizes in config.json.");
        }
    }

    private static String some(TreeSet<String> names) {
        int shown = 5;
        String first = String.join(", ", names.stream().limit(shown).toList());
        return names.size() <= shown ? "[" + first + "]" : "[" + first + " and " + (names.size() - shown) + " more]";
    }
}
