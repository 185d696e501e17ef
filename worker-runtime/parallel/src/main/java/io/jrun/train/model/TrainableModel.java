package io.jrun.train.model;

import io.jrun.comm.Device;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** A model that ranks can train together: one tensor in, one tensor out, and a loss. Confined to one thread at a time. */
public abstract class TrainableModel extends CompositeModule implements BlockModel {
    /** For subclasses. */
    protected TrainableModel() {}

    /** The output for an input. */
    public abstract Tensor forward(Tensor inputs);

    /** The mean loss of outputs of {@link #forward}, a tensor without dimensions. */
    public abstract Tensor outputLoss(Tensor outputs, Tensor targets);

    /** The mean loss of inputs. */
    public Tensor loss(Tensor inputs, Tensor targets) {
        return outputLoss(forward(inputs), targets);
    }

    /** The model as layers of a pipeline, in order. The first gets the input, the last gives the output. */
    public abstract List<PipelineLayer> pipelineLayers();

    /** The device of the parameters. */
    public final Device device() {
        return TensorMemory.device(
                ModuleTensors.parameters(this).values().iterator().next());
    }
}
