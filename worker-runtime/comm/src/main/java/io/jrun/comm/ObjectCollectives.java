package io.jrun.comm;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Collectives of objects, such as settings, metrics and vocabularies. A {@link Codec} encodes the objects. Each
 * operation is two collectives: one of sizes and one of bytes. Tensors have operations of their own.
 *
 * <p>An object of more than {@value #MAX_BYTES} bytes, or an object that its codec cannot encode, is a USAGE error on
 * every rank. The error names the rank of the object. Bytes that cannot be decoded are a USAGE error on the receiving
 * rank. The group stays usable after these errors. An instance comes from {@link ProcessGroup#objects()}. Thread-safe
 * as the group.
 */
public interface ObjectCollectives {
    /**
     * The limit in bytes of one object. The limit protects the heap, and is far above the size of settings and
     * vocabularies.
     */
    int MAX_BYTES = 256 << 20;

    /**
     * Gives every rank the root's value.
     *
     * @param value at the root; ignored elsewhere
     * @return the value itself at the root, a decoded one elsewhere
     */
    <T> T broadcast(@Nullable T value, int root, Codec<T> codec);

    /** Gives every rank the values of all ranks, by group rank. */
    <T> List<T> allGather(T value, Codec<T> codec);

    /** Gives the root the values of all ranks, by group rank. The other ranks get an empty list. */
    <T> List<T> gather(T value, int root, Codec<T> codec);

    /**
     * Gives rank r the r-th of the root's values.
     *
     * @param values one for each rank at the root; ignored elsewhere
     */
    <T> T scatter(@Nullable List<T> values, int root, Codec<T> codec);

    /**
     * Gives rank r the r-th value of this rank. Every rank receives all sizes: one size for each pair of ranks.
     *
     * @param values one for each rank
     * @return the value of each rank for this rank, by group rank
     */
    <T> List<T> allToAll(List<T> values, Codec<T> codec);
}
