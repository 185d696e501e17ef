package io.jrun.comm;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Moves objects as the bytes that a {@link Codec} makes of them: settings, metrics, vocabularies; tensors have operations of
 * their own. Each operation is two collectives, one of sizes and one of bytes.
 *
 * <p>An object of more than {@value #MAX_BYTES} bytes, or one that its codec cannot encode, is a USAGE error on every rank,
 * which names the rank that has it; bytes that cannot be decoded are one on the rank that received them. The group stays
 * usable after either. From {@link ProcessGroup#objects()}; thread-safe as the group.
 */
public interface ObjectCollectives {
    /** Far more than what is no tensor needs, and little enough for a heap. */
    int MAX_BYTES = 256 << 20;

    /**
     * Gives every rank the root's value.
     *
     * @param value at the root; ignored elsewhere
     * @return the value itself at the root, a decoded one elsewhere
     */
    <T> T broadcast(@Nullable T value, int root, Codec<T> codec);

    /** Gives every rank everybody's value, by group rank. */
    <T> List<T> allGather(T value, Codec<T> codec);

    /** Gives the root everybody's value, by group rank; other ranks get an empty list. */
    <T> List<T> gather(T value, int root, Codec<T> codec);

    /**
     * Gives rank r the r-th of the root's values.
     *
     * @param values one for each rank at the root; ignored elsewhere
     */
    <T> T scatter(@Nullable List<T> values, int root, Codec<T> codec);

    /**
     * Gives rank r the r-th of this rank's values; every rank learns all sizes, of which there is one for each pair of ranks.
     *
     * @param values one for each rank
     * @return what each rank has for this one, by group rank
     */
    <T> List<T> allToAll(List<T> values, Codec<T> codec);
}
