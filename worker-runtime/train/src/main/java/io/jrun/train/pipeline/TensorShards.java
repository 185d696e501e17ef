package io.jrun.train.pipeline;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.bytedeco.pytorch.Tensor;

/** The parameters of which the ranks of a tensor parallel axis hold different parts. */
public final class TensorShards {
    private final MeshAxis axis;
    private final Set<Long> shards = new HashSet<>();

    /**
     * The parts among some parameters.
     *
     * @param parameters what {@code TensorParallel.parallelize} has returned
     */
    public TensorShards(MeshAxis axis, Collection<ShardedTensor> parameters) {
        this.axis = axis;
        for (ShardedTensor parameter : parameters) {
            if (parameter.placement(axis.name()) instanceof Shard) {
                shards.add(TensorMemory.identity(parameter.local()));
            }
        }
    }

    boolean isShard(Tensor parameter) {
        return shards.contains(TensorMemory.identity(parameter));
    }

    /** Adds the numbers of all ranks of the axis. */
    void sum(double[] numbers) {
        axis.group().allReduce(MemorySegment.ofArray(numbers), DataType.F64, numbers.length, ReduceOp.SUM);
    }
}
