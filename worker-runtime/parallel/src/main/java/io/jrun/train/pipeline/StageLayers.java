package io.jrun.train.pipeline;

import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.ModuleWrapper;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.UnreadableTensor;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Frees the layers of other ranks' stages as soon as they are built, so that no rank holds the whole model. The
 * parameters keep their shapes. libtorch throws an exception when an operation reads them.
 */
public final class StageLayers implements ModuleWrapper {
    private final StageCut cut;
    private final PipelineSchedule schedule;
    private final int rank;
    private final ModuleWrapper own;
    private int next;

    /**
     * The layers of a rank.
     *
     * @param cut of the layers that {@link PipelineParallel} gets
     * @param first the number of the layer that the first wrapped part becomes; the next parts are the next layers
     * @param own gets the layers of this rank
     */
    public StageLayers(StageCut cut, PipelineSchedule schedule, MeshAxis pipeline, int first, ModuleWrapper own) {
        this.cut = cut;
        this.schedule = schedule;
        this.rank = pipeline.coordinate();
        this.next = first;
        this.own = own;
    }

    @Override
    public UnaryOperator<Tensor> wrap(String name, Module part, UnaryOperator<Tensor> forward) {
        int layer = next++;
        if (schedule.rankOf(cut.stageOf(layer)) == rank) {
            return own.wrap(name, part, forward);
        }
        ModuleTensors.parameters(part).forEach((inner, tensor) -> free(name + "." + inner, tensor));
        return forward;
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
