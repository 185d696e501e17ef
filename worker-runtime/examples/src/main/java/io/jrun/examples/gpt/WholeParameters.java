package io.jrun.examples.gpt;

import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Module;

/** The parameters of a module as whole tensors. */
final class WholeParameters {
    private WholeParameters() {}

    /** The parameters and buffers of a module of which each rank holds everything. */
    static Map<String, ShardedTensor> of(Module module) {
        Map<String, ShardedTensor> parameters = new LinkedHashMap<>();
        ModuleTensors.all(module)
                .forEach((name, tensor) -> parameters.put(
                        name,
                        new ShardedTensor(
                                name,
                                Arrays.stream(TensorMemory.sizes(tensor))
                                        .boxed()
                                        .toList(),
                                Map.of(),
                                tensor)));
        return parameters;
    }

    /** The number of elements of the whole parameters, without buffers. */
    static long elements(Module module, Map<String, ShardedTensor> parts) {
        return ModuleTensors.parameters(module).keySet().stream()
                .mapToLong(name -> elements(Objects.requireNonNull(parts.get(name))))
                .sum();
    }

    /** The number of elements of a whole parameter. */
    static long elements(ShardedTensor part) {
        return part.globalShape().stream().reduce(1L, (a, b) -> a * b);
    }
}
