package io.jrun.train.mesh;

import io.jrun.train.tensor.ModuleTensors;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** The parameters of a module as tensors of a mesh, with what parallelisms have made of them. */
public final class Parameters {
    private Parameters() {}

    /** The parameters by their dotted names, in registration order. Tied weights appear once, under their first name. */
    public static Map<String, ShardedTensor> of(Module module) {
        return of(ModuleTensors.parameters(module));
    }

    /** The parameters, then the buffers. */
    public static Map<String, ShardedTensor> withBuffers(Module module) {
        return of(ModuleTensors.all(module));
    }

    /** Tensors of modules by name. */
    public static Map<String, ShardedTensor> of(Map<String, Tensor> tensors) {
        Map<String, ShardedTensor> parameters = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> parameters.put(name, ShardedTensor.of(name, tensor)));
        return parameters;
    }

    /** The parts of which this rank has at least one element. */
    public static Map<String, Tensor> here(Map<String, ShardedTensor> parameters) {
        Map<String, Tensor> here = new LinkedHashMap<>();
        parameters.forEach((name, parameter) -> {
            if (parameter.isHere()) {
                here.put(name, parameter.local());
            }
        });
        return here;
    }

    /** The gradients of which this rank has at least one element, see {@link ShardedTensor#gradient}. */
    public static List<Tensor> gradients(Collection<ShardedTensor> parameters) {
        return parameters.stream()
                .filter(ShardedTensor::isHere)
                .map(ShardedTensor::gradient)
                .filter(Tensor::defined)
                .toList();
    }
}
