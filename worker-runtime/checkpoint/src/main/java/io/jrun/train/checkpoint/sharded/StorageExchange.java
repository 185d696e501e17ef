package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;

/**
 * Texts of all ranks through objects of a storage, for ranks whose groups have ended. The objects lie in the folder of
 * step 0, and the next sweep of the storage removes what is left. Confined to one thread.
 */
final class StorageExchange {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final String UNCHANGED = ". The last committed checkpoint is unchanged.";

    private final Storage storage;
    private final String folder;
    private final String prefix;
    private final int rank;
    private final int size;
    private final IntFunction<Optional<String>> departure;
    private final long meetingNanos;
    private final long deadlineNanos;
    private int round;

    /**
     * An exchange that has not begun.
     *
     * @param token equal on all ranks, and new for each exchange
     * @param departure how a rank has left the job; empty if the rank has not left
     * @param meeting for the first round
     * @param limit for all rounds together
     */
    StorageExchange(
            Storage storage,
            String token,
            int rank,
            int size,
            IntFunction<Optional<String>> departure,
            Duration meeting,
            Duration limit) {
        this.storage = storage;
        this.folder = CheckpointFolder.of(0);
        this.prefix = folder + "exchange-" + token + "-";
        this.rank = rank;
        this.size = size;
        this.departure = departure;
        long now = System.nanoTime();
        this.meetingNanos = now + meeting.toNanos();
        this.deadlineNanos = now + limit.toNanos();
    }

    int rank() {
        return rank;
    }

    int size() {
        return size;
    }

    /**
     * The texts of all ranks. Each rank calls the method equally often.
     *
     * @throws CommException if a text does not come in time, or the storage fails; other ranks may have all texts
     */
    List<String> allGather(String own) {
        try {
            storage.commit(name(round, rank), own.getBytes(StandardCharsets.UTF_8), Optional.empty());
            List<String> texts = new ArrayList<>();
            for (int other = 0; other < size; other++) {
                texts.add(other == rank ? own : await(other));
            }
            if (round > 0) {
                storage.delete(name(round - 1, rank)); // all ranks have read it: they have begun this round
            }
            round++;
            return texts;
        } catch (IOException e) {
            throw new CommException(
                    ErrorCode.PEER_LOST,
                    "cannot exchange texts through " + storage + ": " + StorageException.text(e),
                    e);
        }
    }

    private String name(int ofRound, int ofRank) {
        return prefix + ofRound + "-" + ofRank;
    }

    /**
     * Lists the folder before the object is opened. A client of NFS answers an open from its cache for up to 30 s, also
     * with "no such file". The listing makes the client compare its cache of the folder with the server.
     */
    private String await(int other) throws IOException {
        String name = name(round, other);
        while (true) {
            Optional<String> how = departure.apply(other); // first: a rank leaves after its text
            try {
                if (storage.list(folder).contains(name)) {
                    return read(name);
                }
                how.ifPresent(left -> {
                    throw new CommException(
                            ErrorCode.PEER_LOST,
                            "rank " + other + " " + left + " before it saved its part in " + storage + UNCHANGED);
                });
            } catch (NoSuchFileException | FileNotFoundException _) {
                // Another rank has deleted an object of an earlier round.
            }
            pause(other);
        }
    }

    private String read(String name) throws IOException {
        try (ObjectReader reader = storage.open(name)) {
            byte[] bytes = new byte[Math.toIntExact(reader.size())];
            reader.read(0, ByteBuffer.wrap(bytes));
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private void pause(int other) {
        if (System.nanoTime() - (round == 0 ? meetingNanos : deadlineNanos) > 0) {
            throw new CommException(
                    ErrorCode.COLLECTIVE_TIMEOUT,
                    "rank " + other + " has not come to save its part in " + storage + UNCHANGED);
        }
        try {
            TimeUnit.NANOSECONDS.sleep(POLL.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommException(ErrorCode.ABORTED, "interrupted while a save was in progress", e);
        }
    }
}
