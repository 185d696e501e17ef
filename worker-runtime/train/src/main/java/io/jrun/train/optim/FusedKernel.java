package io.jrun.train.optim;

import java.util.List;
import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorType;
import org.bytedeco.pytorch.Type;

/**
 * libtorch's fused optimizer kernels. The presets have no method for these operators. This class finds the operators by
 * name in the dispatcher.
 */
final class FusedKernel {
    static final FusedKernel ADAMW = new FusedKernel("aten::_fused_adamw_");
    static final FusedKernel SGD = new FusedKernel("aten::_fused_sgd_");

    private final OperatorHandle operator;

    private FusedKernel(String name) {
        operator = Dispatcher.singleton().findSchemaOrThrow(name, "");
        operator.retainReference();
    }

    void call(IValue... arguments) {
        try (NoGradGuard _ = new NoGradGuard()) {
            operator.callBoxed(new IValueVector(arguments));
        }
    }

    static IValue list(List<Tensor> tensors) {
        GenericList list = new GenericList(new Type.TypePtr(TensorType.get()));
        tensors.forEach(tensor -> list.push_back(new IValue(tensor)));
        return new IValue(list);
    }

    static IValue number(double value) {
        return new IValue(value);
    }

    static IValue flag(boolean value) {
        return new IValue(value);
    }

    static IValue none() {
        return new IValue();
    }
}
