package io.jrun.comm.elastic;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Counts a rank's commits, and brings all ranks of a new round to the newest commit of any rank. After a failed step,
 * some ranks may have committed the step and others not, and a replacement rank has no commit. Confined to one thread.
 */
final class Commits {
    /** The kept copy is incomplete. */
    private static final long NONE = -1;

    private final ElasticState state;
    private long count;

    /** Commit 0 is the state that the program has made or loaded before its first round. */
    Commits(ElasticState state) {
        this.state = state;
        state.save();
    }

    void commit(World world) {
        state.save();
        count++;
        state.committed(world);
    }

    /** Collective. Restores the newest commit of any rank on all ranks, and makes it the kept copy of all ranks. */
    void agree(ProcessGroup group) {
        long[] all = new long[group.size()];
        group.allGather(MemorySegment.ofArray(new long[] {count}), MemorySegment.ofArray(all), DataType.I64, 1);
        long newest = Arrays.stream(all).max().orElseThrow();
        if (newest == NONE) {
            throw new CommException(
                    ErrorCode.SYSTEM, "no rank is left that has a commit; the job must begin from its last checkpoint");
        }
        if (count == newest) {
            state.restore();
        }
        if (newest > 0 && Arrays.stream(all).allMatch(each -> each == newest)) {
            return;
        }
        int root = 0;
        while (all[root] != newest) {
            root++;
        }
        boolean wasNewest = count == newest;
        count = wasNewest ? newest : NONE;
        state.broadcast(group, root);
        if (!wasNewest) {
            state.save();
            count = newest;
        }
    }
}
