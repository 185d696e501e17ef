package io.jrun.train.tensor;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorType;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/**
 * Operators of libtorch for which the presets have no method, such as kernels over lists of tensors. This class finds
 * an operator by its name in the dispatcher, which chooses the kernel of the device. Thread-safe.
 */
public final class AtenOperator {
    private final OperatorHandle operator;

    private AtenOperator(String name, String overload) {
        operator = Dispatcher.singleton().findSchemaOrThrow(name, overload);
        operator.retainReference();
    }

    /**
     * The operator of a name such as {@code aten::_foreach_mul_}.
     *
     * @param overload such as {@code Scalar}; empty for an operator with one form
     */
    public static AtenOperator of(String name, String overload) {
        return new AtenOperator(name, overload);
    }

    /** Calls an operator that changes its arguments, without a record in the autograd graph. */
    public void call(IValue... arguments) {
        IValueVector _ = run(arguments);
    }

    /** Calls an operator whose result is a list of tensors. The results belong to the innermost {@code PointerScope}. */
    public List<Tensor> tensors(IValue... arguments) {
        TensorVector results = run(arguments).get(0).toTensorVector();
        List<Tensor> tensors = new ArrayList<>();
        for (long i = 0; i < results.size(); i++) {
            tensors.add(new Tensor(results.get(i)));
        }
        return tensors;
    }

    /**
     * Calls an operator and gives its first results, which are tensors. They belong to the innermost
     * {@code PointerScope}.
     */
    public List<Tensor> results(int count, IValue... arguments) {
        IValueVector stack = run(arguments);
        List<Tensor> results = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            results.add(stack.get(i).toTensor());
        }
        return results;
    }

    /** The arguments are a stack, which holds the results after the call. */
    private IValueVector run(IValue... arguments) {
        try (NoGradGuard _ = new NoGradGuard()) {
            IValueVector stack = new IValueVector(arguments);
            operator.callBoxed(stack);
            return stack;
        }
    }

    /** A list of tensors as an argument. */
    public static IValue list(List<Tensor> tensors) {
        GenericList list = new GenericList(new Type.TypePtr(TensorType.get()));
        tensors.forEach(tensor -> list.push_back(new IValue(tensor)));
        return new IValue(list);
    }

    /** A tensor as an argument. */
    public static IValue tensor(Tensor tensor) {
        return new IValue(tensor);
    }

    /** A number as an argument. */
    public static IValue number(double value) {
        return new IValue(value);
    }

    /** A whole number as an argument. */
    public static IValue integer(long value) {
        return new IValue(value);
    }

    /** An element type as an argument. */
    public static IValue type(torch.ScalarType type) {
        return new IValue((long) type.value);
    }

    /** A truth value as an argument. */
    public static IValue flag(boolean value) {
        return new IValue(value);
    }

    /** An optional argument without a value. */
    public static IValue none() {
        return new IValue();
    }
}
