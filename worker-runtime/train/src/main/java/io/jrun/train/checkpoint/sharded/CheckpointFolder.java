package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The checkpoints of a storage: a folder {@code step-00000100} for each, with the index {@code checkpoint.json} and its
 * parts. A killed save leaves a folder without an index.
 */
final class CheckpointFolder {
    private static final Pattern OBJECT = Pattern.compile("(step-(\\d{8,18})/)[^/]+");
    private static final long MAX_INDEX_BYTES = 1L << 30;

    private final Storage storage;

    CheckpointFolder(Storage storage) {
        this.storage = storage;
    }

    /** The folder of a step, with its {@code /}. */
    static String of(long step) {
        return String.format(Locale.ROOT, "step-%08d/", step);
    }

    /** The steps of the committed checkpoints. */
    NavigableSet<Long> steps() {
        NavigableSet<Long> steps = new TreeSet<>();
        for (String name : list("")) {
            Matcher matcher = OBJECT.matcher(name);
            if (matcher.matches() && name.equals(matcher.group(1) + CheckpointIndex.FILE)) {
                steps.add(Long.parseLong(matcher.group(2)));
            }
        }
        return steps;
    }

    /** Opens the checkpoint of a step. */
    SavedCheckpoint open(long step) {
        String folder = of(step);
        try (ObjectReader reader = storage.open(folder + CheckpointIndex.FILE)) {
            long size = reader.size();
            if (size > MAX_INDEX_BYTES) {
                throw new IllegalArgumentException("it has " + size + " bytes");
            }
            byte[] bytes = new byte[Math.toIntExact(size)];
            reader.read(0, ByteBuffer.wrap(bytes));
            return new SavedCheckpoint(storage, folder, CheckpointIndex.decode(bytes));
        } catch (NoSuchFileException | FileNotFoundException e) {
            throw new CheckpointException(
                    "there is no checkpoint of step " + step + " in " + storage
                            + ". It has to be visible on every node; steps found: " + steps(),
                    e);
        } catch (IOException e) {
            throw new CheckpointException(
                    StorageException.line("cannot read " + storage + "/" + folder + CheckpointIndex.FILE, e), e);
        } catch (IllegalArgumentException e) {
            throw new CheckpointException(
                    storage + "/" + folder + CheckpointIndex.FILE + " is not a valid index: " + e.getMessage()
                            + ". Load another checkpoint, or remove this one.",
                    e);
        }
    }

    /** Removes a checkpoint: the index first, so that no reader finds an index without parts. */
    void remove(long step) {
        String folder = of(step);
        List<String> names = list(folder);
        delete(folder + CheckpointIndex.FILE);
        names.forEach(this::delete);
    }

    /** Removes the files of killed saves: folders without an index, and objects that their index does not name. */
    void sweep() {
        Set<Long> committed = steps();
        for (String name : list("")) {
            Matcher matcher = OBJECT.matcher(name);
            if (matcher.matches() && !committed.contains(Long.parseLong(matcher.group(2)))) {
                delete(name);
            }
        }
        committed.forEach(this::sweep);
    }

    /**
     * Removes the objects of a checkpoint that its index does not name. A checkpoint with a damaged index stays as it
     * is.
     */
    void sweep(long step) {
        String folder = of(step);
        Set<String> named = new HashSet<>();
        named.add(folder + CheckpointIndex.FILE);
        Optional<SavedCheckpoint> saved = readable(step);
        if (saved.isEmpty()) {
            return;
        }
        saved.get().files().forEach(file -> named.add(folder + file));
        for (String name : list(folder)) {
            if (!named.contains(name)) {
                delete(name);
            }
        }
    }

    private Optional<SavedCheckpoint> readable(long step) {
        try {
            return Optional.of(open(step));
        } catch (CheckpointException _) {
            return Optional.empty();
        }
    }

    private List<String> list(String prefix) {
        try {
            return storage.list(prefix);
        } catch (IOException e) {
            throw new CheckpointException(StorageException.line("cannot list " + storage, e), e);
        }
    }

    private void delete(String name) {
        try {
            storage.delete(name);
        } catch (IOException e) {
            throw new CheckpointException(StorageException.line("cannot delete " + storage + "/" + name, e), e);
        }
    }
}
