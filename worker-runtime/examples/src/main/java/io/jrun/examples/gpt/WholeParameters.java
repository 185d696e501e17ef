package io.jrun.examples.gpt;

import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.Module;

/** The parameters and buffers of a module of which each rank holds everything. */
final class WholeParameters {
    private WholeParameters() {}

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
}
