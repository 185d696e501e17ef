package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Codec;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.storage.StorageException;
import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The ranks that save together: each step of a save succeeds on all ranks or fails on all ranks. Confined to one
 * thread.
 */
final class RankExchange {
    private static final String DONE = "+";
    private static final String FAILED = "-";

    private final @Nullable ProcessGroup group;

    /** @param group the ranks; null for a process that saves alone */
    RankExchange(@Nullable ProcessGroup group) {
        this.group = group;
    }

    /** One rank's part of a step. Returns a text for the other ranks. */
    interface Attempt {
        String run() throws IOException;
    }

    int rank() {
        return group == null ? 0 : group.groupRank();
    }

    int size() {
        return group == null ? 1 : group.size();
    }

    /**
     * Runs {@code attempt} on every rank, and returns the texts of all ranks. Collective.
     *
     * @param what the step, as in "cannot WHAT"
     * @throws CheckpointException on every rank if one rank fails; the message has the rank and the reason
     */
    List<String> run(String what, Attempt attempt) {
        String own = outcome(attempt);
        List<String> all = group == null ? List.of(own) : group.objects().allGather(own, Codec.STRING);
        IntStream.range(0, all.size())
                .filter(rank -> all.get(rank).startsWith(FAILED))
                .findFirst()
                .ifPresent(rank -> {
                    throw new CheckpointException("rank " + rank + " cannot " + what + ": "
                            + all.get(rank).substring(1));
                });
        return all.stream().map(text -> text.substring(1)).toList();
    }

    private static String outcome(Attempt attempt) {
        try {
            return DONE + attempt.run();
        } catch (IOException e) {
            return FAILED + StorageException.text(e);
        } catch (CheckpointException e) {
            return FAILED + e.getMessage();
        } catch (RuntimeException e) {
            return FAILED + e;
        }
    }
}
