package io.jrun.train.elastic;

import io.jrun.comm.Codec;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Names, types and shapes of tensors as text, one line for each tensor: {@code Float 2,3 fc.weight.exp_avg}. Stateless.
 */
final class TensorList {
    private static final int FIELDS = 3;

    private TensorList() {}

    /**
     * Fills an empty map with uninitialised tensors that have the names, types and shapes of the tensors of
     * {@code root}. Collective.
     */
    static void share(ProcessGroup group, int root, Map<String, Tensor> tensors) {
        String text = group.objects().broadcast(describe(tensors), root, Codec.STRING);
        if (group.groupRank() != root) {
            text.lines().map(line -> line.split(" ", FIELDS)).forEach(fields -> tensors.put(fields[2], empty(fields)));
        }
    }

    private static String describe(Map<String, Tensor> tensors) {
        return tensors.entrySet().stream()
                .map(entry -> entry.getValue().scalar_type().intern() + " "
                        + Arrays.stream(TensorMemory.sizes(entry.getValue()))
                                .mapToObj(Long::toString)
                                .collect(Collectors.joining(","))
                        + " " + entry.getKey() + "\n")
                .collect(Collectors.joining());
    }

    private static Tensor empty(String[] fields) {
        long[] sizes = fields[1].isEmpty()
                ? new long[0]
                : Arrays.stream(fields[1].split(",", -1))
                        .mapToLong(Long::parseLong)
                        .toArray();
        Tensor made =
                torch.empty(sizes, new TensorOptions(torch.ScalarType.valueOf(fields[0])), new MemoryFormatOptional());
        made.retainReference();
        return made;
    }
}
