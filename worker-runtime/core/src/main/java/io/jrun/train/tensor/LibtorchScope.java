package io.jrun.train.tensor;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;

/**
 * A {@code PointerScope} around code of a model. Its end frees the objects of libtorch that were created in it, except
 * optional values such as {@code TensorOptional} and {@code DoubleOptional}: libtorch reads a freed optional value as
 * none, without an error, so a mask in a field would be gone in the next pass. The garbage collector frees optional
 * values. The thread that opens the scope closes it.
 */
public final class LibtorchScope extends PointerScope {
    private static final ClassValue<Boolean> IS_OPTIONAL = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return type.getSimpleName().endsWith("Optional");
        }
    };

    /** {@code PointerScope} says by this exception that the next scope is asked. It is thrown often, so it has no stack. */
    private static final class Refused extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        private Refused() {
            super("an optional value");
        }

        @Override
        public synchronized Throwable fillInStackTrace() {
            return this;
        }
    }

    /** Opens a scope of this thread. */
    public LibtorchScope() {
        super();
    }

    @Override
    public PointerScope attach(Pointer pointer) {
        if (IS_OPTIONAL.get(pointer.getClass())) {
            throw new Refused();
        }
        return super.attach(pointer);
    }
}
