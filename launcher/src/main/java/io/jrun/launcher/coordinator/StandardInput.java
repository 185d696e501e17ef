package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.InputCredit;
import io.jrun.agent.proto.InputPiece;
import io.jrun.agent.proto.JobClaim;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * Reads jrun's standard input for the workers, and sends each piece to all agents with such workers. Reads only while
 * every agent has room. Stops reading when no worker reads any more. Thread-safe.
 */
final class StandardInput implements AutoCloseable {
    private static final int PIECE_BYTES = 1 << 16;

    /** Pause between two reads of a terminal that belongs to another job of the shell. */
    private static final long BACKGROUND_MILLIS = 500;

    private static final Path OWN_STATE = Path.of("/proc/self/stat");
    private static final int GROUP = 2; // fields after the name of the program
    private static final int TERMINAL = 4;
    private static final int FOREGROUND_GROUP = 5;

    private final InputStream source;
    private final List<Receiver> receivers = new ArrayList<>();

    StandardInput(InputStream source) {
        this.source = source;
    }

    /** The call to one agent. Its fields are guarded by the input. */
    private final class Receiver implements StreamObserver<InputCredit> {
        private @Nullable StreamObserver<InputPiece> pieces;
        private long credit;

        @Override
        public void onNext(InputCredit granted) {
            synchronized (StandardInput.this) {
                credit += granted.getBytes();
                StandardInput.this.notifyAll();
            }
        }

        @Override
        public void onError(Throwable lost) {
            remove(this);
        }

        @Override
        public void onCompleted() {
            remove(this);
        }
    }

    /** Adds an agent, before {@link #start}. {@code call} opens the call to the agent. */
    void add(Function<StreamObserver<InputCredit>, StreamObserver<InputPiece>> call, JobClaim job) {
        Receiver receiver = new Receiver();
        synchronized (this) {
            receivers.add(receiver);
        }
        StreamObserver<InputPiece> opened = call.apply(receiver);
        synchronized (this) {
            receiver.pieces = opened;
        }
        opened.onNext(InputPiece.newBuilder().setJob(job).build());
    }

    /** Begins to read, on a daemon thread, because nothing can interrupt a read. */
    void start() {
        Signal.handle(new Signal("TTIN"), SignalHandler.SIG_IGN); // reads of a background job fail instead
        Thread.ofPlatform().daemon().name("jrun-stdin").start(this::run);
    }

    private void run() {
        byte[] buffer = new byte[PIECE_BYTES];
        try {
            while (awaitRoom()) {
                int count = read(buffer);
                if (count < 0) {
                    break;
                }
                send(ByteString.copyFrom(buffer, 0, count));
            }
            end();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until every agent has room, at the latest until the end of the job. False if no agent is left. */
    private synchronized boolean awaitRoom() throws InterruptedException {
        while (receivers.stream().anyMatch(receiver -> receiver.credit <= 0)) {
            wait();
        }
        return !receivers.isEmpty();
    }

    /** Reads some bytes; -1 at the end. A terminal in the foreground of another job is read later. */
    private int read(byte[] buffer) throws InterruptedException {
        while (true) {
            try {
                return source.read(buffer);
            } catch (IOException e) {
                if (!isInBackground()) {
                    return -1; // stdin is closed
                }
                TimeUnit.MILLISECONDS.sleep(BACKGROUND_MILLIS);
            }
        }
    }

    /** Whether jrun has a terminal that another process group reads. */
    private static boolean isInBackground() {
        try {
            String state = Files.readString(OWN_STATE);
            String[] fields = state.substring(state.lastIndexOf(')') + 2).split(" ", -1);
            return !fields[TERMINAL].equals("0") && !fields[GROUP].equals(fields[FOREGROUND_GROUP]);
        } catch (IOException e) {
            return false;
        }
    }

    private void send(ByteString data) {
        InputPiece piece = InputPiece.newBuilder().setData(data).build();
        for (Receiver receiver : receiversNow()) {
            synchronized (this) {
                receiver.credit -= data.size();
            }
            call(receiver, pieces -> pieces.onNext(piece));
        }
    }

    private void end() {
        receiversNow().forEach(receiver -> call(receiver, StreamObserver::onCompleted));
    }

    /** Uses a call, which the agent may have ended just now. */
    private void call(Receiver receiver, Consumer<StreamObserver<InputPiece>> action) {
        try {
            action.accept(Objects.requireNonNull(receiver.pieces));
        } catch (IllegalStateException e) {
            remove(receiver);
        }
    }

    private synchronized List<Receiver> receiversNow() {
        return List.copyOf(receivers);
    }

    private synchronized void remove(Receiver receiver) {
        receivers.remove(receiver);
        notifyAll();
    }

    /** Sends nothing more. */
    @Override
    public synchronized void close() {
        receivers.clear();
        notifyAll();
    }
}
