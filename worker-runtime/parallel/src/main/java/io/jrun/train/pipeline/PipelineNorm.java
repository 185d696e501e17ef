package io.jrun.train.pipeline;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.mesh.ShardedNorm;
import io.jrun.train.optim.GradientClipping;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The norm of the gradients of all stages as one vector. Each rank fills in the norms of its own parameters, each
 * parameter at its place in the model. So all ranks compute the same bits as one process that has the whole model. A
 * tied parameter counts once. The squares of tensor parallel parts are summed over their ranks.
 */
final class PipelineNorm {
    private final ProcessGroup pipeline;
    private final StageReplicas replicas;
    private final List<Tensor> parameters = new ArrayList<>();
    /** Whether this rank fills in the norm of the parameter. */
    private final List<Boolean> isOwn = new ArrayList<>();
    /** Whether the parameter has a gradient on this rank. */
    private final List<Boolean> isHere = new ArrayList<>();

    PipelineNorm(
            List<List<PipelineLayer>> layersOfStages,
            PipelineSchedule schedule,
            ProcessGroup pipeline,
            StageReplicas replicas) {
        this.pipeline = pipeline;
        this.replicas = replicas;
        Set<Long> here = new HashSet<>();
        schedule.stagesOf(pipeline.groupRank())
                .forEach(stage -> layersOfStages
                        .get(stage)
                        .forEach(layer -> layer.parameters()
                                .values()
                                .forEach(tensor -> here.add(TensorMemory.identity(tensor)))));
        Set<Long> seen = new HashSet<>();
        for (int stage = 0; stage < layersOfStages.size(); stage++) {
            for (PipelineLayer layer : layersOfStages.get(stage)) {
                for (Tensor parameter : layer.parameters().values()) {
                    long address = TensorMemory.identity(parameter);
                    if (seen.add(address)) {
                        parameters.add(parameter);
                        isOwn.add(schedule.rankOf(stage) == pipeline.groupRank());
                        isHere.add(here.contains(address));
                    }
                }
            }
        }
    }

    double clip(double maximum) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            List<Tensor> gradients = new ArrayList<>();
            double[] parts = new double[parameters.size()];
            for (int i = 0; i < parts.length; i++) {
                Tensor gradient = isHere.get(i) ? replicas.gradient(parameters.get(i)) : new Tensor();
                if (gradient.defined()) {
                    gradients.add(gradient);
                    parts[i] = isOwn.get(i) ? norm(gradient) : 0;
                }
            }
            double[] norms = ShardedNorm.ofWhole(replicas.combine(parts), ShardedNorm.groups(parameters));
            pipeline.allReduce(MemorySegment.ofArray(norms), DataType.F64, norms.length, ReduceOp.SUM);
            double norm = torch.linalg_vector_norm(Tensor.create(norms)).item_double();
            GradientClipping.scaleToNorm(gradients, norm, maximum);
            return norm;
        }
    }

    private static double norm(Tensor gradient) {
        return torch.linalg_vector_norm(gradient).to(torch.ScalarType.Double).item_double();
    }
}
