package io.jrun.agent.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** A worker's end of the control socket, in this JVM. */
public final class TestWorker implements AutoCloseable {
    private final SocketChannel channel;
    private final DataInputStream in;

    /** Connects. */
    public TestWorker(Path socket) throws IOException {
        channel = SocketChannel.open(UnixDomainSocketAddress.of(socket));
        in = new DataInputStream(Channels.newInputStream(channel));
    }

    /** Sends a frame. */
    public void send(Frame frame) throws IOException {
        sendRaw(FrameCodec.encode(frame));
    }

    /** Sends bytes that may be no frame. */
    public void sendRaw(byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
    }

    /** Waits for the next frame, which must be of this type. */
    public <F extends Frame> F await(Class<F> type) throws IOException {
        Frame frame = FrameCodec.read(in);
        assertThat(frame).isInstanceOf(type);
        return type.cast(frame);
    }

    /** Waits for the agent to end the connection. */
    public void awaitEnd() throws IOException {
        assertThat(in.read()).isEqualTo(-1);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
