package io.jrun.train.fsdp;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A place in the graph between units, which changes no value and runs code when the backward pass reaches it. At the
 * output of a unit the code runs before the unit's backward pass. At its input the code runs after it, because the
 * engine runs the newest node first.
 */
record UnitBoundary(String name, Runnable passed) implements AutogradFunction {
    /** The tensor, behind this place. A tensor that requires no gradient has no such place. */
    Tensor at(Tensor tensor) {
        return AutogradBridge.instance().apply(this, List.of(tensor)).getFirst();
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
        return inputs;
    }

    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        passed.run();
        return gradients;
    }
}
