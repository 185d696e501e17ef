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

    /** The parameters, then the buffers, for a model of which no other rank has a copy. */
    public static Map<String, ShardedTensor> withBuffers(Module module) {
        return of(ModuleTensors.all(module));
    }

    /**
     * The parameters, then the buffers of the first rank. Buffers of copies, such as those of batch norm, differ between
     * two steps: a checkpoint must not have buffers of several ranks.
     *
     * @param replicas the ranks that have copies of the model
     */
    public static Map<String, ShardedTensor> withBuffers(Module module, MeshAxis replicas) {
        Map<String, ShardedTensor> all = of(module);
        of(ModuleTensors.buffers(module))
                .forEach((name, buffer) -> all.put(name, buffer.onRanks(new OnRanks(List.of(0)), replicas)));
        return all;
    }

    /** Tensors of modules by name. */
    public static Map<String, ShardedTensor> of(Map<String, Tensor> tensors) {
        Map<String, ShardedTensor> parameters = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> parameters.put(name, ShardedTensor.of(name, tensor)));
        return parameters;
    }

    /**
     * Checks that parameters have the placements that parallelisms have made. Sends nothing.
     *
     * @throws IllegalStateException if a parallelism has divided a parameter since the parameter was read
     */
    public static void requireCurrent(Collection<ShardedTensor> parameters) {
        for (ShardedTensor parameter : parameters) {
            for (AxisPlacement made : ParameterNotes.placements(parameter.local())) {
                if (!parameter.placements().contains(made)) {
                    throw new IllegalStateException("parameter '" + parameter.name() + "' was read before the ranks of"
                            + " the axis '" + made.axis().name() + "' shared it. Call Parameters.of(model), and make"
                            + " the optimizer and the state, after all parallelisms are applied.");
                }
            }
        }
    }

    /**
     * Checks that an optimizer of {@code .grad} may update parameters: as {@link #requireCurrent}, and that no
     * {@link GradientStore} keeps their gradients.
     *
     * @throws IllegalStateException if the optimizer would update with wrong gradients or none
     */
    public static void requireGradients(Collection<ShardedTensor> parameters) {
        requireCurrent(parameters);
        for (ShardedTensor parameter : parameters) {
            if (ParameterNotes.gradients(parameter.local()).isPresent()) {
                throw new IllegalStateException("the gradient of parameter '" + parameter.name() + "' is not in .grad,"
                        + " because FullyShard, ZeRO or OffloadedOptimizer keeps it. Make the optimizer of"
                        + " FullyShardedDataParallel.parameters(), or use ZeroOptimizer or OffloadedOptimizer.");
            }
        }
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
