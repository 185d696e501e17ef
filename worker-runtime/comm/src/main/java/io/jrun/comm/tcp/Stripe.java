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

/**
 * One connection to each peer, with the algorithms that run over it: whole collectives, or one slice of a collective.
 * Used by one thread at a time.
 */
final class Stripe implements AutoCloseable {
    private final GroupContext group;
    private final AlgorithmSelector selector;
    private final TcpChannel channel;
    private final KernelReduction arithmetic;

    Stripe(GroupContext group, AlgorithmSelector selector, TcpChannel channel, Arena arena, PausePoint pause) {
        this.group = group;
        this.selector = selector;
        this.channel = channel;
        this.arithmetic = new KernelReduction(arena, pause);
    }

    void run(Call call) {
        Algorithm algorithm = algorithm(call);
        Reduction reduction = arithmetic.bind(call, group.size());
        channel.begin(call, algorithm);
        CollectiveAlgorithms.run(channel, call, algorithm, reduction);
        channel.finish();
    }

    Algorithm algorithm(Call call) {
        return selector.choose(call.kind(), call.typicalBytes(group.size()), group.size(), group.deterministic());
    }

    void wake() {
        channel.wake();
    }

    List<Integer> neighbours() {
        return channel.neighbours();
    }

    @Override
    public void close() {
        channel.close();
    }
}
