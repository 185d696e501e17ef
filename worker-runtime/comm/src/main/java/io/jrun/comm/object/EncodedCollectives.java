package io.jrun.comm.object;

import io.jrun.comm.Codec;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ObjectCollectives;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.operation.ArgumentChecks;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Sends objects as bytes of a {@link Codec}. Each operation is a collective of sizes and a collective of bytes.
 * Thread-safe.
 */
public final class EncodedCollectives implements ObjectCollectives {

    private final ProcessGroup group;

    public EncodedCollectives(ProcessGroup group) {
        this.group = group;
    }

    @Override
    public <T> T broadcast(@Nullable T value, int root, Codec<T> codec) {
        ArgumentChecks.rank(OpKind.BROADCAST, "root", root, group.size());
        EncodedObject mine = group.groupRank() == root ? EncodedObject.of(value, codec) : EncodedObject.NOTHING;
        long[] size = {mine.size()};
        group.broadcast(MemorySegment.ofArray(size), DataType.I64, 1, root);
        check(OpKind.BROADCAST, root, size[0], mine);
        byte[] bytes = group.groupRank() == root ? mine.bytes() : new byte[(int) size[0]];
        group.broadcast(MemorySegment.ofArray(bytes), DataType.U8, size[0], root);
        return group.groupRank() == root && value != null ? value : decode(OpKind.BROADCAST, root, bytes, codec);
    }

    @Override
    public <T> List<T> allGather(T value, Codec<T> codec) {
        EncodedObject mine = EncodedObject.of(value, codec);
        long[] sizes = sizes(OpKind.ALL_GATHER, mine);
        byte[] all = new byte[total(OpKind.ALL_GATHER, sizes)];
        group.allGatherV(MemorySegment.ofArray(mine.bytes()), MemorySegment.ofArray(all), DataType.U8, sizes);
        return decodeAll(OpKind.ALL_GATHER, value, sizes, all, codec);
    }

    @Override
    public <T> List<T> gather(T value, int root, Codec<T> codec) {
        ArgumentChecks.rank(OpKind.GATHER, "root", root, group.size());
        EncodedObject mine = EncodedObject.of(value, codec);
        long[] sizes = sizes(OpKind.GATHER, mine);
        boolean isRoot = group.groupRank() == root;
        int total = total(OpKind.GATHER, sizes);
        byte[] all = new byte[isRoot ? total : 0];
        group.gatherV(MemorySegment.ofArray(mine.bytes()), MemorySegment.ofArray(all), DataType.U8, root, sizes);
        return isRoot ? decodeAll(OpKind.GATHER, value, sizes, all, codec) : List.of();
    }

    @Override
    public <T> T scatter(@Nullable List<T> values, int root, Codec<T> codec) {
        ArgumentChecks.rank(OpKind.SCATTER, "root", root, group.size());
        List<EncodedObject> all = group.groupRank() == root ? encodeAll(values, codec) : List.of();
        long[] sizes = new long[group.size()];
        for (int rank = 0; rank < all.size(); rank++) {
            sizes[rank] = all.get(rank).size();
        }
        group.broadcast(MemorySegment.ofArray(sizes), DataType.I64, sizes.length, root);
        for (int rank = 0; rank < sizes.length; rank++) {
            check(OpKind.SCATTER, root, sizes[rank], all.isEmpty() ? EncodedObject.NOTHING : all.get(rank));
        }
        byte[] whole = all.isEmpty() ? new byte[0] : joined(all, total(OpKind.SCATTER, sizes));
        byte[] mine = new byte[(int) sizes[group.groupRank()]];
        group.scatterV(MemorySegment.ofArray(whole), MemorySegment.ofArray(mine), DataType.U8, root, sizes);
        return decode(OpKind.SCATTER, root, mine, codec);
    }

    @Override
    public <T> List<T> allToAll(List<T> values, Codec<T> codec) {
        int size = group.size();
        int rank = group.groupRank();
        List<EncodedObject> mine = encodeAll(values, codec);
        long[] sizes = new long[size * size]; // by sender, then receiver
        long[] outgoing = mine.stream().mapToLong(EncodedObject::size).toArray();
        group.allGather(MemorySegment.ofArray(outgoing), MemorySegment.ofArray(sizes), DataType.I64, size);
        for (int pair = 0; pair < sizes.length; pair++) {
            int sender = pair / size;
            check(
                    OpKind.ALL_TO_ALL,
                    sender,
                    sizes[pair],
                    sender == rank ? mine.get(pair % size) : EncodedObject.NOTHING);
        }
        for (int each = 0; each < size; each++) {
            int _ = total(OpKind.ALL_TO_ALL, sentBy(each, sizes));
            int _ = total(OpKind.ALL_TO_ALL, receivedBy(each, sizes));
        }
        long[] incoming = receivedBy(rank, sizes);
        byte[] all = new byte[total(OpKind.ALL_TO_ALL, incoming)];
        byte[] whole = joined(mine, total(OpKind.ALL_TO_ALL, outgoing));
        group.allToAllV(MemorySegment.ofArray(whole), outgoing, MemorySegment.ofArray(all), incoming, DataType.U8);
        return decodeAll(OpKind.ALL_TO_ALL, values.get(rank), incoming, all, codec);
    }

    private long[] sentBy(int sender, long[] sizes) {
        return Arrays.copyOfRange(sizes, sender * group.size(), (sender + 1) * group.size());
    }

    private long[] receivedBy(int receiver, long[] sizes) {
        return IntStream.range(0, group.size())
                .mapToLong(sender -> sizes[sender * group.size() + receiver])
                .toArray();
    }

    private static byte[] joined(List<EncodedObject> objects, int total) {
        ByteBuffer whole = ByteBuffer.allocate(total);
        objects.forEach(one -> whole.put(one.bytes()));
        return whole.array();
    }

    private <T> List<EncodedObject> encodeAll(@Nullable List<T> values, Codec<T> codec) {
        List<T> given = values == null ? List.of() : values;
        if (given.size() == group.size()) {
            return given.stream().map(value -> EncodedObject.of(value, codec)).toList();
        }
        String what = given.size() + " values for " + group.size() + " ranks";
        return Collections.nCopies(group.size(), EncodedObject.failed(new IllegalArgumentException(what)));
    }

    /** Returns the sizes of all ranks' objects. All ranks make the same checks. */
    private long[] sizes(OpKind kind, EncodedObject mine) {
        long[] sizes = new long[group.size()];
        group.allGather(MemorySegment.ofArray(new long[] {mine.size()}), MemorySegment.ofArray(sizes), DataType.I64, 1);
        for (int rank = 0; rank < sizes.length; rank++) {
            check(kind, rank, sizes[rank], rank == group.groupRank() ? mine : EncodedObject.NOTHING);
        }
        return sizes;
    }

    private static int total(OpKind kind, long[] sizes) {
        long total = LongStream.of(sizes).sum();
        if (total > MAX_BYTES) {
            throw ArgumentChecks.usage(
                    kind,
                    "the objects of all ranks have " + total + " bytes together (expected at most " + MAX_BYTES + ")");
        }
        return (int) total;
    }

    private void check(OpKind kind, int owner, long size, EncodedObject mine) {
        if (size == EncodedObject.FAILED) {
            throw new CommException(
                    ErrorCode.USAGE,
                    kind.methodName() + ": rank " + group.worldRank(owner) + " could not encode its object"
                            + (mine.failure() == null ? "; see its log." : ": " + mine.failure()),
                    mine.failure());
        }
        if (size < 0 || size > MAX_BYTES) {
            throw ArgumentChecks.usage(
                    kind,
                    "the object of rank " + group.worldRank(owner) + " has " + size + " bytes (expected at most "
                            + MAX_BYTES + ")");
        }
    }

    private <T> List<T> decodeAll(OpKind kind, T own, long[] sizes, byte[] all, Codec<T> codec) {
        List<T> values = new ArrayList<>();
        int at = 0;
        for (int rank = 0; rank < sizes.length; rank++) {
            byte[] bytes = new byte[(int) sizes[rank]];
            System.arraycopy(all, at, bytes, 0, bytes.length);
            values.add(rank == group.groupRank() ? own : decode(kind, rank, bytes, codec));
            at += bytes.length;
        }
        return values;
    }

    private <T> T decode(OpKind kind, int owner, byte[] bytes, Codec<T> codec) {
        try {
            return codec.decode(bytes);
        } catch (RuntimeException e) {
            throw new CommException(
                    ErrorCode.USAGE,
                    kind.methodName() + ": the codec cannot decode the " + bytes.length + " bytes of rank "
                            + group.worldRank(owner) + ": " + e,
                    e);
        }
    }
}
