package io.jrun.train.tensor;

import java.util.Set;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.FunctionPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.LongArrayRef;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.T_TensorT_TensorTensor_T_T;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.T_TensorTensor_TOptional;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVectorOptional;

/**
 * What the end of a {@link LibtorchScope} does to an object of libtorch. The class of the object decides. libtorch takes
 * the default of a parameter for a freed object, so the end frees only what holds memory of tensors, and guards.
 */
enum ScopeEnd {
    /**
     * The end frees it. It holds memory of tensors, which the garbage collector does not see, or it sets a state of its
     * thread, which its own thread must end.
     */
    FREED,
    /** The end replaces its content by one that libtorch refuses. libtorch would read a freed one as none. */
    REPLACED,
    /** The garbage collector frees it after its last use. */
    KEPT;

    private static final Pattern HOLDERS = Pattern.compile(".*(Tensor|Storage|IValue|DataPtr|SavedVariable|Example).*"
            + "|Node|Edge|EdgeVector|AutogradContext|AnyValue|GradBucket|PackedSequence|T_PackedSequence.*|ASMoutput"
            + "|InputArchive|OutputArchive|.*(parameter|buffer)_(list|iterator)|InputMetadata|VariableInfo|ForwardGrad"
            + "|OperandInfo|MNIST|NCCLPreMulSumSupplement");
    private static final Pattern NO_HOLDERS = Pattern.compile("TensorOptions|TensorGeometry|TensorIdGetter");
    /**
     * Classes of arguments that hold or show tensors or sizes. libtorch has a default for each such argument. A tuple of
     * two tensors is the state of an LSTM. The longer tuple is the result of an LSTM and contains the state.
     */
    private static final Set<Class<?>> DEFAULTED = Set.of(
            TensorOptional.class,
            TensorVectorOptional.class,
            TensorArrayRefOptional.class,
            T_TensorTensor_T.class,
            T_TensorTensor_TOptional.class,
            T_TensorT_TensorTensor_T_T.class,
            LongArrayRef.class,
            LongArrayRefOptional.class);

    private static final Pattern GUARDS = Pattern.compile(
            ".*Guard|InferenceMode|Auto(Grad|FwGrad|NonVariableType)Mode|AutoDispatch.*|DisablePythonDispatcher"
                    + "|RecordFunction");
    /** Views of memory that another object holds. */
    private static final Pattern VIEWS = Pattern.compile(".*ArrayRef");

    private static final ClassValue<ScopeEnd> BY_CLASS = new ClassValue<>() {
        @Override
        protected ScopeEnd computeValue(Class<?> type) {
            return decide(type);
        }
    };

    /** The end of an object of a class of JavaCPP. A class of a program ends like its base class of libtorch. */
    static ScopeEnd of(Class<?> type) {
        return BY_CLASS.get(type);
    }

    private static ScopeEnd decide(Class<?> type) {
        if (Module.class.isAssignableFrom(type)
                || Optimizer.class.isAssignableFrom(type)
                || FunctionPointer.class.isAssignableFrom(type)) {
            return KEPT;
        }
        if (DEFAULTED.contains(type)) {
            return REPLACED;
        }
        if (type.getSimpleName().endsWith("Optional") && !matches(HOLDERS, type.getSimpleName())) {
            return KEPT; // libtorch would read a freed one as none
        }
        for (Class<?> base = type; base != null && base != Pointer.class; base = base.getSuperclass()) {
            if (base.getPackageName().startsWith("org.bytedeco.pytorch") && isFreed(base.getSimpleName())) {
                return FREED;
            }
        }
        return KEPT;
    }

    private static boolean isFreed(String name) {
        return matches(GUARDS, name) || matches(VIEWS, name) || (matches(HOLDERS, name) && !matches(NO_HOLDERS, name));
    }

    private static boolean matches(Pattern pattern, String name) {
        return pattern.matcher(name).matches();
    }
}
