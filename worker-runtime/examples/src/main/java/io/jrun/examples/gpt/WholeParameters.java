package io.jrun.examples.gpt;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** The parameters of a model as whole tensors. */
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

    /**
     * Brings the whole parameters together, one after the other. Collective on the axes of the state.
     *
     * @param keeps whether this rank keeps the parameters; other ranks hold one whole parameter at a time
     * @return the parameters by name, which the caller frees; empty if this rank keeps none
     */
    static Map<String, Tensor> gather(ShardedState state, boolean keeps) {
        Map<String, Tensor> whole = new LinkedHashMap<>();
        state.parameters().forEach((name, part) -> keep(whole, name, whole(part, state.axes()), keeps));
        return whole;
    }

    /**
     * As {@link #gather(ShardedState, boolean)} for a model whose layers are spread over the ranks of a pipeline.
     *
     * @param all parameters of the model, in the same order on all ranks; those of other stages have no elements
     */
    static Map<String, Tensor> gather(
            ShardedState state, Map<String, ShardedTensor> all, ProcessGroup pipeline, boolean keeps) {
        long[] owners = all.keySet().stream()
                .mapToLong(name -> state.parameters().containsKey(name) ? pipeline.groupRank() : Long.MAX_VALUE)
                .toArray();
        pipeline.allReduce(MemorySegment.ofArray(owners), DataType.I64, owners.length, ReduceOp.MIN);
        Map<String, Tensor> whole = new LinkedHashMap<>();
        int next = 0;
        for (ShardedTensor parameter : all.values()) {
            ShardedTensor part = state.parameters().get(parameter.name());
            int owner = Math.toIntExact(owners[next++]);
            Tensor tensor = part == null ? empty(parameter) : whole(part, state.axes());
            new TensorCollectives(pipeline).broadcast(tensor, owner);
            keep(whole, parameter.name(), tensor, keeps);
        }
        return whole;
    }

    private static Tensor whole(ShardedTensor part, List<MeshAxis> axes) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            boolean isWhole = part.placements().isEmpty();
            return TensorMemory.own(isWhole ? part.local().detach() : part.whole(axes.toArray(MeshAxis[]::new)));
        }
    }

    private static Tensor empty(ShardedTensor parameter) {
        try (TensorOptions options = DeviceTensors.optionsLike(
                        parameter.local(), parameter.local().scalar_type());
                MemoryFormatOptional layout = new MemoryFormatOptional()) {
            long[] sizes =
                    parameter.globalShape().stream().mapToLong(Long::longValue).toArray();
            return TensorMemory.own(torch.empty(sizes, options, layout));
        }
    }

    private static void keep(Map<String, Tensor> whole, String name, Tensor tensor, boolean keeps) {
        if (keeps) {
            whole.put(name, tensor);
        } else {
            tensor.close();
        }
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
