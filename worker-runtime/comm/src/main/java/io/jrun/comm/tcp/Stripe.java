package io.jrun.comm.tcp;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.collective.CollectiveAlgorithms;
import io.jrun.comm.collective.KernelReduction;
import io.jrun.comm.collective.Reduction;
import java.lang.foreign.Arena;
import java.util.List;

/** One connection with each peer and what works on it: runs whole collectives, or the slice of one. One thread at a time. */
final class Stripe implements AutoCloseable {
    private final GroupContext group;
    private final AlgorithmSelector selector;
    private final TcpChannel lane;
    private final KernelReduction arithmetic;

    Stripe(GroupContext group, AlgorithmSelector selector, TcpChannel lane, Arena arena, PausePoint pause) {
        this.group = group;
        this.selector = selector;
        this.lane = lane;
        this.arithmetic = new KernelReduction(arena, pause);
    }

    void run(Call call) {
        Algorithm algorithm =
                selector.choose(call.kind(), call.typicalBytes(group.size()), group.size(), group.deterministic());
        Reduction reduction = arithmetic.bind(call, group.size());
        lane.begin(call, algorithm);
        CollectiveAlgorithms.run(lane, call, algorithm, reduction);
        lane.finish();
    }

    void wake() {
        lane.wake();
    }

    List<Integer> neighbours() {
        return lane.neighbours();
    }

    @Override
    public void close() {
        lane.close();
    }
}
