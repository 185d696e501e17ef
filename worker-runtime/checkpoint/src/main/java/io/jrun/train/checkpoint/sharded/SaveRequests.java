package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import java.lang.foreign.MemorySegment;

/**
 * Requests to save now: USR1 or USR2 to jrun, or a warning of Slurm. Ranks see a request at different steps. The ranks
 * agree on the first step after which one of them has seen the request. Confined to the training thread.
 */
public final class SaveRequests {
    private final World world;

    /** @param world the world whose ranks save together */
    public SaveRequests(World world) {
        this.world = world;
    }

    /** Whether all ranks are to save after this step. Collective: one all-reduce of four bytes. */
    public boolean agree() {
        int[] requested = {world.checkpointRequested() ? 1 : 0};
        world.group().allReduce(MemorySegment.ofArray(requested), DataType.I32, 1, ReduceOp.MAX);
        return requested[0] > 0;
    }
}
