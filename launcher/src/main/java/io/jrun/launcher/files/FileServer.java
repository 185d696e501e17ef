package io.jrun.launcher.files;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.JobClaim;
import io.jrun.comm.file.Sha256;
import io.jrun.launcher.files.JobFiles.ListedFile;
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
 * Sends files of the job to agents that lack these files. Agents request files by number, so no other file can be
 * requested. Each file is hashed once, at the first request. All agents except the first get the pieces from the
 * kernel's page cache. Thread-safe.
 */
public final class FileServer {
    /** The limit of bytes in a piece. Agents request a quarter of this. */
    static final int MAX_PIECE_BYTES = 1 << 20;

    /** The limit of pending requests of an agent. Agents request 4 pieces ahead. */
    private static final int MAX_REQUESTS = 64;

    /** The number of pieces in memory for all agents together: 64 MiB, a quarter of the launcher's heap of 256 MiB. */
    private static final int SLOTS = 64;

    private final JobFiles files;
    private final List<ListedFile> byNumber;
    private final Map<Integer, Hashed> hashes = new ConcurrentHashMap<>();
    private final StagingProgress progress;
    private final SendSlots slots;

    /** Serves the {@code files} of a job. {@code notices} receives progress messages of long transfers. */
    public FileServer(JobFiles files, Consumer<String> notices) {
        this(files, notices, new SendSlots(SLOTS));
    }

    /** @param slots slots for the pieces of all agents */
    FileServer(JobFiles files, Consumer<String> notices, SendSlots slots) {
        this.slots = slots;
        this.files = files;
        this.byNumber = files.files();
        this.progress = new StagingProgress(notices, System::nanoTime);
    }

    /** The files of the job. */
    public JobFiles files() {
        return files;
    }

    /** Begins the transfer to one agent: the receiver of the agent's stream of requests. */
    public AgentTransfer beginTransfer() {
        return new AgentTransfer();
    }

    private ByteString sha256(int number) throws IOException {
        return hashes.computeIfAbsent(number, _ -> new Hashed()).get(byNumber.get(number));
    }

    /** A hash that one thread computes while other threads wait. */
    private static final class Hashed {
        private @Nullable ByteString hash;

        synchronized ByteString get(ListedFile entry) throws IOException {
            if (hash == null) {
                hash = ByteString.copyFrom(Sha256.of(entry.path()));
            }
            return hash;
        }
    }

    /**
     * The transfer to one agent. The transfer sends a piece only when the previous piece has left for the network, so a
     * slow agent has one piece in memory. The transfer reads requests as they arrive, because the end of a stream comes
     * behind the requests. gRPC calls the transfer from one thread at a time, and the disk may block this thread. The
     * thread of another agent calls the transfer when a slot is free.
     */
    public final class AgentTransfer implements ClientResponseObserver<FileChunk, FileRequest> {
        private @Nullable ClientCallStreamObserver<FileChunk> answers;
        private final Queue<FileRequest> requests = new ArrayDeque<>();
        private boolean waitsForSlot;
        private boolean isSending;
        private boolean hasEnded;
        private @Nullable FileChannel open;
        private int openNumber = -1;
        private boolean wasSent;

        private AgentTransfer() {}

        @Override
        public void beforeStart(ClientCallStreamObserver<FileChunk> stream) {
            answers = stream;
            stream.setOnReadyHandler(this::advance);
        }

        /** Sends the claim of the job, which authorises the transfer. */
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
                    stream().cancel("the agent requests more than " + MAX_REQUESTS + " pieces at once", null);
                    return;
                }
                requests.add(next);
            }
            advance();
        }

        /** Continues the transfer. Called after each change: a new request, or a piece that has left. */
        private void advance() {
            if (hasLeft()) {
                slots.release();
            }
            sendDigests();
            if (needsSlot()) {
                slots.acquire(this::send);
            }
        }

        /** Sends digests without a slot: digests are small and take long to compute. */
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

        /** Sends one piece. The caller has a slot. */
        private void send() {
            synchronized (this) {
                waitsForSlot = false;
                isSending = true;
                if (!hasEnded) {
                    stream().onNext(answer(requests.remove()));
                }
            }
            advance();
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
                                .setError("the file has changed since the job began; start the job again")
                                .build();
            } catch (IOException e) {
                return chunk.setError("the launcher cannot read the file: " + e).build();
            }
        }

        private ByteString piece(int number, long offset, int bytes) throws IOException {
            ListedFile entry = byNumber.get(number);
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
                // continue a short read; isUnchanged() detects a shortened file
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
                    // the file was open only for reading
                }
            }
            advance();
            if (wasSent) {
                progress.done();
            }
        }
    }
}
