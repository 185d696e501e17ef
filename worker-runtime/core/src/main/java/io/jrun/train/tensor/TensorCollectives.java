package io.jrun.train.tensor;

import io.jrun.comm.Buffer;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The collectives of a process group on tensors. A method does what the method of the same name in
 * {@link io.jrun.comm.BufferCollectives} does with the elements of the tensors, in row-major order. Only the numbers of
 * elements matter, not the shapes. Results are written into the memory of the tensors, outside the autograd graph.
 *
 * <p>A method throws {@link CommException} with USAGE, before anything is sent, if a tensor is not contiguous, if no
 * process group knows its element type, or if the group cannot use the device of the tensor. The message names the
 * tensor's shape and type, the device, the backend and the remedy.
 *
 * <p>An {@code ...Async} method keeps the tensors alive until the work is done. The program may close the tensors
 * earlier, also by a {@code PointerScope}. The program must not read or change the elements before the work is done.
 * Thread-safe like the group.
 */
public final class TensorCollectives {
    private final ProcessGroup group;

    /** Collectives of {@code group}, with the timeout and the other options of this view of the group. */
    public TensorCollectives(ProcessGroup group) {
        this.group = group;
    }

    /** Copies the elements of the root's tensor to every rank's tensor. */
    public void broadcast(Tensor tensor, int root) {
        run(() -> group.broadcast(buffer("broadcast", tensor), root), tensor);
        TensorMemory.noteWrite(tensor);
    }

    /** Asynchronous {@link #broadcast}. */
    public Work broadcastAsync(Tensor tensor, int root) {
        Work work = start(() -> group.broadcastAsync(buffer("broadcast", tensor), root), tensor);
        TensorMemory.noteWrite(tensor);
        return work;
    }

    /**
     * Copies the root's tensors to all ranks without a change of bits, one tensor after the other. The tensors may be
     * of any element type, also of types that no process group knows, and need not be contiguous.
     *
     * @param tensors tensors with equal types and shapes on all ranks
     */
    public void broadcastAll(Iterable<Tensor> tensors, int root) {
        for (Tensor tensor : tensors) {
            if (tensor.is_contiguous()) {
                run(() -> group.broadcast(bytes("broadcast", tensor), root), tensor);
                TensorMemory.noteWrite(tensor);
                continue;
            }
            try (NoGradGuard _ = new NoGradGuard();
                    Tensor rowMajor = tensor.contiguous()) {
                run(() -> group.broadcast(bytes("broadcast", rowMajor), root), rowMajor);
                tensor.copy_(rowMajor);
            }
        }
    }

    /** Replaces every rank's elements by their reduction over all ranks; the results have equal bits on all ranks. */
    public void allReduce(Tensor tensor, ReduceOp op) {
        run(() -> group.allReduce(buffer("allReduce", tensor), op), tensor);
    }

    /** Asynchronous {@link #allReduce}. */
    public Work allReduceAsync(Tensor tensor, ReduceOp op) {
        return start(() -> group.allReduceAsync(buffer("allReduce", tensor), op), tensor);
    }

    /** Replaces the root's elements by their reduction over all ranks; the tensors of the other ranks do not change. */
    public void reduce(Tensor tensor, ReduceOp op, int root) {
        run(() -> group.reduce(buffer("reduce", tensor), op, root), tensor);
    }

    /** Asynchronous {@link #reduce}. */
    public Work reduceAsync(Tensor tensor, ReduceOp op, int root) {
        return start(() -> group.reduceAsync(buffer("reduce", tensor), op, root), tensor);
    }

    /**
     * Gives every rank the input elements of all ranks, in rank order.
     *
     * @param output {@code group.size()} times as many elements as the input
     */
    public void allGather(Tensor input, Tensor output) {
        run(() -> group.allGather(buffer("allGather", input), buffer("allGather", output)), input, output);
    }

    /** Asynchronous {@link #allGather}. */
    public Work allGatherAsync(Tensor input, Tensor output) {
        return start(
                () -> group.allGatherAsync(buffer("allGather", input), buffer("allGather", output)), input, output);
    }

    /**
     * Like {@link #allGather}, but with {@code counts[r]} elements of rank r.
     *
     * @param counts elements of each rank, equal on all ranks
     * @param output as many elements as all counts together
     */
    public void allGatherV(Tensor input, Tensor output, long... counts) {
        run(() -> group.allGatherV(buffer("allGatherV", input), buffer("allGatherV", output), counts), input, output);
    }

    /** Asynchronous {@link #allGatherV}. */
    public Work allGatherVAsync(Tensor input, Tensor output, long... counts) {
        return start(
                () -> group.allGatherVAsync(buffer("allGatherV", input), buffer("allGatherV", output), counts),
                input,
                output);
    }

    /**
     * Gives rank r the reduction over all ranks of their r-th input block.
     *
     * @param input {@code group.size()} blocks as long as the output
     */
    public void reduceScatter(Tensor input, Tensor output, ReduceOp op) {
        run(
                () -> group.reduceScatter(buffer("reduceScatter", input), buffer("reduceScatter", output), op),
                input,
                output);
    }

    /** Asynchronous {@link #reduceScatter}. */
    public Work reduceScatterAsync(Tensor input, Tensor output, ReduceOp op) {
        return start(
                () -> group.reduceScatterAsync(buffer("reduceScatter", input), buffer("reduceScatter", output), op),
                input,
                output);
    }

    /**
     * Like {@link #reduceScatter}, but with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts elements of each rank, equal on all ranks
     * @param input as many elements as all counts together
     */
    public void reduceScatterV(Tensor input, Tensor output, ReduceOp op, long... counts) {
        run(
                () -> group.reduceScatterV(
                        buffer("reduceScatterV", input), buffer("reduceScatterV", output), op, counts),
                input,
                output);
    }

    /** Asynchronous {@link #reduceScatterV}. */
    public Work reduceScatterVAsync(Tensor input, Tensor output, ReduceOp op, long... counts) {
        return start(
                () -> group.reduceScatterVAsync(
                        buffer("reduceScatterV", input), buffer("reduceScatterV", output), op, counts),
                input,
                output);
    }

    /**
     * Gives the root the input elements of all ranks, in rank order.
     *
     * @param output {@code group.size()} times as many elements at the root; ignored on other ranks, may be null there
     */
    public void gather(Tensor input, @Nullable Tensor output, int root) {
        run(() -> group.gather(buffer("gather", input), atRoot("gather", output, root), root), input, output);
    }

    /** Asynchronous {@link #gather}. */
    public Work gatherAsync(Tensor input, @Nullable Tensor output, int root) {
        return start(
                () -> group.gatherAsync(buffer("gather", input), atRoot("gather", output, root), root), input, output);
    }

    /**
     * Like {@link #gather}, but with {@code counts[r]} elements of rank r.
     *
     * @param counts elements of each rank, equal on all ranks
     * @param output as many elements as all counts together at the root; ignored on other ranks, may be null there
     */
    public void gatherV(Tensor input, @Nullable Tensor output, int root, long... counts) {
        run(
                () -> group.gatherV(buffer("gatherV", input), atRoot("gatherV", output, root), root, counts),
                input,
                output);
    }

    /** Asynchronous {@link #gatherV}. */
    public Work gatherVAsync(Tensor input, @Nullable Tensor output, int root, long... counts) {
        return start(
                () -> group.gatherVAsync(buffer("gatherV", input), atRoot("gatherV", output, root), root, counts),
                input,
                output);
    }

    /**
     * Gives rank r the r-th block of the root's input.
     *
     * @param input {@code group.size()} blocks as long as the output at the root; ignored on other ranks, may be null
     *     there
     */
    public void scatter(@Nullable Tensor input, Tensor output, int root) {
        run(() -> group.scatter(atRoot("scatter", input, root), buffer("scatter", output), root), input, output);
    }

    /** Asynchronous {@link #scatter}. */
    public Work scatterAsync(@Nullable Tensor input, Tensor output, int root) {
        return start(
                () -> group.scatterAsync(atRoot("scatter", input, root), buffer("scatter", output), root),
                input,
                output);
    }

    /**
     * Like {@link #scatter}, but with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts elements of each rank, equal on all ranks
     * @param input as many elements as all counts together at the root; ignored on other ranks, may be null there
     */
    public void scatterV(@Nullable Tensor input, Tensor output, int root, long... counts) {
        run(
                () -> group.scatterV(atRoot("scatterV", input, root), buffer("scatterV", output), root, counts),
                input,
                output);
    }

    /** Asynchronous {@link #scatterV}. */
    public Work scatterVAsync(@Nullable Tensor input, Tensor output, int root, long... counts) {
        return start(
                () -> group.scatterVAsync(atRoot("scatterV", input, root), buffer("scatterV", output), root, counts),
                input,
                output);
    }

    /** Gives rank r the r-th block of every rank's input, in rank order. The tensors must not share memory. */
    public void allToAll(Tensor input, Tensor output) {
        run(() -> group.allToAll(buffer("allToAll", input), buffer("allToAll", output)), input, output);
    }

    /** Asynchronous {@link #allToAll}. */
    public Work allToAllAsync(Tensor input, Tensor output) {
        return start(() -> group.allToAllAsync(buffer("allToAll", input), buffer("allToAll", output)), input, output);
    }

    /**
     * Like {@link #allToAll}, but with blocks of any lengths.
     *
     * @param outgoing {@code outgoing[r]} elements of the input go to rank r
     * @param incoming {@code incoming[r]} elements of the output come from rank r
     */
    public void allToAllV(Tensor input, long[] outgoing, Tensor output, long[] incoming) {
        run(
                () -> group.allToAllV(buffer("allToAllV", input), outgoing, buffer("allToAllV", output), incoming),
                input,
                output);
    }

    /** Asynchronous {@link #allToAllV}. */
    public Work allToAllVAsync(Tensor input, long[] outgoing, Tensor output, long[] incoming) {
        return start(
                () -> group.allToAllVAsync(buffer("allToAllV", input), outgoing, buffer("allToAllV", output), incoming),
                input,
                output);
    }

    /** Sends the elements to one rank as a message of tag 0. */
    public void send(Tensor tensor, int destination) {
        run(() -> group.send(buffer("send", tensor), destination), tensor);
    }

    /** Asynchronous {@link #send}. */
    public Work sendAsync(Tensor tensor, int destination) {
        return start(() -> group.sendAsync(buffer("send", tensor), destination), tensor);
    }

    /** Receives the next message of tag 0 of {@code source}, of the type and the number of elements of the tensor. */
    public void recv(Tensor tensor, int source) {
        run(() -> group.recv(buffer("recv", tensor), source), tensor);
    }

    /** Asynchronous {@link #recv}. */
    public Work recvAsync(Tensor tensor, int source) {
        return start(() -> group.recvAsync(buffer("recv", tensor), source), tensor);
    }

    /**
     * Runs a call that has addresses only. Without the fence the garbage collector could free the tensors during the
     * call.
     */
    private static void run(Runnable call, @Nullable Tensor... tensors) {
        try {
            call.run();
        } finally {
            Reference.reachabilityFence(tensors);
        }
    }

    private static Work start(Supplier<Work> call, @Nullable Tensor... tensors) {
        List<Tensor> held = Arrays.stream(tensors)
                .filter(Objects::nonNull)
                .map(TensorMemory::own)
                .toList();
        try {
            Work work = call.get();
            var _ = work.future().whenComplete((_, _) -> held.forEach(Tensor::close));
            return work;
        } catch (RuntimeException e) {
            held.forEach(Tensor::close);
            throw e;
        }
    }

    private @Nullable Buffer atRoot(String operation, @Nullable Tensor tensor, int root) {
        return tensor == null || group.groupRank() != root ? null : buffer(operation, tensor);
    }

    private Buffer buffer(String operation, Tensor tensor) {
        DataType type = TensorTypes.of(tensor)
                .orElseThrow(() -> error(
                        operation,
                        tensor,
                        "process groups do not know this element type. Convert the tensor with tensor.to(...)."));
        return buffer(operation, tensor, type, tensor.numel());
    }

    /** The elements as bytes, for operations that only copy. */
    private Buffer bytes(String operation, Tensor tensor) {
        return buffer(operation, tensor, DataType.U8, tensor.nbytes());
    }

    private Buffer buffer(String operation, Tensor tensor, DataType type, long count) {
        group.unsupportedReason(TensorMemory.device(tensor)).ifPresent(reason -> {
            throw error(operation, tensor, reason);
        });
        if (!tensor.is_contiguous()) {
            throw error(
                    operation,
                    tensor,
                    "the tensor is not contiguous. Pass tensor.contiguous(), and copy the result back.");
        }
        return new Buffer(TensorMemory.elements(tensor), type, count, TensorMemory.device(tensor));
    }

    private static CommException error(String operation, Tensor tensor, String what) {
        return new CommException(
                ErrorCode.USAGE, operation + " of a tensor " + TensorMemory.form(tensor) + ": " + what);
    }
}
