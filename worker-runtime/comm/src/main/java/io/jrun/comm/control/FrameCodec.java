package io.jrun.comm.control;

import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RecordCodec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The byte layout of {@link Frame}s: a 4-byte big-endian length of the rest, one type byte, then the fields in order.
 * Strings and byte strings have a 4-byte length, optional values a presence byte, lists a 4-byte count. Stateless.
 */
public final class FrameCodec {
    /**
     * The version of the layout. Every change of the layout increases the version. An agent refuses another version.
     */
    public static final int PROTOCOL_VERSION = 10;

    /** The longest frame in bytes: enough for a peer table of 8,192 ranks. The limit bounds the memory of a reader. */
    public static final int MAX_FRAME_BYTES = 4 << 20;

    /** The longest value of the store in bytes. The store carries addresses and shapes, not tensors. */
    public static final int MAX_VALUE_BYTES = 1 << 20;

    /**
     * The longest total of the keys of one store command in bytes. With two values the command still fits into a frame.
     */
    public static final int MAX_KEY_BYTES = 1 << 20;

    private static final int HELLO = 1;
    private static final int JOIN = 2;
    private static final int RECORD_REPLY = 3;
    private static final int ELASTIC = 4;
    private static final int PARKED = 5;
    private static final int ALIVE = 6;
    private static final int REFUSED = 16;
    private static final int PEER_TABLE = 17;
    private static final int STORE_REPLY = 18;
    private static final int RANK_LEFT = 19;
    private static final int ABORT = 20;
    private static final int CHECKPOINT_NOW = 21;
    private static final int LOCATION = 22;
    private static final int RECORD_REQUEST = 23;
    private static final int REGROUP = 24;
    private static final int NEXT_ROUND = 25;

    /** Types from this number on are {@link Frame.ToLauncher}. The agent forwards a frame by its type alone. */
    private static final int TO_LAUNCHER = 64;

    private static final int STORE_REQUEST = TO_LAUNCHER;
    private static final int LEAVING = TO_LAUNCHER + 1;
    private static final int LOCATE = TO_LAUNCHER + 2;
    private static final int WAITS = TO_LAUNCHER + 3;
    private static final int METRICS = TO_LAUNCHER + 4;
    private static final int MESH_PLACE = TO_LAUNCHER + 5;

    private static final int SET = 1;
    private static final int GET = 2;
    private static final int AWAIT = 3;
    private static final int ADD = 4;
    private static final int COMPARE_AND_SET = 5;
    private static final int DELETE = 6;

    private FrameCodec() {}

    /** Returns the frame with its length prefix, ready to be written in one call. */
    public static byte[] encode(Frame frame) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(0);
            write(frame, out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        byte[] encoded = bytes.toByteArray();
        int length = encoded.length - Integer.BYTES;
        if (length > MAX_FRAME_BYTES) {
            throw new IllegalArgumentException("control frame of " + length + " bytes exceeds " + MAX_FRAME_BYTES);
        }
        encoded[0] = (byte) (length >>> 24);
        encoded[1] = (byte) (length >>> 16);
        encoded[2] = (byte) (length >>> 8);
        encoded[3] = (byte) length;
        return encoded;
    }

    /**
     * Reads the next frame.
     *
     * @throws EOFException if the stream ends, also within a frame
     * @throws IOException if the bytes are not a frame of this protocol
     */
    public static Frame read(DataInputStream in) throws IOException {
        return parse(readBody(in));
    }

    /**
     * Reads the next frame at an agent. Returns a frame to the launcher as {@link Frame.Forwarded}, unparsed.
     *
     * @throws EOFException if the stream ends, also within a frame
     * @throws IOException if the bytes are not a frame of this protocol
     */
    public static Frame readAtAgent(DataInputStream in) throws IOException {
        byte[] body = readBody(in);
        return Byte.toUnsignedInt(body[0]) < TO_LAUNCHER ? parse(body) : new Frame.Forwarded(withLength(body));
    }

    private static Bytes withLength(byte[] body) {
        return Bytes.of(ByteBuffer.allocate(Integer.BYTES + body.length)
                .putInt(body.length)
                .put(body)
                .array());
    }

    private static byte[] readBody(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 1 || length > MAX_FRAME_BYTES) {
            throw new IOException("control frame claims " + length + " bytes (allowed 1.." + MAX_FRAME_BYTES + ")");
        }
        byte[] body = in.readNBytes(length);
        if (body.length < length) {
            throw new EOFException(
                    "control connection ended inside a frame: " + body.length + " of " + length + " bytes");
        }
        return body;
    }

    private static Frame parse(byte[] body) throws IOException {
        try (DataInputStream fields = new DataInputStream(new ByteArrayInputStream(body))) {
            Frame frame = parse(fields);
            if (fields.available() > 0) {
                throw new IOException("control frame has " + fields.available() + " bytes too many");
            }
            return frame;
        } catch (EOFException e) {
            throw new IOException("control frame of " + body.length + " bytes is too short for its fields", e);
        }
    }

    private static void write(Frame frame, DataOutputStream out) throws IOException {
        switch (frame) {
            case Frame.Hello(int version, String runId, int round, int rank, long identity) -> {
                out.writeByte(HELLO);
                out.writeInt(version);
                writeString(runId, out);
                out.writeInt(round);
                out.writeInt(rank);
                out.writeLong(identity);
            }
            case Frame.Join(int tcpPort) -> {
                out.writeByte(JOIN);
                out.writeInt(tcpPort);
            }
            case Frame.StoreRequest(long id, StoreCommand command) -> {
                out.writeByte(STORE_REQUEST);
                out.writeLong(id);
                writeCommand(command, out);
            }
            case Frame.Forwarded(Bytes encoded) ->
                out.write(encoded.toArray(), Integer.BYTES, encoded.length() - Integer.BYTES);
            case Frame.Leaving(String how, List<GroupRecord> waits) -> {
                out.writeByte(LEAVING);
                writeString(how, out);
                writeWaits(waits, out);
            }
            case Frame.Metrics metrics -> {
                out.writeByte(METRICS);
                MetricCodec.write(metrics, out);
            }
            case Frame.MeshPlace(String place) -> {
                out.writeByte(MESH_PLACE);
                writeString(place, out);
            }
            case Frame.Waits(List<GroupRecord> waits) -> {
                out.writeByte(WAITS);
                writeWaits(waits, out);
            }
            case Frame.Alive(long operations, boolean waiting) -> {
                out.writeByte(ALIVE);
                out.writeLong(operations);
                out.writeBoolean(waiting);
            }
            case Frame.Refused(String reason) -> {
                out.writeByte(REFUSED);
                writeString(reason, out);
            }
            case Frame.PeerTable(int round, Bytes secret, List<Peer> peers) -> {
                out.writeByte(PEER_TABLE);
                out.writeInt(round);
                writeBytes(secret, out);
                out.writeInt(peers.size());
                for (Peer peer : peers) {
                    writePeer(peer, out);
                }
            }
            case Frame.StoreReply(long id, Optional<Bytes> value, String error) -> {
                out.writeByte(STORE_REPLY);
                out.writeLong(id);
                writeOptional(value, out);
                writeString(error, out);
            }
            case Frame.RankLeft(int rank, String how) -> {
                out.writeByte(RANK_LEFT);
                out.writeInt(rank);
                writeString(how, out);
            }
            case Frame.Abort(String cause) -> {
                out.writeByte(ABORT);
                writeString(cause, out);
            }
            case Frame.CheckpointNow() -> out.writeByte(CHECKPOINT_NOW);
            case Frame.Elastic() -> out.writeByte(ELASTIC);
            case Frame.Parked(String why) -> {
                out.writeByte(PARKED);
                writeString(why, out);
            }
            case Frame.Regroup(String why) -> {
                out.writeByte(REGROUP);
                writeString(why, out);
            }
            case Frame.NextRound next -> writeNextRound(next, out);
            case Frame.Locate(long id, int rank, String group, long sequence) -> {
                out.writeByte(LOCATE);
                out.writeLong(id);
                out.writeInt(rank);
                writeString(group, out);
                out.writeLong(sequence);
            }
            case Frame.RecordReply(long id, Bytes record) -> {
                out.writeByte(RECORD_REPLY);
                out.writeLong(id);
                writeBytes(record, out);
            }
            case Frame.Location(long id, int rank, Bytes record) -> {
                out.writeByte(LOCATION);
                out.writeLong(id);
                out.writeInt(rank);
                writeBytes(record, out);
            }
            case Frame.RecordRequest(long id, String group) -> {
                out.writeByte(RECORD_REQUEST);
                out.writeLong(id);
                writeString(group, out);
            }
        }
    }

    private static Frame parse(DataInputStream in) throws IOException {
        int type = in.readUnsignedByte();
        return switch (type) {
            case HELLO -> new Frame.Hello(in.readInt(), readString(in), in.readInt(), in.readInt(), in.readLong());
            case JOIN -> new Frame.Join(in.readInt());
            case STORE_REQUEST -> new Frame.StoreRequest(in.readLong(), readCommand(in));
            case LEAVING -> new Frame.Leaving(readString(in), readWaits(in));
            case WAITS -> new Frame.Waits(readWaits(in));
            case METRICS -> MetricCodec.read(in);
            case MESH_PLACE -> new Frame.MeshPlace(readString(in));
            case ALIVE -> new Frame.Alive(in.readLong(), in.readBoolean());
            case REFUSED -> new Frame.Refused(readString(in));
            case PEER_TABLE -> new Frame.PeerTable(in.readInt(), readBytes(in), readPeers(in));
            case STORE_REPLY -> new Frame.StoreReply(in.readLong(), readOptional(in), readString(in));
            case RANK_LEFT -> new Frame.RankLeft(in.readInt(), readString(in));
            case ABORT -> new Frame.Abort(readString(in));
            case CHECKPOINT_NOW -> new Frame.CheckpointNow();
            case ELASTIC -> new Frame.Elastic();
            case PARKED -> new Frame.Parked(readString(in));
            case REGROUP -> new Frame.Regroup(readString(in));
            case NEXT_ROUND ->
                new Frame.NextRound(
                        in.readInt(),
                        in.readInt(),
                        in.readInt(),
                        in.readInt(),
                        in.readInt(),
                        in.readInt(),
                        in.readInt(),
                        in.readInt());
            case LOCATE -> new Frame.Locate(in.readLong(), in.readInt(), readString(in), in.readLong());
            case RECORD_REPLY -> new Frame.RecordReply(in.readLong(), readBytes(in));
            case LOCATION -> new Frame.Location(in.readLong(), in.readInt(), readBytes(in));
            case RECORD_REQUEST -> new Frame.RecordRequest(in.readLong(), readString(in));
            default -> throw new IOException("unknown control frame type " + type);
        };
    }

    private static void writeCommand(StoreCommand command, DataOutputStream out) throws IOException {
        switch (command) {
            case StoreCommand.Set(String key, Bytes value) -> {
                out.writeByte(SET);
                writeString(key, out);
                writeBytes(value, out);
            }
            case StoreCommand.Get(String key, long timeoutMillis) -> {
                out.writeByte(GET);
                writeString(key, out);
                out.writeLong(timeoutMillis);
            }
            case StoreCommand.Await(List<String> keys, long timeoutMillis) -> {
                out.writeByte(AWAIT);
                out.writeInt(keys.size());
                for (String key : keys) {
                    writeString(key, out);
                }
                out.writeLong(timeoutMillis);
            }
            case StoreCommand.Add(String key, long delta) -> {
                out.writeByte(ADD);
                writeString(key, out);
                out.writeLong(delta);
            }
            case StoreCommand.CompareAndSet(String key, Optional<Bytes> expected, Bytes desired) -> {
                out.writeByte(COMPARE_AND_SET);
                writeString(key, out);
                writeOptional(expected, out);
                writeBytes(desired, out);
            }
            case StoreCommand.Delete(String key) -> {
                out.writeByte(DELETE);
                writeString(key, out);
            }
        }
    }

    private static StoreCommand readCommand(DataInputStream in) throws IOException {
        int type = in.readUnsignedByte();
        return switch (type) {
            case SET -> new StoreCommand.Set(readString(in), readBytes(in));
            case GET -> new StoreCommand.Get(readString(in), in.readLong());
            case AWAIT -> new StoreCommand.Await(readStrings(in), in.readLong());
            case ADD -> new StoreCommand.Add(readString(in), in.readLong());
            case COMPARE_AND_SET -> new StoreCommand.CompareAndSet(readString(in), readOptional(in), readBytes(in));
            case DELETE -> new StoreCommand.Delete(readString(in));
            default -> throw new IOException("unknown store command type " + type);
        };
    }

    private static void writeWaits(List<GroupRecord> waits, DataOutputStream out) throws IOException {
        writeBytes(Bytes.of(RecordCodec.encodeGroups(waits)), out);
    }

    private static List<GroupRecord> readWaits(DataInputStream in) throws IOException {
        return RecordCodec.decodeGroups(readBytes(in).toArray());
    }

    private static void writeNextRound(Frame.NextRound next, DataOutputStream out) throws IOException {
        out.writeByte(NEXT_ROUND);
        out.writeInt(next.round());
        out.writeInt(next.restartCount());
        out.writeInt(next.rank());
        out.writeInt(next.worldSize());
        out.writeInt(next.localRank());
        out.writeInt(next.localWorldSize());
        out.writeInt(next.nodeRank());
        out.writeInt(next.nodeCount());
    }

    private static void writePeer(Peer peer, DataOutputStream out) throws IOException {
        out.writeInt(peer.rank());
        out.writeInt(peer.nodeRank());
        out.writeInt(peer.localRank());
        writeString(peer.host(), out);
        writeString(peer.address(), out);
        out.writeInt(peer.tcpPort());
        out.writeLong(peer.pid());
    }

    private static List<Peer> readPeers(DataInputStream in) throws IOException {
        int count = readCount(in);
        List<Peer> peers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            peers.add(new Peer(
                    in.readInt(),
                    in.readInt(),
                    in.readInt(),
                    readString(in),
                    readString(in),
                    in.readInt(),
                    in.readLong()));
        }
        return peers;
    }

    private static List<String> readStrings(DataInputStream in) throws IOException {
        int count = readCount(in);
        List<String> strings = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            strings.add(readString(in));
        }
        return strings;
    }

    private static int readCount(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > in.available()) {
            throw new IOException(
                    "control frame claims a list of " + count + " elements in " + in.available() + " bytes");
        }
        return count;
    }

    private static void writeString(String text, DataOutputStream out) throws IOException {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(utf8.length);
        out.write(utf8);
    }

    private static String readString(DataInputStream in) throws IOException {
        return readBytes(in).utf8();
    }

    private static void writeBytes(Bytes bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes.length());
        out.write(bytes.toArray());
    }

    private static Bytes readBytes(DataInputStream in) throws IOException {
        return Bytes.of(in.readNBytes(readCount(in)));
    }

    private static void writeOptional(Optional<Bytes> value, DataOutputStream out) throws IOException {
        out.writeBoolean(value.isPresent());
        if (value.isPresent()) {
            writeBytes(value.get(), out);
        }
    }

    private static Optional<Bytes> readOptional(DataInputStream in) throws IOException {
        return in.readBoolean() ? Optional.of(readBytes(in)) : Optional.empty();
    }
}
