package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.proto.StoreReply;
import io.jrun.agent.proto.StoreRequest;
import io.jrun.agent.proto.ToAgent;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.StoreCommand;
import io.jrun.comm.store.StoreTable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** The key-value table of the current round, fed with relayed frames. Confined to the coordinator's thread. */
final class JobStore {
    private final LongSupplier nanoTime;
    private int round;
    private StoreTable table;

    JobStore(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.table = new StoreTable(nanoTime);
    }

    /** Forgets everything: a new round starts with an empty store, and nobody waits for what is gone. */
    void startRound(int number) {
        table.end(over(round, number));
        round = number;
        table = new StoreTable(nanoTime);
    }

    /** Runs a worker's command; the answer goes to {@code sink}, now or when a wait ends. */
    void submit(StoreRequest request, Consumer<ToAgent> sink) {
        if (!(decode(request) instanceof Frame.StoreRequest(long id, StoreCommand command))) {
            return;
        }
        if (request.getRound() == round) {
            table.submit(id, command, reply -> sink.accept(message(request, reply)));
        } else {
            String why = over(request.getRound(), round);
            sink.accept(message(request, new Frame.StoreReply(id, Optional.empty(), why)));
        }
    }

    private static String over(int asked, int now) {
        return Frame.StoreReply.OVER + ": round " + asked + " of the job has ended, and its store with it; round " + now
                + " runs now";
    }

    private static Frame decode(StoreRequest request) {
        try (DataInputStream in = new DataInputStream(request.getFrame().newInput())) {
            return FrameCodec.read(in);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "the agent of rank " + request.getRank() + " relayed a broken store request", e);
        }
    }

    /** Fails waits whose time is over. */
    void expire() {
        table.expire();
    }

    private static ToAgent message(StoreRequest request, Frame.StoreReply reply) {
        return ToAgent.newBuilder()
                .setStoreReply(StoreReply.newBuilder()
                        .setRank(request.getRank())
                        .setRound(request.getRound())
                        .setFrame(ByteString.copyFrom(FrameCodec.encode(reply))))
                .build();
    }
}
