package io.jrun.train.pipeline;

import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.UnreadableTensor;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Frees the blocks of other ranks' stages as soon as they are built, so that no rank holds the whole model. The
 * parameters keep their shapes. libtorch throws an exception when an operation reads them.
 */
public final class StageLayers {
    private final StageCut cut;
    private final PipelineSchedule schedule;
    private final int rank;
    private final int first;
    private final Map<Module, ModelBlock> blocks = new HashMap<>();

    /**
     * The layers of a rank.
     *
     * @param cut of the layers that {@link PipelineParallel} gets
     * @param first the number of the layer that block 0 becomes; the next blocks are the next layers
     */
    public StageLayers(StageCut cut, PipelineSchedule schedule, MeshAxis pipeline, int first) {
        this.cut = cut;
        this.schedule = schedule;
        this.rank = pipeline.coordinate();
        this.first = first;
    }

    /**
     * Frees a block of another rank. Returns whether this rank keeps the block.
     *
     * @throws PipelineException if an earlier block of another stage has the same module
     */
    public boolean keeps(ModelBlock block) {
        ModelBlock same = blocks.putIfAbsent(block.module(), block);
        if (same != null && stage(same) != stage(block)) {
            throw new PipelineException(block.name() + " has the same module as " + same.name() + ", and is in stage "
                    + stage(block) + " of the pipeline, not in stage " + stage(same)
                    + ". Blocks of different stages need modules of their own.");
        }
        boolean isOwn = schedule.rankOf(stage(block)) == rank;
        if (!isOwn) {
            block.parameters().forEach(StageLayers::free);
        }
        return isOwn;
    }

    private int stage(ModelBlock block) {
        return cut.stageOf(first + block.number());
    }

    /** Frees the memory of a parameter. */
    static void free(String name, Tensor parameter) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor nothing = UnreadableTensor.of(
                    TensorMemory.device(parameter),
                    parameter.scalar_type().intern(),
                    "the parameter '" + name + "' belongs to a stage of another pipeline rank");
            parameter.set_data(nothing.expand(TensorMemory.sizes(parameter)));
        }
    }
}
