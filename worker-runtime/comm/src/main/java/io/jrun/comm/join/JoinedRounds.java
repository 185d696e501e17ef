package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Rounds;
import io.jrun.comm.World;
import org.jspecify.annotations.Nullable;

/** The rounds of a job over one connection to the agent. Confined to one thread. */
final class JoinedRounds implements Rounds {
    private final @Nullable WorldJoin joining;
    private JoinedWorld world;

    /** Makes the only round of a world without a coordinator. */
    JoinedRounds(JoinedWorld world) {
        this.joining = null;
        this.world = world;
    }

    /** Enters the first round, or a later round if the first fails before it has begun. */
    JoinedRounds(WorldJoin joining) {
        this.joining = joining;
        joining.becomeElastic();
        this.world = first(joining);
    }

    private static JoinedWorld first(WorldJoin joining) {
        try {
            return joining.first();
        } catch (CommException e) {
            if (e.code() != ErrorCode.ABORTED) {
                throw e;
            }
            return joining.next(String.valueOf(e.getMessage()));
        }
    }

    @Override
    public World world() {
        return world;
    }

    @Override
    public boolean canContinue() {
        return joining != null;
    }

    @Override
    public boolean isRegroupRequested() {
        return world.isRegroupRequested();
    }

    @Override
    public void next(String why) {
        if (joining == null) {
            throw new IllegalStateException("this world has no coordinator, so no other round is possible");
        }
        world.leaveRound(why);
        world = joining.next(why);
    }

    @Override
    public void close() {
        world.close();
    }
}
