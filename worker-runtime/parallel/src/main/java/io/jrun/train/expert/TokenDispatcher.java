package io.jrun.train.expert;

import io.jrun.comm.DataType;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.precision.Autocast;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Brings rows to the ranks of their experts, and the results back: an all-to-all of the counts, one of the rows, and
 * one of the results. Rank r of the axis has the r-th equal part of the experts.
 */
final class TokenDispatcher {
    private final MeshAxis axis;

    TokenDispatcher(MeshAxis axis) {
        this.axis = axis;
    }

    /**
     * The results of rows. Collective.
     *
     * @param rows_AD rows, expert by expert
     * @param counts_E the rows of each expert
     * @param network this rank's experts
     */
    Tensor apply(Tensor rows_AD, long[] counts_E, ExpertNetwork network) {
        int ranks = axis.size();
        int experts = counts_E.length / ranks;
        long[] received = new long[counts_E.length];
        axis.group().allToAll(MemorySegment.ofArray(counts_E), MemorySegment.ofArray(received), DataType.I64, experts);
        long[] outgoing = sums(counts_E, experts);
        long[] incoming = sums(received, experts);
        Tensor arrived = RowExchange.apply(inTypeOfProducts(rows_AD), axis, outgoing, incoming);
        long[] order = expertOrder(received, ranks, experts);
        long[] counts = new long[experts];
        for (int i = 0; i < received.length; i++) {
            counts[i % experts] += received[i];
        }
        Tensor results = network.forward(take(arrived, order), counts);
        return RowExchange.apply(take(results, inverse(order)), axis, incoming, outgoing);
    }

    /** Under autocast the experts would round the rows; rounded rows are half the bytes. */
    private static Tensor inTypeOfProducts(Tensor rows) {
        return Autocast.isOnFor(rows)
                ? rows.to(torch.get_autocast_dtype(rows.device().type()))
                : rows;
    }

    private static Tensor take(Tensor rows, long[] order) {
        return rows.index_select(0, DeviceTensors.of(TensorMemory.device(rows), order, order.length));
    }

    private static long[] sums(long[] counts, int experts) {
        long[] sums = new long[counts.length / experts];
        for (int i = 0; i < counts.length; i++) {
            sums[i / experts] += counts[i];
        }
        return sums;
    }

    /** The places of rows in the order expert, rank among rows in the order rank, expert. */
    private static long[] expertOrder(long[] received, int ranks, int experts) {
        long[] begins = new long[received.length + 1];
        for (int i = 0; i < received.length; i++) {
            begins[i + 1] = begins[i] + received[i];
        }
        long[] order = new long[Math.toIntExact(begins[received.length])];
        int at = 0;
        for (int expert = 0; expert < experts; expert++) {
            for (int rank = 0; rank < ranks; rank++) {
                int block = rank * experts + expert;
                for (long row = begins[block]; row < begins[block + 1]; row++) {
                    order[at++] = row;
                }
            }
        }
        return order;
    }

    private static long[] inverse(long[] order) {
        long[] inverse = new long[order.length];
        for (int i = 0; i < order.length; i++) {
            inverse[Math.toIntExact(order[i])] = i;
        }
        return inverse;
    }
}
