package io.jrun.bench.gpu;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.nccl.NcclProvider;
import java.util.Optional;

/** A group of NCCL for the measurements of one rank. */
final class NcclGroup {
    private NcclGroup() {}

    /** A group of this rank alone, which the caller closes. Collective. Skips the check without NCCL. */
    static ProcessGroup ofThisRank(World world) throws CheckSkippedException {
        Optional<String> reason = new NcclProvider().unavailableReason();
        if (reason.isPresent()) {
            throw new CheckSkippedException(reason.get());
        }
        return world.group().split(world.rank(), 0, world.group().options().withBackend("nccl"));
    }
}
