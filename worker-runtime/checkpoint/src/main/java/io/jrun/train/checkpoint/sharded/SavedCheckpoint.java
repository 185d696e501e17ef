package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.DamagedCheckpointException;
import io.jrun.train.checkpoint.DevicePieces;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * A committed checkpoint. Any rank of any number of ranks reads the parts that it needs: each read takes the overlaps
 * of the wanted box with the saved chunks. The checksum of every byte is verified. Loading is local. Not thread-safe.
 */
public final class SavedCheckpoint {
    private final Storage storage;
    private final String folder;
    private final CheckpointIndex index;

    SavedCheckpoint(Storage storage, String folder, CheckpointIndex index) {
        this.storage = storage;
        this.folder = folder;
        this.index = index;
    }

    /** The step after which the state was saved. */
    public long step() {
        return index.step();
    }

    /** The number of ranks that saved. */
    public int ranks() {
        return index.ranks();
    }

    /** The name of the job that saved, {@code world.runId()}. */
    public String run() {
        return index.run();
    }

    /** Whether each part exists and has the size that the index says. The bytes are not read. Local. */
    boolean hasAllParts() {
        for (SavedPart part : index.parts()) {
            try (ObjectReader reader = storage.open(folder + part.file())) {
                if (reader.size() != part.bytes()) {
                    return false;
                }
            } catch (IOException _) {
                return false;
            }
        }
        return true;
    }

    /** The files of the parts. */
    List<String> files() {
        return index.parts().stream().map(SavedPart::file).toList();
    }

    /** The texts of the state dictionary. */
    public Map<String, String> texts() {
        return Map.copyOf(index.texts());
    }

    /** The tensors by name, sorted. */
    public Map<String, TensorMetadata> tensors() {
        Map<String, TensorMetadata> tensors = new LinkedHashMap<>();
        index.tensors().forEach((name, chunks) -> {
            Chunk any = chunks.getFirst().chunk();
            tensors.put(name, new TensorMetadata(name, any.type(), any.globalShape()));
        });
        return tensors;
    }

    /**
     * Reads whole tensors into memory of their own, by name without the prefix. The caller frees them.
     *
     * @param prefix the beginning of the names, such as {@code optimizer.}
     * @throws CheckpointException as {@link #load}
     */
    public Map<String, Tensor> read(String prefix) {
        Libtorch.load();
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        List<StateEntry> entries = new ArrayList<>();
        tensors().forEach((name, saved) -> {
            if (name.startsWith(prefix)) {
                Tensor tensor = empty(saved);
                tensors.put(name.substring(prefix.length()), tensor);
                entries.add(StateEntry.full(name, tensor));
            }
        });
        load(entries);
        return tensors;
    }

    /** Reads one whole tensor into memory of its own. */
    Tensor readOne(String name) {
        TensorMetadata saved = tensors().get(name);
        if (saved == null) {
            throw new CheckpointException("the checkpoint " + storage + "/" + folder + " lacks tensor '" + name + "'");
        }
        Tensor tensor = empty(saved);
        load(List.of(StateEntry.full(name, tensor)));
        return tensor;
    }

    private static Tensor empty(TensorMetadata saved) {
        Tensor tensor = TensorMemory.empty(
                Device.CPU,
                saved.type().torch(),
                saved.globalShape().stream().mapToLong(Long::longValue).toArray());
        tensor.retainReference();
        return tensor;
    }

    /**
     * Fills the local tensors of a state dictionary. Nothing is changed if a name, a shape or a type does not fit.
     *
     * @throws CheckpointException if the checkpoint lacks a tensor, has it in another shape or type, or is damaged
     */
    public void load(StateDict state) {
        Libtorch.load();
        load(List.copyOf(state.entries()));
    }

    private void load(List<StateEntry> wanted) {
        checkFits(wanted);
        List<PartRead> reads = reads(wanted);
        try (NoGradGuard _ = new NoGradGuard();
                DevicePieces pieces = new DevicePieces()) {
            for (int next = 0; next < reads.size(); ) {
                int number = reads.get(next).source().part();
                try (VerifiedPart part =
                        VerifiedPart.open(storage, folder, index.parts().get(number))) {
                    for (; next < reads.size() && reads.get(next).source().part() == number; next++) {
                        copy(part, reads.get(next), pieces);
                    }
                    part.finish();
                }
            }
            wanted.forEach(entry -> TensorMemory.noteWrite(entry.local()));
        } catch (IOException e) {
            throw new DamagedCheckpointException(
                    "cannot load " + storage + "/" + folder + ": " + StorageException.text(e)
                            + ". Load another checkpoint, or remove this one.",
                    e);
        }
    }

    private void checkFits(List<StateEntry> wanted) {
        Set<String> missing = new TreeSet<>();
        Map<String, TensorMetadata> saved = tensors();
        for (StateEntry entry : wanted) {
            TensorMetadata tensor = saved.get(entry.name());
            if (tensor == null) {
                missing.add(entry.name());
                continue;
            }
            if (tensor.type().torch().value != entry.local().scalar_type().value
                    || !tensor.globalShape().equals(entry.globalShape())) {
                throw new CheckpointException("tensor '" + entry.name() + "' is " + tensor.type()
                        + tensor.globalShape() + " in the checkpoint but "
                        + entry.local().scalar_type().intern()
                        + entry.globalShape() + " in the program. Use the configuration the checkpoint was made with.");
            }
        }
        if (!missing.isEmpty()) {
            throw new CheckpointException("the checkpoint " + storage + "/" + folder + " is of another model: it lacks "
                    + missing + ". Use the configuration it was made with.");
        }
    }

    /** A box to copy from a chunk to an entry. */
    private record PartRead(StateEntry destination, SavedChunk source, Overlap overlap) {}

    private List<PartRead> reads(List<StateEntry> wanted) {
        List<PartRead> reads = new ArrayList<>();
        for (StateEntry entry : wanted) {
            long found = 0;
            for (SavedChunk saved : index.tensors().getOrDefault(entry.name(), List.of())) {
                var overlap = Overlap.of(entry, saved.chunk());
                if (overlap.isPresent()) {
                    reads.add(new PartRead(entry, saved, overlap.get()));
                    found += overlap.get().elements();
                }
            }
            if (found != entry.local().numel()) {
                throw new CheckpointException("the checkpoint " + storage + "/" + folder + " has " + found + " of "
                        + entry.local().numel() + " elements of a part of tensor '" + entry.name() + "'");
            }
        }
        reads.sort(Comparator.<PartRead>comparingInt(read -> read.source().part())
                .thenComparingLong(read -> read.source().position())
                .thenComparingLong(
                        read -> read.overlap().firstRow(read.source().chunk().offsets())));
        return reads;
    }

    private static void copy(VerifiedPart part, PartRead read, DevicePieces pieces) throws IOException {
        try (PointerScope _ = new PointerScope()) {
            Chunk chunk = read.source().chunk();
            Overlap overlap = read.overlap();
            Tensor local = read.destination().local().detach();
            long rowBytes = chunk.bytes()
                    / Math.max(1, chunk.shape().isEmpty() ? 1 : chunk.shape().getFirst());
            long position = read.source().position() + overlap.firstRow(chunk.offsets()) * rowBytes;
            long bytes = overlap.rows() * rowBytes;
            Device own = TensorMemory.device(local);
            Device device = part.place(own);
            boolean isDirect = local.is_contiguous()
                    && overlap.hasWholeRowsOf(chunk.shape())
                    && overlap.hasWholeRowsOf(read.destination().shape());
            if (isDirect) {
                MemorySegment memory = TensorMemory.elements(local)
                        .asSlice(overlap.firstRow(read.destination().offsets()) * rowBytes, bytes);
                if (device.equals(own)) {
                    part.read(position, memory, own);
                } else {
                    pieces.toDevice(memory, own, (from, onHost) -> part.read(position + from, onHost, device));
                }
                return;
            }
            List<Long> shape = new ArrayList<>(chunk.shape());
            List<Long> begin = new ArrayList<>(chunk.offsets());
            if (!shape.isEmpty()) {
                shape.set(0, overlap.rows());
                begin.set(0, overlap.offsets().getFirst());
            }
            Tensor rows = TensorMemory.empty(
                    device,
                    chunk.type().torch(),
                    shape.stream().mapToLong(Long::longValue).toArray());
            part.read(position, TensorMemory.elements(rows), device);
            overlap.in(local, read.destination().offsets()).copy_(overlap.in(rows, begin));
        }
    }
}
