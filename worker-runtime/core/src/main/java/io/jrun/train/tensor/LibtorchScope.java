package io.jrun.train.tensor;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongArrayRef;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.T_TensorT_TensorTensor_T_T;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.T_TensorTensor_TOptional;
import org.bytedeco.pytorch.TensorArrayRef;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.TensorVectorOptional;

/**
 * A {@code PointerScope} around code of a model. Its end frees the memory of the tensors that were created in it, and
 * ends the guards, such as {@code NoGradGuard}. A later use of such a tensor is an error, except as an argument that a
 * module of libtorch can do without, such as a mask of its attention or the state of a GRU: it then computes without.
 * Options, scalars, numbers and modules that were created in the scope live on in fields, and the garbage collector frees
 * them.
 *
 * <p>A {@code TensorOptional} and the state of an LSTM, a {@code T_TensorTensor_T}, give their memory back too. libtorch
 * would read a freed one as none, without an error, so the end puts an {@link UnreadableTensor} into it.
 * {@link TensorMemory#own(TensorOptional)} and {@link TensorMemory#own(T_TensorTensor_T)} give one that lives on. A
 * {@code LongArrayRef} is a view of numbers that other objects hold. After the end it has one number that libtorch
 * refuses. The thread that opens the scope closes it.
 */
public final class LibtorchScope extends PointerScope {
    private final List<Pointer> replaced = new ArrayList<>();
    /** Reachable until the end, because libtorch reads the memory of some objects through others, such as views. */
    private final List<Pointer> kept = new ArrayList<>();

    /** Opens a scope of this thread. */
    public LibtorchScope() {
        super();
    }

    @Override
    public PointerScope attach(Pointer pointer) {
        switch (ScopeEnd.of(pointer.getClass())) {
            case FREED -> super.attach(pointer);
            case REPLACED -> replaced.add(pointer);
            case KEPT -> kept.add(pointer);
        }
        return this;
    }

    @Override
    public PointerScope detach(Pointer pointer) {
        if (ScopeEnd.of(pointer.getClass()) == ScopeEnd.FREED) {
            super.detach(pointer);
        } else {
            replaced.remove(pointer);
            kept.remove(pointer);
        }
        return this;
    }

    @Override
    public void close() {
        try {
            List.copyOf(replaced).forEach(LibtorchScope::replace); // the first call makes a view itself
        } finally {
            replaced.clear();
            kept.clear();
            super.close();
        }
    }

    private static void replace(Pointer ended) {
        if (ended.isNull() || ended.referenceCount() > 0) {
            return; // the program has closed it or owns it
        }
        switch (ended) {
            case TensorOptional optional when optional.has_value() -> UnreadableTensor.end(optional.get());
            case T_TensorTensor_T both -> replaceBoth(both);
            case T_TensorTensor_TOptional optional when optional.has_value() -> replaceBoth(optional.get());
            case T_TensorT_TensorTensor_T_T result -> {
                UnreadableTensor.end(result.get0());
                replaceBoth(result.get1());
            }
            case TensorVectorOptional optional when optional.has_value() -> replaceAll(optional.get());
            case TensorArrayRefOptional optional
            when optional.has_value() ->
                Pointer.memcpy(optional.get(), RefusedTensors.VIEW, RefusedTensors.VIEW.sizeof());
            case LongArrayRefOptional numbers when numbers.has_value() -> refuse(numbers.get());
            case LongArrayRef numbers when !numbers.empty() -> refuse(numbers);
            default -> {} // none, or no numbers
        }
    }

    private static void replaceBoth(T_TensorTensor_T both) {
        UnreadableTensor.end(both.get0());
        UnreadableTensor.end(both.get1());
    }

    private static void replaceAll(TensorVector tensors) {
        for (long i = 0; i < tensors.size(); i++) {
            UnreadableTensor.end(tensors.get(i));
        }
    }

    private static void refuse(LongArrayRef numbers) {
        Pointer.memcpy(numbers, RefusedNumbers.VIEW, numbers.sizeof());
    }

    /** Made at the first use, when libtorch is loaded. The tensors of a view are freed by others. */
    private static final class RefusedTensors {
        static final TensorVector MEMORY = new TensorVector(UnreadableTensor.ended()).retainReference();

        static final TensorArrayRef VIEW = new TensorArrayRef(MEMORY).retainReference();
    }

    /** Made at the first use, when libtorch is loaded. */
    private static final class RefusedNumbers {
        /** No size and no number of a dimension. */
        static final LongPointer MEMORY = new LongPointer(new long[] {Long.MIN_VALUE});

        static final LongArrayRef VIEW = new LongArrayRef(MEMORY, 1);
    }
}
