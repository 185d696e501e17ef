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

    private final int rank;
    private final int size;
    private final TextGather gather;

    private RankExchange(int rank, int size, TextGather gather) {
        this.rank = rank;
        this.size = size;
        this.gather = gather;
    }

    /** @param group the ranks; null for a process that saves alone */
    static RankExchange of(@Nullable ProcessGroup group) {
        return group == null
                ? new RankExchange(0, 1, List::of)
                : new RankExchange(
                        group.groupRank(), group.size(), own -> group.objects().allGather(own, Codec.STRING));
    }

    /** The ranks of a job whose groups have ended: the ranks exchange texts by objects of a storage. */
    static RankExchange through(StorageExchange exchange) {
        return new RankExchange(exchange.rank(), exchange.size(), exchange::allGather);
    }

    /** Gives the texts of all ranks, by rank. */
    @FunctionalInterface
    private interface TextGather {
        List<String> allGather(String own);
    }

    /** One rank's part of a step. Returns a text for the other ranks. */
    interface Attempt {
        String run() throws IOException;
    }

    int rank() {
        return rank;
    }

    int size() {
        return size;
    }

    /**
     * Runs {@code attempt} on every rank, and returns the texts of all ranks. Collective.
     *
     * @param what the step, as in "cannot WHAT"
     * @throws CheckpointException on every rank if one rank fails; the message has the rank and the reason
     */
    List<String> run(String what, Attempt attempt) {
        String own = outcome(attempt);
        List<String> all = gather.allGather(own);
        IntStream.range(0, all.size())
                .filter(other -> all.get(other).startsWith(FAILED))
                .findFirst()
                .ifPresent(other -> {
                    throw new CheckpointException("rank " + other + " cannot " + what + ": "
                            + all.get(other).substring(1));
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
