package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The collectives of a {@link ProcessGroup} on {@link Buffer}s. Each method checks devices, types and lengths, then
 * calls the method of the same name in {@link MemoryCollectives}.
 *
 * <p>Every method throws {@link CommException} with USAGE before anything is sent, if the group cannot use the device
 * of a buffer ({@link #unsupportedReason}), if input and output have different types, or if a length does not fit the
 * operation.
 */
public interface BufferCollectives extends MemoryCollectives {
    /** Number of this rank in the group, 0 to size-1. */
    int groupRank();

    /** Number of members of the group. */
    int size();

    /**
     * Returns a sentence for messages if the operations of this group cannot use memory of {@code device}: the reason
     * and the remedy. Returns an empty value if the operations can use the memory. Every group can use
     * {@link Device#CPU}. The call is cheap.
     */
    Optional<String> unsupportedReason(Device device);

    /** Copies the elements of the root's buffer to every rank's buffer. */
    default void broadcast(Buffer buffer, int root) {
        broadcast(memory("broadcast", buffer), buffer.type(), buffer.count(), root);
    }

    /** Asynchronous {@link #broadcast(Buffer, int)}. */
    default Work broadcastAsync(Buffer buffer, int root) {
        return broadcastAsync(memory("broadcast", buffer), buffer.type(), buffer.count(), root);
    }

    /** Replaces every rank's elements by their reduction over all ranks; the results have equal bits on all ranks. */
    default void allReduce(Buffer buffer, ReduceOp op) {
        allReduce(memory("allReduce", buffer), buffer.type(), buffer.count(), op);
    }

    /** Asynchronous {@link #allReduce(Buffer, ReduceOp)}. */
    default Work allReduceAsync(Buffer buffer, ReduceOp op) {
        return allReduceAsync(memory("allReduce", buffer), buffer.type(), buffer.count(), op);
    }

    /** Replaces the root's elements by their reduction over all ranks; the buffers of the other ranks do not change. */
    default void reduce(Buffer buffer, ReduceOp op, int root) {
        reduce(memory("reduce", buffer), buffer.type(), buffer.count(), op, root);
    }

    /** Asynchronous {@link #reduce(Buffer, ReduceOp, int)}. */
    default Work reduceAsync(Buffer buffer, ReduceOp op, int root) {
        return reduceAsync(memory("reduce", buffer), buffer.type(), buffer.count(), op, root);
    }

    /**
     * Gives every rank the input elements of all ranks, in rank order.
     *
     * @param output {@code size()} times as many elements; {@code input} may be this rank's own block of the output
     */
    default void allGather(Buffer input, Buffer output) {
        checkBlocks("allGather", output, input);
        allGather(memory("allGather", input), memory("allGather", output), input.type(), input.count());
    }

    /** Asynchronous {@link #allGather(Buffer, Buffer)}. */
    default Work allGatherAsync(Buffer input, Buffer output) {
        checkBlocks("allGather", output, input);
        return allGatherAsync(memory("allGather", input), memory("allGather", output), input.type(), input.count());
    }

    /**
     * As {@link #allGather(Buffer, Buffer)} with {@code counts[r]} elements of rank r.
     *
     * @param counts equal on all ranks
     * @param output as many elements as all counts together
     */
    default void allGatherV(Buffer input, Buffer output, long... counts) {
        checkTypes("allGatherV", input, output);
        allGatherV(memory("allGatherV", input), memory("allGatherV", output), input.type(), counts);
    }

    /** Asynchronous {@link #allGatherV(Buffer, Buffer, long...)}. */
    default Work allGatherVAsync(Buffer input, Buffer output, long... counts) {
        checkTypes("allGatherV", input, output);
        return allGatherVAsync(memory("allGatherV", input), memory("allGatherV", output), input.type(), counts);
    }

    /**
     * Gives rank r the reduction over all ranks of their r-th input block.
     *
     * @param input {@code size()} blocks as long as the output; {@code output} may be this rank's own block of the
     *     input
     */
    default void reduceScatter(Buffer input, Buffer output, ReduceOp op) {
        checkBlocks("reduceScatter", input, output);
        reduceScatter(
                memory("reduceScatter", input), memory("reduceScatter", output), input.type(), output.count(), op);
    }

    /** Asynchronous {@link #reduceScatter(Buffer, Buffer, ReduceOp)}. */
    default Work reduceScatterAsync(Buffer input, Buffer output, ReduceOp op) {
        checkBlocks("reduceScatter", input, output);
        return reduceScatterAsync(
                memory("reduceScatter", input), memory("reduceScatter", output), input.type(), output.count(), op);
    }

    /**
     * As {@link #reduceScatter(Buffer, Buffer, ReduceOp)} with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts equal on all ranks
     * @param input as many elements as all counts together
     */
    default void reduceScatterV(Buffer input, Buffer output, ReduceOp op, long... counts) {
        checkTypes("reduceScatterV", input, output);
        reduceScatterV(memory("reduceScatterV", input), memory("reduceScatterV", output), input.type(), op, counts);
    }

    /** Asynchronous {@link #reduceScatterV(Buffer, Buffer, ReduceOp, long...)}. */
    default Work reduceScatterVAsync(Buffer input, Buffer output, ReduceOp op, long... counts) {
        checkTypes("reduceScatterV", input, output);
        return reduceScatterVAsync(
                memory("reduceScatterV", input), memory("reduceScatterV", output), input.type(), op, counts);
    }

    /**
     * Gives the root the input elements of all ranks, in rank order.
     *
     * @param output {@code size()} times as many elements at the root; ignored elsewhere, where it may be null
     */
    default void gather(Buffer input, @Nullable Buffer output, int root) {
        checkBlocks("gather", atRoot(output, root), input);
        gather(memory("gather", input), memory("gather", output, root), input.type(), input.count(), root);
    }

    /** Asynchronous {@link #gather(Buffer, Buffer, int)}. */
    default Work gatherAsync(Buffer input, @Nullable Buffer output, int root) {
        checkBlocks("gather", atRoot(output, root), input);
        return gatherAsync(memory("gather", input), memory("gather", output, root), input.type(), input.count(), root);
    }

    /**
     * As {@link #gather(Buffer, Buffer, int)} with {@code counts[r]} elements of rank r.
     *
     * @param counts equal on all ranks, the root and the others
     * @param output as many elements as all counts together at the root; ignored elsewhere, where it may be null
     */
    default void gatherV(Buffer input, @Nullable Buffer output, int root, long... counts) {
        checkTypes("gatherV", input, atRoot(output, root));
        gatherV(memory("gatherV", input), memory("gatherV", output, root), input.type(), root, counts);
    }

    /** Asynchronous {@link #gatherV(Buffer, Buffer, int, long...)}. */
    default Work gatherVAsync(Buffer input, @Nullable Buffer output, int root, long... counts) {
        checkTypes("gatherV", input, atRoot(output, root));
        return gatherVAsync(memory("gatherV", input), memory("gatherV", output, root), input.type(), root, counts);
    }

    /**
     * Gives rank r the r-th block of the root's input.
     *
     * @param input {@code size()} blocks as long as the output at the root; ignored elsewhere, where it may be null
     */
    default void scatter(@Nullable Buffer input, Buffer output, int root) {
        checkBlocks("scatter", atRoot(input, root), output);
        scatter(memory("scatter", input, root), memory("scatter", output), output.type(), output.count(), root);
    }

    /** Asynchronous {@link #scatter(Buffer, Buffer, int)}. */
    default Work scatterAsync(@Nullable Buffer input, Buffer output, int root) {
        checkBlocks("scatter", atRoot(input, root), output);
        return scatterAsync(
                memory("scatter", input, root), memory("scatter", output), output.type(), output.count(), root);
    }

    /**
     * As {@link #scatter(Buffer, Buffer, int)} with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts equal on all ranks
     */
    default void scatterV(@Nullable Buffer input, Buffer output, int root, long... counts) {
        checkTypes("scatterV", output, atRoot(input, root));
        scatterV(memory("scatterV", input, root), memory("scatterV", output), output.type(), root, counts);
    }

    /** Asynchronous {@link #scatterV(Buffer, Buffer, int, long...)}. */
    default Work scatterVAsync(@Nullable Buffer input, Buffer output, int root, long... counts) {
        checkTypes("scatterV", output, atRoot(input, root));
        return scatterVAsync(memory("scatterV", input, root), memory("scatterV", output), output.type(), root, counts);
    }

    /**
     * Gives rank r the r-th block of every rank's input, in rank order; the buffers must not overlap.
     *
     * @param input {@code size()} blocks of equal length
     * @param output as many elements as the input
     */
    default void allToAll(Buffer input, Buffer output) {
        long count = blockOfAllToAll(input, output);
        allToAll(memory("allToAll", input), memory("allToAll", output), input.type(), count);
    }

    /** Asynchronous {@link #allToAll(Buffer, Buffer)}. */
    default Work allToAllAsync(Buffer input, Buffer output) {
        long count = blockOfAllToAll(input, output);
        return allToAllAsync(memory("allToAll", input), memory("allToAll", output), input.type(), count);
    }

    /**
     * As {@link #allToAll(Buffer, Buffer)} with blocks of any lengths; the buffers must not overlap.
     *
     * @param outgoing {@code outgoing[r]} elements of the input go to rank r
     * @param incoming {@code incoming[r]} elements of the output come from rank r: the outgoing count of rank r for
     *     this rank
     */
    default void allToAllV(Buffer input, long[] outgoing, Buffer output, long[] incoming) {
        checkTypes("allToAllV", input, output);
        allToAllV(memory("allToAllV", input), outgoing, memory("allToAllV", output), incoming, input.type());
    }

    /** Asynchronous {@link #allToAllV(Buffer, long[], Buffer, long[])}. */
    default Work allToAllVAsync(Buffer input, long[] outgoing, Buffer output, long[] incoming) {
        checkTypes("allToAllV", input, output);
        return allToAllVAsync(
                memory("allToAllV", input), outgoing, memory("allToAllV", output), incoming, input.type());
    }

    /** Sends elements in host memory to one rank as a message of tag 0, see {@link MemoryCollectives#send}. */
    default void send(Buffer buffer, int destination) {
        send(memory("send", buffer), buffer.type(), buffer.count(), destination);
    }

    /** Asynchronous {@link #send(Buffer, int)}. */
    default Work sendAsync(Buffer buffer, int destination) {
        return sendAsync(memory("send", buffer), buffer.type(), buffer.count(), destination);
    }

    /** Receives the next message of tag 0 of {@code source}, of this type and count, in host memory. */
    default void recv(Buffer buffer, int source) {
        recv(memory("recv", buffer), buffer.type(), buffer.count(), source);
    }

    /** Asynchronous {@link #recv(Buffer, int)}. */
    default Work recvAsync(Buffer buffer, int source) {
        return recvAsync(memory("recv", buffer), buffer.type(), buffer.count(), source);
    }

    /** Checks that {@code whole} has one block as long as {@code block} for each rank. */
    private void checkBlocks(String operation, @Nullable Buffer whole, Buffer block) {
        checkTypes(operation, block, whole);
        if (whole != null && whole.count() != block.count() * size()) {
            throw new CommException(
                    ErrorCode.USAGE,
                    operation + ": the buffer for all ranks has " + whole.count() + " elements (expected " + size()
                            + " blocks of " + block.count() + ")");
        }
    }

    private long blockOfAllToAll(Buffer input, Buffer output) {
        checkTypes("allToAll", input, output);
        if (input.count() % size() != 0 || output.count() != input.count()) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "allToAll: the input has " + input.count() + " elements and the output " + output.count()
                            + " (expected equal numbers, a multiple of " + size() + ")");
        }
        return input.count() / size();
    }

    private static void checkTypes(String operation, Buffer one, @Nullable Buffer other) {
        if (other != null && one.type() != other.type()) {
            throw new CommException(
                    ErrorCode.USAGE,
                    operation + ": input and output have different types, "
                            + one.type().label() + " and " + other.type().label());
        }
    }

    private @Nullable Buffer atRoot(@Nullable Buffer buffer, int root) {
        return groupRank() == root ? buffer : null;
    }

    /** The memory of a buffer that only the root uses. */
    private @Nullable MemorySegment memory(String operation, @Nullable Buffer buffer, int root) {
        Buffer used = atRoot(buffer, root);
        return used == null ? null : memory(operation, used);
    }

    /** The memory of a buffer whose device the group can use. */
    private MemorySegment memory(String operation, Buffer buffer) {
        Optional<String> reason = unsupportedReason(buffer.device());
        if (reason.isPresent()) {
            throw new CommException(ErrorCode.USAGE, operation + ": " + reason.get());
        }
        return buffer.memory();
    }
}
