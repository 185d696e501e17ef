package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.GradientStore;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;

/** The gradients of the module's own tensors: the rows have them. */
final class MovedGradients implements GradientStore {
    /** A note is valid while its store lives, so the store keeps the tensors alive. */
    private final List<Tensor> tensors = new ArrayList<>();

    /** Notes that the rows have the gradients of these tensors. */
    void add(Collection<Tensor> ofModule) {
        ofModule.forEach(tensor -> tensors.add(TensorMemory.own(tensor)));
        ParameterNotes.setGradients(ofModule, this);
    }

    @Override
    public Tensor elements(Tensor parameter) {
        throw new IllegalArgumentException("a parameter of shape " + TensorMemory.shape(parameter)
                + " is fully sharded, so the gradient is that of its rows. Pass FullyShardedDataParallel.parameters()"
                + " instead of the parameters of the module.");
    }

    @Override
    public double[] norms(List<Tensor> parameters) {
        return new double[] {elements(parameters.getFirst()).item_double()};
    }

    @Override
    public void scale(List<Tensor> parameters, double factor) {
        Tensor _ = elements(parameters.getFirst());
    }

    @Override
    public Optional<ProcessGroup> ranks() {
        return Optional.empty();
    }
}
