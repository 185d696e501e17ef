package io.jrun.train.reducer;

import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;

/** No other rank has the same stages: the gradients are complete on this rank. */
final class NoReplicas implements StageReplicas {
    @Override
    public Map<Integer, List<PipelineLayer>> takeOver(
            Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        return stages;
    }

    @Override
    public void backward(Runnable pass, boolean isLast) {
        pass.run();
    }

    @Override
    public void start(Collection<Tensor> parameters) {}

    @Override
    public void await() {}

    @Override
    public ShardedTensor kept(ShardedTensor parameter) {
        return parameter;
    }

    @Override
    public void close() {}
}
