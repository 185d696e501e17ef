package io.jrun.comm;

/** A consumer that may throw any exception. */
@FunctionalInterface
public interface ThrowingConsumer<T> {
    /** Consumes {@code value}. */
    void accept(T value) throws Exception;
}
