package io.jrun.comm.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.RankLag;
import io.jrun.comm.record.GroupRecord;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FrameCodecTest {
    private static final Bytes VALUE = Bytes.of(new byte[] {0, -1, 7});

    private static final List<GroupRecord> WAITS =
            List.of(new GroupRecord("world", List.of(), 1, 1, 2, List.of(RankLag.none(3))));

    private static Stream<Frame> everyFrame() {
        Frame.Peer peer = new Frame.Peer(3, 1, 0, "node-\u00e4", "10.0.0.1", 4711, 99L);
        return Stream.of(
                new Frame.Hello(1, "run", 2, 3, 4L),
                new Frame.Join(0),
                new Frame.Leaving("returned from main", List.of()),
                new Frame.Leaving("closed its world", WAITS),
                new Frame.StoreRequest(1, new StoreCommand.Set("k", VALUE)),
                new Frame.StoreRequest(2, new StoreCommand.Get("k", 5)),
                new Frame.StoreRequest(3, new StoreCommand.Await(List.of("a", "b"), 6)),
                new Frame.StoreRequest(4, new StoreCommand.Add("k", -7)),
                new Frame.StoreRequest(5, new StoreCommand.CompareAndSet("k", Optional.empty(), VALUE)),
                new Frame.StoreRequest(6, new StoreCommand.CompareAndSet("k", Optional.of(VALUE), Bytes.EMPTY)),
                new Frame.StoreRequest(7, new StoreCommand.Delete("k")),
                new Frame.Refused("no"),
                new Frame.PeerTable(1, VALUE, List.of(peer, peer)),
                new Frame.StoreReply(1, Optional.empty(), "timeout: x"),
                new Frame.StoreReply(2, Optional.of(VALUE), ""),
                new Frame.RankLeft(5, "returned from main"),
                new Frame.Abort("because"),
                new Frame.CheckpointNow(),
                new Frame.Elastic(),
                new Frame.Parked("rank 3 is gone"),
                new Frame.Regroup("a node came"),
                new Frame.NextRound(1, 2, 3, 4, 5, 6, 7, 8),
                new Frame.Alive(7, true),
                new Frame.Waits(WAITS),
                new Frame.MeshPlace("pp=1 tp=0"),
                new Frame.Metrics(1, Map.of("loss", Double.NaN, "lr", -0.5), 2),
                new Frame.Locate(1, 2, "world", 3),
                new Frame.RecordRequest(4, "world"),
                new Frame.RecordReply(6, VALUE),
                new Frame.Location(9, 10, VALUE));
    }

    private static Frame read(byte[] bytes) throws IOException {
        return FrameCodec.read(new DataInputStream(new ByteArrayInputStream(bytes)));
    }

    @ParameterizedTest
    @MethodSource("everyFrame")
    void everyFrameComesBackEqual(Frame frame) throws IOException {
        assertThat(read(FrameCodec.encode(frame))).isEqualTo(frame);
    }

    @ParameterizedTest
    @MethodSource("everyFrame")
    void theAgentForwardsTheBytesOfAFrameToTheLauncher(Frame frame) throws IOException {
        byte[] bytes = FrameCodec.encode(frame);
        Frame atAgent = FrameCodec.readAtAgent(new DataInputStream(new ByteArrayInputStream(bytes)));
        assertThat(atAgent).isEqualTo(frame instanceof Frame.ToLauncher ? new Frame.Forwarded(Bytes.of(bytes)) : frame);
        assertThat(FrameCodec.encode(atAgent)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @MethodSource("everyFrame")
    void everyPrefixOfAFrameIsAnEarlyEnd(Frame frame) {
        byte[] bytes = FrameCodec.encode(frame);
        for (int length = 0; length < bytes.length; length++) {
            byte[] prefix = Arrays.copyOf(bytes, length);
            assertThatThrownBy(() -> read(prefix)).isInstanceOf(EOFException.class);
        }
    }

    @ParameterizedTest
    @MethodSource("everyFrame")
    void aFrameWithTooManyOrTooFewBytesIsRefused(Frame frame) {
        byte[] bytes = FrameCodec.encode(frame);
        byte[] longer = Arrays.copyOf(bytes, bytes.length + 1);
        ByteBuffer.wrap(longer).putInt(longer.length - Integer.BYTES);
        assertThatThrownBy(() -> read(longer)).isInstanceOf(IOException.class);
        byte[] shorter = Arrays.copyOf(bytes, bytes.length - 1);
        ByteBuffer.wrap(shorter).putInt(shorter.length - Integer.BYTES);
        assertThatThrownBy(() -> read(shorter)).isInstanceOf(IOException.class);
    }

    @Test
    void absurdLengthsAndTypesAreRefusedBeforeAnythingIsAllocated() {
        assertThatThrownBy(() -> read(new byte[] {127, -1, -1, -1}))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("claims 2147483647 bytes");
        assertThatThrownBy(() -> read(new byte[] {-1, -1, -1, -1})).hasMessageContaining("claims -1 bytes");
        assertThatThrownBy(() -> read(new byte[] {0, 0, 0, 1, 77}))
                .hasMessageContaining("unknown control frame type 77");
        byte[] hugeString = {0, 0, 0, 5, 16, 127, -1, -1, -1};
        assertThatThrownBy(() -> read(hugeString)).hasMessageContaining("claims a list of 2147483647 elements");
    }

    @Test
    void aFrameBeyondTheLimitIsNotEncoded() {
        Bytes big = Bytes.of(new byte[FrameCodec.MAX_FRAME_BYTES]);
        assertThatThrownBy(() -> FrameCodec.encode(new Frame.StoreRequest(1, new StoreCommand.Set("k", big))))
                .hasMessageContaining("exceeds");
    }
}
