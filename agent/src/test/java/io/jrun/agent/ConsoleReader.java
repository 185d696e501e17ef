package io.jrun.agent;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** A console: grants credit and keeps what comes, by stream. */
public final class ConsoleReader implements AutoCloseable {
    private static final long DEADLINE_SECONDS = 60;

    private final StreamObserver<LogCredit> credit;
    private final JobClaim job;
    private final boolean refill;
    private final Map<String, ByteString> text = new TreeMap<>();
    private final Set<String> ended = new HashSet<>();
    private long bytes;

    /** A reader of a job's console; with {@code refill} it grants again what it has received. */
    public ConsoleReader(TestJob job, int initialCredit, boolean refill) {
        this.job = job.claim();
        this.refill = refill;
        this.credit = job.stub().logs(new Receiver());
        grant(initialCredit);
    }

    /** Grants credit. */
    public void grant(int more) {
        credit.onNext(LogCredit.newBuilder().setJob(job).setBytes(more).build());
    }

    /** Waits until a stream has ended and returns all of it. */
    public synchronized ByteString awaitEnd(int rank, boolean stderr) throws InterruptedException {
        String key = key(rank, stderr);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
        while (!ended.contains(key)) {
            awaitNews(deadline);
        }
        return text.getOrDefault(key, ByteString.EMPTY);
    }

    /** Waits until so many bytes have come in all. */
    public synchronized void awaitBytes(long count) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
        while (bytes < count) {
            awaitNews(deadline);
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the callers loop over their conditions
    private void awaitNews(long deadline) throws InterruptedException {
        long millis = (deadline - System.nanoTime()) / 1_000_000;
        if (millis <= 0) {
            throw new AssertionError("ended streams: " + ended + ", bytes: " + bytes);
        }
        wait(millis);
    }

    /** The number of bytes that have come. */
    public synchronized long bytes() {
        return bytes;
    }

    /** The streams that sent something. */
    public synchronized Set<String> streams() {
        return Set.copyOf(text.keySet());
    }

    @Override
    public void close() {
        credit.onCompleted();
    }

    private static String key(int rank, boolean stderr) {
        return rank + (stderr ? ".err" : ".out");
    }

    private final class Receiver implements StreamObserver<LogChunk> {
        @Override
        public void onNext(LogChunk chunk) {
            synchronized (ConsoleReader.this) {
                String key = key(chunk.getRank(), chunk.getStderr());
                if (!chunk.getData().isEmpty()) {
                    text.merge(key, chunk.getData(), ByteString::concat);
                }
                bytes += chunk.getData().size();
                if (chunk.getLast()) {
                    ended.add(key);
                }
                ConsoleReader.this.notifyAll();
            }
            if (refill && chunk.getData().size() > 0) {
                grant(chunk.getData().size());
            }
        }

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onCompleted() {}
    }
}
