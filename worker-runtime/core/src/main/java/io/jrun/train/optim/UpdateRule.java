package io.jrun.train.optim;

import io.jrun.train.tensor.AtenOperator;
import java.util.List;
import java.util.OptionalDouble;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Tensor;

/** The arithmetic of an optimizer's step. The kernels are libtorch's fused kernels. */
public sealed interface UpdateRule permits FusedAdamW, FusedSgd {
    /**
     * This rule with another momentum (SGD) or another first beta (AdamW).
     *
     * @throws IllegalArgumentException if this rule keeps no state for a momentum
     */
    UpdateRule withMomentum(double momentum);

    /** This rule with the momentum that {@code schedule} has for a step, if the schedule has one. */
    default UpdateRule at(LearningRateSchedule schedule, long step) {
        OptionalDouble momentum = schedule.momentumAt(step);
        return momentum.isPresent() ? withMomentum(momentum.getAsDouble()) : this;
    }

    /** Names of the state tensors of each parameter: the names of torch's optimizers. */
    List<String> stateNames();

    /**
     * Updates parameters in place.
     *
     * @param parameters one tensor for each range of parameters, all of one type
     * @param gradients tensors of the same sizes and type
     * @param states one list for each of {@link #stateNames()}, with one tensor for each range
     * @param step the numbers of the step
     */
    void apply(List<Tensor> parameters, List<Tensor> gradients, List<List<Tensor>> states, UpdateStep step);

    /** The argument {@code found_inf} of a fused kernel. */
    static IValue skip(UpdateStep step) {
        Tensor skip = step.skip();
        return skip == null ? AtenOperator.none() : AtenOperator.tensor(skip);
    }
}
