package io.jrun.bench.collective;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Work;
import java.time.Duration;

/** Every rank sends to the next rank while it receives from the previous rank. */
final class SendRecv implements BenchedOperation {
    private static final Duration DEADLINE = Duration.ofMinutes(1);

    @Override
    public String name() {
        return "sendrecv";
    }

    @Override
    public double busFactor(int ranks) {
        return 1;
    }

    @Override
    public void run(BenchCase cell) {
        ProcessGroup group = cell.group();
        if (group.size() == 1) {
            return;
        }
        int successor = (group.groupRank() + 1) % group.size();
        Work sent = group.sendAsync(cell.input(), cell.type(), cell.total(), successor);
        group.recv(cell.result(), cell.type(), cell.total(), predecessor(group));
        sent.await(DEADLINE);
    }

    @Override
    public Expected expected(BenchCase cell) {
        int predecessor = predecessor(cell.group());
        return new Expected(cell.group().size() == 1 ? 0 : cell.total(), i -> cell.value(predecessor, i));
    }

    private static int predecessor(ProcessGroup group) {
        return (group.groupRank() + group.size() - 1) % group.size();
    }
}
