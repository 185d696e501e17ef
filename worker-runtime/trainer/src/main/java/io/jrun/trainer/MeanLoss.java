package io.jrun.trainer;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

/** The mean loss of all ranks' steps since the last call of {@link #takeOverRanks}. */
final class MeanLoss {
    private final ProcessGroup group;
    private double sum;
    private long count;

    MeanLoss(ProcessGroup group) {
        this.group = group;
    }

    void add(double loss) {
        sum += loss;
        count++;
    }

    /**
     * Returns the mean and begins a new mean. Collective: every rank calls the method after the same step and gets the
     * same mean.
     */
    double takeOverRanks() {
        double[] sumAndCount = {sum, count};
        group.allReduce(MemorySegment.ofArray(sumAndCount), DataType.F64, 2, ReduceOp.SUM);
        sum = 0;
        count = 0;
        return sumAndCount[0] / sumAndCount[1];
    }
}
