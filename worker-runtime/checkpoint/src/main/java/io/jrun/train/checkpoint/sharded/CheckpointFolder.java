package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.file.FileError;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.DamagedCheckpointException;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.ObjectWriter;
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
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The checkpoints of a storage: a folder {@code step-00000100} for each, with the index {@code checkpoint.json} and its
 * parts. A killed save leaves a folder without an index.
 */
final class CheckpointFolder {
    private static final Pattern OBJECT = Pattern.compile("step-(\\d{8,18})/[^/]+");
    /** The index, or what lies in its place or in the place of its folder: a link, or a folder. */
    private static final Pattern INDEX = Pattern.compile("step-(\\d{8,18})(/checkpoint\\.json(/.*)?)?");
    /** The names of objects that show whether the storage can be written. */
    private static final String WRITE_TEST = "write-test-";

    private static final long MAX_INDEX_BYTES = 1L << 30;

    private final Storage storage;

    CheckpointFolder(Storage storage) {
        this.storage = storage;
    }

    /** The folder of a step, with its {@code /}. */
    static String of(long step) {
        return String.format(Locale.ROOT, "step-%08d/", step);
    }

    /** The steps of the committed checkpoints, also of those that cannot be opened. */
    NavigableSet<Long> steps() {
        NavigableSet<Long> steps = new TreeSet<>();
        for (String name : list("")) {
            Matcher matcher = INDEX.matcher(name);
            if (matcher.matches()) {
                steps.add(Long.parseLong(matcher.group(1)));
            }
        }
        return steps;
    }

    /** The steps of the checkpoints of a run whose indexes can be read. */
    NavigableSet<Long> stepsOf(String run) {
        return steps().stream()
                .filter(step ->
                        readable(step).filter(saved -> saved.run().equals(run)).isPresent())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The newest checkpoint before {@code step} whose index is valid and whose parts have the sizes of the index. */
    OptionalLong completeBefore(long step) {
        return steps().headSet(step, false).descendingSet().stream()
                .filter(earlier ->
                        readable(earlier).filter(SavedCheckpoint::hasAllParts).isPresent())
                .mapToLong(Long::longValue)
                .findFirst();
    }

    /**
     * Checks that objects can be written and committed, by a small object of each kind.
     *
     * @param name differs from the names of the other ranks
     */
    void requireWritable(String name) throws IOException {
        byte[] content = {'1'};
        String part = WRITE_TEST + name + "-part";
        try (ObjectWriter writer = storage.create(part)) {
            writer.write(ByteBuffer.wrap(content));
            writer.finish();
        }
        storage.delete(part);
        String index = WRITE_TEST + name + "-index";
        storage.commit(index, content, Optional.empty());
        storage.delete(index);
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
            if (steps().contains(step)) {
                throw damaged(folder, "the file does not exist", e);
            }
            throw new CheckpointException(
                    "there is no checkpoint of step " + step + " in " + storage
                            + ". It has to be visible on every node; steps found: " + steps(),
                    e);
        } catch (IOException e) {
            throw damaged(folder, e instanceof StorageException ? StorageException.text(e) : FileError.reason(e), e);
        } catch (IllegalArgumentException e) {
            throw damaged(folder, "it is not a valid index: " + e.getMessage(), e);
        }
    }

    private DamagedCheckpointException damaged(String folder, String reason, Exception cause) {
        return new DamagedCheckpointException(
                "cannot read " + storage + "/" + folder + CheckpointIndex.FILE + ": " + reason
                        + ". Load another checkpoint, or remove this one.",
                cause);
    }

    /**
     * Removes a checkpoint: the index first, so that no reader finds an index without parts. A folder that is a link
     * keeps its files; the link is removed.
     */
    void remove(long step) {
        String folder = of(step);
        String link = folder.substring(0, folder.length() - 1);
        List<String> names = list("").stream()
                .filter(name -> name.equals(link) || name.startsWith(folder))
                .toList();
        if (names.contains(link)) {
            delete(link);
            return;
        }
        delete(folder + CheckpointIndex.FILE);
        names.forEach(this::delete);
    }

    /** Removes the files of killed saves: folders without an index, and objects that their index does not name. */
    void sweep() {
        Set<Long> committed = steps();
        for (String name : list("")) {
            Matcher matcher = OBJECT.matcher(name);
            boolean isOfKilledSave = matcher.matches() && !committed.contains(Long.parseLong(matcher.group(1)));
            if (isOfKilledSave || name.startsWith(WRITE_TEST)) {
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
            if (name.startsWith(folder) && !named.contains(name)) {
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
