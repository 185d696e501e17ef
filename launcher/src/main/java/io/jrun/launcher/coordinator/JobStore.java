package io.jrun.launcher.coordinator;

import io.jrun.comm.control.Frame;
import io.jrun.comm.store.StoreTable;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** The key-value table of the current round. Confined to the coordinator's thread. */
final class JobStore {
    private final LongSupplier nanoTime;
    private int round;
    private StoreTable table;

    JobStore(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.table = new StoreTable(nanoTime);
    }

    /** Starts a round with an empty store. Waits of the round before fail. */
    void startRound(int number) {
        table.end(over(round, number));
        round = number;
        table = new StoreTable(nanoTime);
    }

    /** Runs a worker's command of round {@code requested}; the reply goes to {@code sink}, now or when a wait ends. */
    void submit(int requested, Frame.StoreRequest request, Consumer<Frame.StoreReply> sink) {
        if (requested == round) {
            table.submit(request.id(), request.command(), sink);
        } else {
            sink.accept(new Frame.StoreReply(request.id(), Optional.empty(), over(requested, round)));
        }
    }

    private static String over(int requested, int now) {
        return Frame.StoreReply.OVER + ": round " + requested + " of the job has ended, and its store with it; round "
                + now + " runs now";
    }

    /** Fails the waits whose timeout has passed. */
    void expire() {
        table.expire();
    }
}
