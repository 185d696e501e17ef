package io.jrun.launcher.files;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.files.Sha256;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.JobClaim;
import io.jrun.launcher.files.JobFiles.Entry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Answers agents that lack files of the job; of no other files, since they ask by number. Each file is hashed once, when the
 * first agent asks; its pieces come from the kernel's cache for all agents but the first. Thread-safe.
 */
public final class FileDesk {
    private final JobFiles files;
    private final List<Entry> byNumber;
    private final Map<Integer, Hashed> hashes = new ConcurrentHashMap<>();
    private final SendingProgress progress;

    /** A desk with the job's {@code files}; {@code say} hears how long transfers get on. */
    public FileDesk(JobFiles files, Consumer<String> say) {
        this.files = files;
        this.byNumber = files.files();
        this.progress = new SendingProgress(say, System::nanoTime);
    }

    /** What there is. */
    public JobFiles files() {
        return files;
    }

    /** Serves one agent: takes its requests, gives answers to the stream that {@link Visitor#answerTo} names. */
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

    /** One agent at the desk. gRPC calls it from one thread at a time, which it may block for a disk. */
    public final class Visitor implements StreamObserver<FileRequest> {
        private volatile @Nullable StreamObserver<FileChunk> answers;
        private @Nullable FileChannel open;
        private int openNumber = -1;
        private boolean wasSent;

        private Visitor() {}

        /** Begins with the claim of the job. To be called before any request can come. */
        public void answerTo(StreamObserver<FileChunk> stream, JobClaim job) {
            answers = stream;
            stream.onNext(FileChunk.newBuilder().setJob(job).build());
        }

        @Override
        public void onNext(FileRequest request) {
            StreamObserver<FileChunk> stream = answers;
            if (stream != null) {
                stream.onNext(answer(request));
            }
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
            if (bytes < 0 || offset < 0 || offset + bytes > entry.size()) {
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
            end();
            StreamObserver<FileChunk> stream = answers;
            if (stream != null) {
                stream.onCompleted();
            }
        }

        private void end() {
            try {
                close();
            } catch (IOException e) {
                // it was open for reading
            }
            if (wasSent) {
                progress.done();
            }
        }
    }
}
