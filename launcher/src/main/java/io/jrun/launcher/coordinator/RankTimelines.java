package io.jrun.launcher.coordinator;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.TimelinePiece;
import io.jrun.comm.timeline.Timeline;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Copies the timelines of ranks from hosts that do not share LOG_DIR into the launcher's LOG_DIR, for {@code jrun trace}.
 * Confined to the coordinator's thread; gRPC's threads write the files.
 */
final class RankTimelines {
    /** {@code jrun trace} reads so many ranks. */
    private static final int MOST_RANKS = 256;

    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Path logs;
    private final AgentConnections links;
    private final Map<Integer, String> folders = new TreeMap<>();
    private final Map<Integer, Integer> agents = new TreeMap<>();
    private final Set<String> copied = new HashSet<>();
    private int round;

    /** @param logs the log folder of the job */
    RankTimelines(Path logs, AgentConnections links) {
        this.logs = logs;
        this.links = links;
    }

    void begin(int number) {
        round = number;
        folders.clear();
        agents.clear();
    }

    /** A rank runs on the node of the agent {@code id}. */
    void started(int id, int rank, String folder) {
        folders.put(rank, folder);
        agents.put(rank, id);
    }

    /** Copies the timelines that this host lacks, as far as the agents answer. The result never fails. */
    CompletableFuture<Void> copy(JobClaim job) {
        Map<Integer, List<String>> wanted = new TreeMap<>();
        int count = 0;
        for (Map.Entry<Integer, String> rank : folders.entrySet()) {
            int id = agents.getOrDefault(rank.getKey(), 0);
            if (count < MOST_RANKS && isElsewhere(id, rank.getValue())) {
                wanted.computeIfAbsent(id, _ -> new ArrayList<>())
                        .add(rank.getValue() + "/" + Timeline.fileName(round));
                copied.add(rank.getValue());
                count++;
            }
        }
        List<CompletableFuture<Void>> calls = new ArrayList<>();
        wanted.forEach((id, files) -> {
            Receiver receiver = new Receiver(files.stream().map(logs::resolve).toList());
            links.get(id).readTimelines(job, files, receiver);
            calls.add(receiver.done);
        });
        return CompletableFuture.allOf(calls.toArray(new CompletableFuture<?>[0]));
    }

    private boolean isElsewhere(int id, String folder) {
        boolean isBelow = logs.resolve(folder).normalize().startsWith(logs);
        return !links.where(id).isEmpty()
                && links.get(id).isOpen()
                && isBelow
                && !folder.isEmpty()
                && (copied.contains(folder) || !Files.isDirectory(logs.resolve(folder)));
    }

    /** Writes the files of one agent. A file appears when it is whole. */
    private static final class Receiver implements StreamObserver<TimelinePiece> {
        private final List<Path> targets;
        private final CompletableFuture<Void> done = new CompletableFuture<>();
        private int current = -1;
        private @Nullable OutputStream out;

        Receiver(List<Path> targets) {
            this.targets = List.copyOf(targets);
        }

        @Override
        public void onNext(TimelinePiece piece) {
            try {
                if (piece.getFile() != current || out == null) {
                    finish();
                    current = piece.getFile();
                    Files.createDirectories(targets.get(current).getParent(), OWNER_ONLY);
                    out = Files.newOutputStream(part());
                }
                piece.getData().writeTo(out);
            } catch (IOException e) {
                throw Status.INTERNAL.withCause(e).asRuntimeException(); // ends the call
            }
        }

        private Path part() {
            Path target = targets.get(current);
            return target.resolveSibling("." + target.getFileName() + ".part");
        }

        private void finish() throws IOException {
            OutputStream open = out;
            if (open != null) {
                open.close();
                Files.move(part(), targets.get(current), StandardCopyOption.REPLACE_EXISTING);
                out = null;
            }
        }

        @Override
        public void onError(Throwable failure) {
            try {
                OutputStream open = out;
                if (open != null) {
                    open.close();
                    Files.deleteIfExists(part());
                }
            } catch (IOException e) {
                // 'jrun trace' names the ranks without a timeline
            }
            done.complete(null);
        }

        @Override
        public void onCompleted() {
            try {
                finish();
            } catch (IOException e) {
                // 'jrun trace' names the ranks without a timeline
            }
            done.complete(null);
        }
    }
}
