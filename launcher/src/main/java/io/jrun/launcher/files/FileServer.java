package io.jrun.launcher.files;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.jrun.agent.files.Sha256;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.JobClaim;
import io.jrun.launcher.files.JobFiles.Entry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Answers agents that lack files of the job; of no other files, since they ask by number. Each file is hashed once, when the
 * first agent asks; its pieces come from the kernel's cache for all agents but the first. Thread-safe.
 */
public final class FileServer {
    /** Agents ask for a quarter of it. */
    static final int MAX_PIECE_BYTES = 1 << 20;

    /** Agents ask for 4 pieces ahead. */
    private static final int MAX_REQUESTS = 64;

    /** At most 64 MiB of files are in memory for all agents together, a quarter of the launcher's heap of 256 MiB. */
    private static final int SLOTS = 64;

    private final JobFiles files;
    private final List<Entry> byNumber;
    private final Map<Integer, Hashed> hashes = new ConcurrentHashMap<>();
    private final StagingProgress progress;
    private final SendSlots slots;

    /** A desk with the job's {@code files}; {@code say} hears how long transfers get on. */
    public FileServer(JobFiles files, Consumer<String> say) {
        this(files, say, new SendSlots(SLOTS));
    }

    /** @param slots for the pieces of all agents */
    FileServer(JobFiles files, Consumer<String> say, SendSlots slots) {
        this.slots = slots;
        this.files = files;
        this.byNumber = files.files();
        this.progress = new StagingProgress(say, System::nanoTime);
    }

    /** What there is. */
    public JobFiles files() {
        return files;
    }

    /** Serves one agent: what its stream of requests goes to. */
    public Visitor visitor() {
        return new Visitor();
    }

    private ByteString sha256(int number) throws IOException {
        return hashes.computeIfAbsent(number, _ -> new Hashed()).get(byNumber.get(number));
    }

    /** A hash that is computed once, while others wait. */
    private static final class Hashed {
        private @Nullable ByteString hash;

        synchronized ByteString get(Entry entry) throws IOException {
            if (hash == null) {
                hash = ByteString.copyFrom(Sha256.of(entry.path()));
            }
            return hash;
        }
    }

    /**
     * One agent at the desk. It sends a piece only when the piece before it has left for the network: a slow agent has one piece in
     * memory. Requests are read as they come, since the end of a stream is heard only behind them. gRPC calls it from one thread at a time, which it may block for a disk; the thread of
     * another agent calls it when a slot is free.
     */
    public final class Visitor implements ClientResponseObserver<FileChunk, FileRequest> {
        private @Nullable ClientCallStreamObserver<FileChunk> answers;
        private final Queue<FileRequest> requests = new ArrayDeque<>();
        private boolean waitsForSlot;
        private boolean isSending;
        private boolean hasEnded;
        private @Nullable FileChannel open;
        private int openNumber = -1;
        private boolean wasSent;

        private Visitor() {}

        @Override
        public void beforeStart(ClientCallStreamObserver<FileChunk> stream) {
            answers = stream;
            stream.setOnReadyHandler(this::goOn);
        }

        /** Begins with the claim of the job. */
        public void begin(JobClaim job) {
            stream().onNext(FileChunk.newBuilder().setJob(job).build());
        }

        private ClientCallStreamObserver<FileChunk> stream() {
            return Objects.requireNonNull(answers, "the stream of files is not open");
        }

        @Override
        public void onNext(FileRequest next) {
            synchronized (this) {
                if (requests.size() == MAX_REQUESTS) {
                    stream().cancel("the agent asks for more than " + MAX_REQUESTS + " pieces at once", null);
                    return;
                }
                requests.add(next);
            }
            goOn();
        }

        /** To be called whenever something has changed: a request has come, a piece has left. */
        private void goOn() {
            if (hasLeft()) {
                slots.giveBack();
            }
            sendDigests();
            if (needsSlot()) {
                slots.take(this::send);
            }
        }

        /** Digests are small. They take long to compute, for which no slot is held up. */
        private synchronized void sendDigests() {
            while (!hasEnded
                    && !isSending
                    && !waitsForSlot
                    && !requests.isEmpty()
                    && requests.peek().getDigest()) {
                stream().onNext(answer(requests.remove()));
            }
        }

        private synchronized boolean hasLeft() {
            boolean left = isSending && (hasEnded || stream().isReady());
            isSending &= !left;
            return left;
        }

        private synchronized boolean needsSlot() {
            boolean needs = !requests.isEmpty()
                    && !waitsForSlot
                    && !isSending
                    && !hasEnded
                    && stream().isReady();
            waitsForSlot |= needs;
            return needs;
        }

        /** Has a slot. */
        private void send() {
            synchronized (this) {
                waitsForSlot = false;
                isSending = true;
                if (!hasEnded) {
                    stream().onNext(answer(requests.remove()));
                }
            }
            goOn();
        }

        private FileChunk answer(FileRequest request) {
            FileChunk.Builder chunk = FileChunk.newBuilder();
            int number = request.getFile();
            try {
                if (number < 0 || number >= byNumber.size()) {
                    return chunk.setError("this job has no file " + number).build();
                }
                if (request.getDigest()) {
                    chunk.setSha256(sha256(number));
                } else {
                    chunk.setData(piece(number, request.getOffset(), request.getBytes()));
                }
                return byNumber.get(number).isUnchanged()
                        ? chunk.build()
                        : FileChunk.newBuilder()
                                .setError("it was changed after the job had begun; start the job again")
                                .build();
            } catch (IOException e) {
                return chunk.setError("the launcher cannot read it: " + e).build();
            }
        }

        private ByteString piece(int number, long offset, int bytes) throws IOException {
            Entry entry = byNumber.get(number);
            if (bytes < 0 || bytes > MAX_PIECE_BYTES || offset < 0 || offset + bytes > entry.size()) {
                throw new IOException("no " + bytes + " bytes at " + offset + " of " + entry.size());
            }
            if (openNumber != number || open == null) {
                close();
                open = FileChannel.open(entry.path(), StandardOpenOption.READ);
                openNumber = number;
                progress.begin(entry.size(), !wasSent);
                wasSent = true;
            }
            ByteBuffer piece = ByteBuffer.allocate(bytes);
            while (piece.hasRemaining() && open.read(piece, offset + piece.position()) >= 0) {
                // a short read is continued, the end of a shortened file is found out by its attributes
            }
            progress.sent(piece.position());
            return UnsafeByteOperations.unsafeWrap(piece.flip());
        }

        private void close() throws IOException {
            if (open != null) {
                open.close();
            }
        }

        @Override
        public void onError(Throwable lost) {
            end();
        }

        @Override
        public void onCompleted() {
            stream().onCompleted();
            end();
        }

        private void end() {
            synchronized (this) {
                hasEnded = true;
                try {
                    close();
                } catch (IOException e) {
                    // it was open for reading
                }
            }
            goOn();
            if (wasSent) {
                progress.done();
            }
        }
    }
}
