package io.jrun.train.weights;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.StoredTensor;
import io.jrun.train.checkpoint.TensorFile;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.pytorch.Tensor;

/**
 * The tensors of files for the tensors of a module.
 *
 * @param fileNames the name in the files of each tensor of the module, in the order of the files
 * @param untied names of the module's {@link PretrainedModule#tiedNames()} that the module must untie
 * @param unused tensors of the files that the module does not use
 */
record WeightMatch(Map<String, String> fileNames, List<String> untied, List<String> unused) {
    private static final int SHOWN = 5;

    /**
     * Matches the names. The files decide which tensors are tied: a tensor that is stored only under its other name is
     * read from there, and two different tensors are untied.
     *
     * @throws CheckpointException if tensors are missing, unknown, ambiguous or of another shape; the message names the
     *     tensors
     */
    static WeightMatch of(
            WeightFiles files, Map<String, Tensor> own, Map<String, String> tied, NameMapping mapping, String path) {
        Map<String, String> unwrapped = new LinkedHashMap<>();
        files.names().forEach(name -> unwrapped.put(name, FileSection.unwrapped(name)));
        String section = FileSection.find(
                unwrapped.values(),
                own.keySet(),
                name -> mapping.modelName(name).map(mapped -> tied.getOrDefault(mapped, mapped)),
                path);
        Map<String, String> found = new LinkedHashMap<>();
        Set<String> words = new HashSet<>();
        own.keySet().forEach(name -> words.add(firstWord(name)));
        Set<String> unknown = new TreeSet<>();
        Set<String> beside = new TreeSet<>();
        List<String> unused = new ArrayList<>();
        unwrapped.forEach((fileName, name) -> {
            Optional<String> mapped =
                    name.startsWith(section) ? mapping.modelName(name.substring(section.length())) : Optional.empty();
            if (mapped.isPresent() && (own.containsKey(mapped.get()) || tied.containsKey(mapped.get()))) {
                if (found.put(mapped.get(), fileName) != null) {
                    throw new CheckpointException(
                            path + " has two tensors for '" + mapped.get() + "', one is '" + fileName + "'");
                }
            } else if (mapped.isPresent() && words.contains(firstWord(mapped.get()))) {
                unknown.add(mapped.get());
            } else {
                mapped.ifPresent(beside::add);
                unused.add(fileName);
            }
        });
        List<String> untied = settleTies(files, own, tied, found);
        TreeSet<String> missing = new TreeSet<>(own.keySet());
        missing.removeAll(found.keySet());
        if (!missing.isEmpty()) {
            unknown.addAll(beside);
        }
        requireAll(files, missing, unknown, section.isEmpty() ? path : path + " (under " + section + ")");
        found.forEach((name, fileName) -> requireShape(
                files, Objects.requireNonNull(own.get(own.containsKey(name) ? name : tied.get(name))), name, fileName));
        return new WeightMatch(found, untied, unused);
    }

    /** One line about the tensors that are not used; empty if all are used. */
    Optional<String> note(String path) {
        return unused.isEmpty()
                ? Optional.empty()
                : Optional.of(path + " has tensors that the model does not use: " + some(unused));
    }

    private static List<String> settleTies(
            WeightFiles files, Map<String, Tensor> own, Map<String, String> tied, Map<String, String> found) {
        List<String> untied = new ArrayList<>();
        tied.forEach((other, name) -> {
            String otherFile = found.get(other);
            String file = found.get(name);
            if (otherFile == null) {
                return;
            }
            if (file == null) {
                found.remove(other);
                found.put(name, otherFile);
            } else if (isSame(files, otherFile, file, Objects.requireNonNull(own.get(name)))) {
                found.remove(other);
            } else {
                untied.add(other);
            }
        });
        return untied;
    }

    /** Whether two tensors have equal values in the element type of the module. */
    private static boolean isSame(WeightFiles files, String oneName, String otherName, Tensor own) {
        TensorFile oneFile = files.fileOf(oneName);
        TensorFile otherFile = files.fileOf(otherName);
        StoredTensor one = oneFile.stored(oneName);
        StoredTensor other = otherFile.stored(otherName);
        if (!one.shape().equals(other.shape())) {
            return false;
        }
        if (oneFile == otherFile
                && one.position() == other.position()
                && one.type() == other.type()
                && one.strides().equals(other.strides())) {
            return true;
        }
        try (Tensor a = oneFile.map(oneName);
                Tensor b = otherFile.map(otherName);
                Tensor convertedA = a.to(own.scalar_type());
                Tensor convertedB = b.to(own.scalar_type())) {
            return convertedA.equal(convertedB);
        }
    }

    private static void requireAll(WeightFiles files, Set<String> missing, Set<String> unknown, String where) {
        if (!unknown.isEmpty()) {
            throw new CheckpointException(where + " is of another model: the file lacks [" + some(missing)
                    + "] and has unknown [" + some(unknown) + "]. Check the type and the sizes in config.json."
                    + files.objects());
        }
        if (!missing.isEmpty()) {
            throw new CheckpointException(
                    where + " lacks [" + some(missing) + "], and the rest of its tensors fits. The"
                            + " file is of a part of the model, such as a BERT without the head for masked tokens"
                            + " (BertModel). Save the whole model (BertForMaskedLM), or check config.json, such as"
                            + " tie_word_embeddings." + files.objects());
        }
    }

    private static void requireShape(WeightFiles files, Tensor wanted, String name, String fileName) {
        StoredTensor stored = files.fileOf(fileName).stored(fileName);
        if (!TensorMemory.shape(wanted).equals(stored.shape().toString())) {
            throw new CheckpointException("tensor '" + name + "' has the shape " + stored.shape() + " in "
                    + files.fileOf(fileName).path() + " but " + TensorMemory.shape(wanted)
                    + " in the program. Check the sizes in config.json.");
        }
    }

    private static String firstWord(String name) {
        int dot = name.indexOf('.');
        return dot < 0 ? name : name.substring(0, dot);
    }

    private static String some(Collection<String> names) {
        String first = String.join(", ", names.stream().limit(SHOWN).toList());
        return names.size() <= SHOWN ? first : first + " and " + (names.size() - SHOWN) + " more";
    }
}
