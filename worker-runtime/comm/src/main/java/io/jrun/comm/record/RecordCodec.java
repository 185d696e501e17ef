package io.jrun.comm.record;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.RankLag;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The binary form of records: a word that identifies the format, then the fields in order. Strings have a 4-byte length
 * in UTF-8, lists a 4-byte count, optional values a presence byte. Stateless.
 */
public final class RecordCodec {
    /** "jrR" and the version. The version increases with every change of the layout. */
    private static final int FORMAT = 'j' << 24 | 'r' << 16 | 'R' << 8 | 1;

    private static final OperationState[] STATES = OperationState.values();

    @FunctionalInterface
    private interface Writer<T> {
        void write(T element, DataOutputStream out) throws IOException;
    }

    @FunctionalInterface
    private interface Reader<T> {
        T read(DataInputStream in) throws IOException;
    }

    private RecordCodec() {}

    static byte[] encode(RankRecord rank) {
        return encode(rank, RecordCodec::writeRank);
    }

    /** @throws IOException if the bytes are not a record of this version */
    static RankRecord decode(byte[] bytes) throws IOException {
        return decode(bytes, RecordCodec::readRank);
    }

    /** Encodes the groups only, for a report of waits. */
    public static byte[] encodeGroups(List<GroupRecord> groups) {
        return encode(groups, (all, out) -> writeList(all, out, RecordCodec::writeGroup));
    }

    /**
     * Decodes the bytes of {@link #encodeGroups}.
     *
     * @throws IOException if the bytes are not groups of this version
     */
    public static List<GroupRecord> decodeGroups(byte[] bytes) throws IOException {
        return decode(bytes, in -> readList(in, RecordCodec::readGroup));
    }

    private static <T> byte[] encode(T value, Writer<T> writer) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(FORMAT);
            writer.write(value, out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static <T> T decode(byte[] bytes, Reader<T> reader) throws IOException {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (in.readInt() != FORMAT) {
                throw new IOException("the first four bytes are not the bytes of this version");
            }
            T value = reader.read(in);
            if (in.available() > 0) {
                throw new IOException("the record has " + in.available() + " bytes too many");
            }
            return value;
        } catch (EOFException e) {
            throw new IOException("the record ends too early, after " + bytes.length + " bytes", e);
        }
    }

    private static void writeRank(RankRecord rank, DataOutputStream out) throws IOException {
        out.writeInt(rank.rank());
        out.writeInt(rank.worldSize());
        writeString(rank.host(), out);
        out.writeLong(rank.pid());
        out.writeInt(rank.round());
        out.writeLong(rank.takenMillis());
        writeString(rank.reason(), out);
        writeList(rank.groups(), out, RecordCodec::writeGroup);
        writeList(rank.operations(), out, RecordCodec::writeOperation);
        out.writeBoolean(rank.isWhole());
        out.writeBoolean(rank.blockedIn().isPresent());
        if (rank.blockedIn().isPresent()) {
            writeOperation(rank.blockedIn().get(), out);
        }
        writeString(rank.stack(), out);
    }

    private static RankRecord readRank(DataInputStream in) throws IOException {
        return new RankRecord(
                in.readInt(),
                in.readInt(),
                readString(in),
                in.readLong(),
                in.readInt(),
                in.readLong(),
                readString(in),
                readList(in, RecordCodec::readGroup),
                readList(in, RecordCodec::readOperation),
                in.readBoolean(),
                in.readBoolean() ? Optional.of(readOperation(in)) : Optional.empty(),
                readString(in));
    }

    private static void writeGroup(GroupRecord group, DataOutputStream out) throws IOException {
        writeString(group.name(), out);
        writeList(group.ranks(), out, (rank, to) -> to.writeInt(rank));
        out.writeLong(group.started());
        out.writeLong(group.completed());
        out.writeLong(group.waitedNanos());
        writeList(group.lags(), out, RecordCodec::writeLag);
    }

    private static GroupRecord readGroup(DataInputStream in) throws IOException {
        return new GroupRecord(
                readString(in),
                readList(in, DataInputStream::readInt),
                in.readLong(),
                in.readLong(),
                in.readLong(),
                readList(in, RecordCodec::readLag));
    }

    private static void writeLag(RankLag lag, DataOutputStream out) throws IOException {
        out.writeInt(lag.rank());
        out.writeLong(lag.count());
        out.writeLong(lag.total().toNanos());
        out.writeLong(lag.median().toNanos());
        out.writeLong(lag.p95().toNanos());
        out.writeLong(lag.max().toNanos());
    }

    private static RankLag readLag(DataInputStream in) throws IOException {
        return new RankLag(in.readInt(), in.readLong(), nanos(in), nanos(in), nanos(in), nanos(in));
    }

    private static Duration nanos(DataInputStream in) throws IOException {
        return Duration.ofNanos(in.readLong());
    }

    @SuppressWarnings("EnumOrdinal") // FORMAT changes with the states.
    private static void writeOperation(OperationRecord operation, DataOutputStream out) throws IOException {
        writeString(operation.group(), out);
        out.writeLong(operation.sequence());
        writeString(operation.name(), out);
        writeString(operation.type(), out);
        out.writeLong(operation.count());
        writeString(operation.call(), out);
        out.writeInt(operation.peer());
        out.writeInt(operation.tag());
        out.writeByte(operation.state().ordinal());
        out.writeLong(operation.queuedAgoNanos());
        out.writeLong(operation.startedAgoNanos());
        out.writeLong(operation.endedAgoNanos());
        out.writeInt(operation.lateRank());
        out.writeLong(operation.lateNanos());
    }

    private static OperationRecord readOperation(DataInputStream in) throws IOException {
        return new OperationRecord(
                readString(in),
                in.readLong(),
                readString(in),
                readString(in),
                in.readLong(),
                readString(in),
                in.readInt(),
                in.readInt(),
                readState(in),
                in.readLong(),
                in.readLong(),
                in.readLong(),
                in.readInt(),
                in.readLong());
    }

    private static OperationState readState(DataInputStream in) throws IOException {
        int state = in.readUnsignedByte();
        if (state >= STATES.length) {
            throw new IOException("the record has an unknown state of an operation, " + state);
        }
        return STATES[state];
    }

    private static <T> void writeList(List<T> list, DataOutputStream out, Writer<T> writer) throws IOException {
        out.writeInt(list.size());
        for (T element : list) {
            writer.write(element, out);
        }
    }

    private static <T> List<T> readList(DataInputStream in, Reader<T> reader) throws IOException {
        int count = readCount(in);
        List<T> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            list.add(reader.read(in));
        }
        return list;
    }

    private static void writeString(String text, DataOutputStream out) throws IOException {
        byte[] utf8 = text.getBytes(UTF_8);
        out.writeInt(utf8.length);
        out.write(utf8);
    }

    private static String readString(DataInputStream in) throws IOException {
        return new String(in.readNBytes(readCount(in)), UTF_8);
    }

    private static int readCount(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > in.available()) {
            throw new IOException("the record claims " + count + " elements in " + in.available() + " bytes");
        }
        return count;
    }
}
