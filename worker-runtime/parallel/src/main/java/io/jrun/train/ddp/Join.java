package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.reducer.GradientReducer;
import io.jrun.train.tensor.LibtorchScope;
import io.jrun.train.tensor.TensorCollectives;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.Collection;
import org.bytedeco.pytorch.Tensor;

/**
 * Training in which ranks have unequal numbers of inputs. A rank without inputs takes part in the steps of the other
 * ranks with gradients of zero. Each step begins with a list of the ranks that have inputs. Source: torch's
 * {@code algorithms/join.py}. In torch the joined ranks get the parameters of the other ranks at the end. In jrun the
 * joined ranks make the same updates.
 */
final class Join {
    private final ProcessGroup group;
    private final GradientReducer reducer;
    private final TensorCollectives collectives;
    private final Collection<Tensor> buffers;
    private final JoinOptions options;

    /** {@code buffers} are the buffers that each step copies from the first rank with inputs. */
    Join(ProcessGroup group, GradientReducer reducer, Collection<Tensor> buffers, JoinOptions options) {
        this.group = group;
        this.reducer = reducer;
        this.collectives = new TensorCollectives(group);
        this.buffers = buffers;
        this.options = options;
    }

    /** Announces that this rank has inputs for one more step. */
    void stepBegins() {
        BitSet active = exchange(true);
        throwIfAsked(active);
        begin(active);
    }

    /** Runs on a rank without inputs. Takes part in the steps of the other ranks until no rank has inputs. */
    void shadow(Runnable update) {
        BitSet active = exchange(false);
        throwIfAsked(active);
        int lastRoot = reducer.root();
        while (!active.isEmpty()) {
            try (LibtorchScope _ = new LibtorchScope()) {
                begin(active);
                reducer.shadow();
                update.run();
            }
            lastRoot = active.nextSetBit(0);
            active = exchange(false);
        }
        collectives.broadcastAll(buffers, lastRoot);
        BitSet everyone = new BitSet();
        everyone.set(0, group.size());
        reducer.setMembers(everyone, group.size());
    }

    private void begin(BitSet active) {
        int root = active.nextSetBit(0);
        reducer.setMembers(active, options.divideByInitialSize() ? group.size() : active.cardinality());
        collectives.broadcastAll(buffers, root);
    }

    private BitSet exchange(boolean hasInputs) {
        byte[] mine = {(byte) (hasInputs ? 1 : 0)};
        byte[] all = new byte[group.size()];
        group.allGather(MemorySegment.ofArray(mine), MemorySegment.ofArray(all), DataType.U8, 1);
        BitSet active = new BitSet();
        for (int rank = 0; rank < all.length; rank++) {
            active.set(rank, all[rank] != 0);
        }
        return active;
    }

    private void throwIfAsked(BitSet active) {
        if (options.throwOnEarlyTermination() && !active.isEmpty() && active.cardinality() < group.size()) {
            int rank = group.worldRank(active.nextClearBit(0));
            throw new EarlyTerminationException("rank " + rank + " has no inputs left, but rank "
                    + group.worldRank(active.nextSetBit(0))
                    + " has. throwOnEarlyTermination ends the training on all ranks.");
        }
    }
}
