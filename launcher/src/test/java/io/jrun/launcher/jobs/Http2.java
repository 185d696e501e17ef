package io.jrun.launcher.jobs;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLException;

/** As much of HTTP/2 as one call takes. Source: RFC 9113, RFC 7541. */
final class Http2 {
    private static final int HEADERS = 1;
    private static final int RESET = 3;

    private Http2() {}

    /** Opens a call of the agent's control stream. */
    static void open(Socket socket, String token) throws IOException {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        block.write(0x83); // :method POST
        block.write(0x87); // :scheme https
        named(block, new byte[] {0x04}, "/jrun.agent.v1.Agent/Control");
        named(block, new byte[] {0x01}, "127.0.0.1");
        named(block, new byte[] {0x0f, 0x10}, "application/grpc");
        literal(block, "te", "trailers");
        if (!token.isEmpty()) {
            literal(block, "jrun-token-bin", token);
        }
        socket.getOutputStream().write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        frame(socket, 4, 0, 0, new byte[0]);
        frame(socket, HEADERS, 4, 1, block.toByteArray());
    }

    static void data(Socket socket, byte[] data) throws IOException {
        frame(socket, 0, 0, 1, data);
    }

    private static void named(ByteArrayOutputStream block, byte[] index, String value) {
        block.writeBytes(index);
        string(block, value);
    }

    private static void literal(ByteArrayOutputStream block, String name, String value) {
        block.write(0);
        string(block, name);
        string(block, value);
    }

    private static void string(ByteArrayOutputStream block, String text) {
        block.write(text.length());
        block.writeBytes(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static void frame(Socket socket, int type, int flags, int stream, byte[] payload) throws IOException {
        ByteArrayOutputStream frame = new ByteArrayOutputStream();
        frame.writeBytes(new byte[] {0, (byte) (payload.length >>> 8), (byte) payload.length});
        frame.writeBytes(new byte[] {(byte) type, (byte) flags, 0, 0, 0, (byte) stream});
        frame.writeBytes(payload);
        socket.getOutputStream().write(frame.toByteArray());
        socket.getOutputStream().flush();
    }

    /** Whether the server ends the call, with a status or a reset. */
    static boolean awaitEnd(Socket socket) throws IOException {
        int type;
        do {
            type = awaitFrame(socket);
        } while (type >= 0 && type != HEADERS && type != RESET);
        return type >= 0;
    }

    /** The type of the next frame, -1 at the connection's end. */
    static int awaitFrame(Socket socket) throws IOException {
        DataInputStream in = new DataInputStream(socket.getInputStream());
        try {
            int length = in.readUnsignedShort() << 8 | in.readUnsignedByte();
            int type = in.readUnsignedByte();
            in.skipNBytes(5 + length);
            return type;
        } catch (EOFException | SSLException | SocketException e) {
            return -1;
        }
    }
}
